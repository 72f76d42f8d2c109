package evaluation

import (
	"context"
	"slices"
	"sync"

	"attestry/evidence"
)

var errFull = evidence.Busy("Too many evaluations of this organization are waiting, please try again.")

// queue shares slots fairly: the organizations that wait are served in turn, and their evaluations in order. None gets
// all slots, so that slow evaluations of one do not delay those of another.
type queue struct {
	maxRunning int // of one organization
	maxWaiting int // of one organization

	mu      sync.Mutex
	free    int
	running map[string]int             // by organization
	waiting map[string][]chan struct{} // by organization; closed to grant a slot
	turns   []string                   // organizations that wait, the next one first
}

func newQueue(slots, maxRunning, maxWaiting int) *queue {
	return &queue{
		maxRunning: maxRunning, maxWaiting: maxWaiting, free: slots, running: map[string]int{}, waiting: map[string][]chan struct{}{},
	}
}

// acquire waits for a slot. It returns an Unavailable error if too many evaluations wait or ctx ends.
func (q *queue) acquire(ctx context.Context, org string) error {
	if ctx.Err() != nil {
		return errTimeout
	}
	granted, err := q.join(org)
	if err != nil {
		return err
	}
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
		q.abandon(org, granted)
		return errTimeout
	}
}

// join returns a channel that is closed once a slot is granted.
func (q *queue) join(org string) (<-chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting[org]) >= q.maxWaiting {
		return nil, errFull
	}
	granted := make(chan struct{})
	if len(q.waiting[org]) == 0 {
		q.turns = append(q.turns, org)
	}
	q.waiting[org] = append(q.waiting[org], granted)
	q.grant()
	return granted, nil
}

// grant gives a free slot to the next waiting organization that runs fewer than maxRunning, if there are both.
func (q *queue) grant() {
	i := slices.IndexFunc(q.turns, func(org string) bool { return q.running[org] < q.maxRunning })
	if q.free == 0 || i < 0 {
		return
	}
	org := q.turns[i]
	q.free--
	q.running[org]++
	close(q.waiting[org][0])
	q.turns = append(slices.Delete(q.turns, i, i+1), org) // its next turn is the last one
	q.remove(org, 0)
}

// remove removes one that waits, and the organization if it was the last one.
func (q *queue) remove(org string, i int) {
	q.waiting[org] = slices.Delete(q.waiting[org], i, i+1)
	if len(q.waiting[org]) == 0 {
		delete(q.waiting, org)
		q.turns = slices.DeleteFunc(q.turns, func(other string) bool { return other == org })
	}
}

func (q *queue) release(org string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.releaseLocked(org)
}

func (q *queue) releaseLocked(org string) {
	q.free++
	q.running[org]--
	if q.running[org] == 0 {
		delete(q.running, org)
	}
	q.grant()
}

// abandon stops waiting, and releases the slot if it was granted meanwhile.
func (q *queue) abandon(org string, granted <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.waiting[org], func(other chan struct{}) bool { return other == granted })
	if i < 0 {
		q.releaseLocked(org)
		return
	}
	q.remove(org, i)
}
