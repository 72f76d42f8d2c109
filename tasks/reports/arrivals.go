package reports

import (
	"context"
	"errors"
	"sync"

	"attestry/storage"
	"attestry/storage/environments"
)

// arrivals gives reports their numbers: 1, 2, 3, … per environment, without gaps.
// Whoever inserts a number has it; the next one tries the next. Reports that meet
// in this process stand in line, so that they do not race each other.
type arrivals struct {
	reports *environments.Reports
	mu      sync.Mutex
	lines   map[string]*queue
}

// queue is the queue of one environment, kept while somebody stands in it.
type queue struct {
	mu      sync.Mutex
	waiting int
	last    int64 // the greatest number known to be taken
}

func newArrivals(reports *environments.Reports) *arrivals {
	return &arrivals{reports: reports, lines: map[string]*queue{}}
}

// acquire waits for its turn in an environment's line.
func (a *arrivals) acquire(environment string) (leave func()) {
	a.mu.Lock()
	l := a.lines[environment]
	if l == nil {
		l = &queue{}
		a.lines[environment] = l
	}
	l.waiting++
	a.mu.Unlock()
	l.mu.Lock()
	return func() {
		l.mu.Unlock()
		a.mu.Lock()
		defer a.mu.Unlock()
		if l.waiting--; l.waiting == 0 {
			delete(a.lines, environment)
		}
	}
}

// insert stores the record under the first free number behind what is processed.
// The caller has entered the line.
func (a *arrivals) insert(ctx context.Context, record *environments.WaitingReport, processed int64) error {
	a.mu.Lock()
	l := a.lines[record.Environment]
	a.mu.Unlock()
	record.Arrival = max(processed, l.last) + 1
	for {
		err := a.reports.Insert(ctx, *record)
		if err == nil {
			l.last = record.Arrival
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

// firstFree finds the first free number behind a taken one: it strides ahead
// until it meets a free one, then halves the stretch between. There are no gaps,
// so both work.
func (a *arrivals) firstFree(ctx context.Context, environment string, taken int64) (int64, error) {
	free := taken + 1
	for stride := int64(1); ; stride *= 2 {
		waits, err := a.reports.Exists(ctx, environment, free)
		if err != nil {
			return 0, err
		}
		if !waits {
			break
		}
		taken = free
		free += stride
	}
	for free-taken > 1 {
		middle := taken + (free-taken)/2
		waits, err := a.reports.Exists(ctx, environment, middle)
		if err != nil {
			return 0, err
		}
		if waits {
			taken = middle
		} else {
			free = middle
		}
	}
	return free, nil
}
