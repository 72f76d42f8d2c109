package reports

import (
	"context"
	"errors"
	"sort"
	"sync"

	"attestry/storage"
	"attestry/storage/cache"
	"attestry/storage/environments"
)

// arrivals gives reports their numbers: 1, 2, 3, … per environment, without gaps. The first insert of a number wins.
// Within this process, reports of one environment are inserted one after the other, so that they do not race.
type arrivals struct {
	reports *environments.Reports
	queues  cache.Shared[queue]
}

type queue struct {
	mu   sync.Mutex
	last int64 // the greatest number known to be taken
}

// acquire locks the queue of an environment.
func (a *arrivals) acquire(environment string) (q *queue, release func()) {
	q, leave := a.queues.Use(environment)
	q.mu.Lock()
	return q, func() {
		q.mu.Unlock()
		leave()
	}
}

// insert stores the record under the first free number after processed. The caller has acquired the queue.
func (a *arrivals) insert(ctx context.Context, q *queue, record *environments.WaitingReport, processed int64) error {
	record.Arrival = max(processed, q.last) + 1
	for {
		err := a.reports.Insert(ctx, *record)
		if err == nil {
			q.last = record.Arrival
			return nil
		}
		if !errors.Is(err, storage.ErrExists) {
			return err
		}
		if record.Arrival, err = a.firstFree(ctx, record.Environment, record.Arrival); err != nil {
			return err
		}
	}
}

// firstFree finds the first free number after a taken one, in doubling steps and by binary search: there are no gaps.
func (a *arrivals) firstFree(ctx context.Context, environment string, taken int64) (first int64, err error) {
	isFree := func(number int64) bool {
		waits := false
		if err == nil {
			waits, err = a.reports.Exists(ctx, environment, number)
		}
		return !waits
	}
	stride := int64(1)
	for ; !isFree(taken + stride); stride *= 2 {
		taken += stride
	}
	between := sort.Search(int(stride-1), func(i int) bool { return isFree(taken + 1 + int64(i)) })
	return taken + 1 + int64(between), err
}
