package attestation

import (
	"context"
	"errors"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	// maxWork bounds what one payload may cost a type's schema, and again what it
	// may cost all its rules together. A unit is a step of the jq machine, or a value
	// looked at by a function or a schema: a few tens of nanoseconds and of bytes, so
	// that all of it is a second or two and some 400 MiB at the very worst. Work is
	// counted, not timed, so that a verdict never depends on how busy the machine is.
	maxWork = 5_000_000
	// maxTime and maxGrowth stop what the count does not foresee. Reaching them is
	// no verdict, but an error to try again.
	maxTime   = 5 * time.Second
	maxGrowth = 384 << 20 // bytes of heap
	// lookInterval is how often the heap is looked at.
	lookInterval = 2 * time.Millisecond
)

var errWorkDone = errors.New("takes too much work")

// meter is the budget of one payload. It is the context that jq runs in, too: the
// jq machine asks Done before every step, which makes asking a step.
type meter struct {
	context.Context
	left    int64
	events  int64 // of streams, so far
	stopped atomic.Bool
	closed  chan struct{}
}

func newMeter(ctx context.Context) *meter {
	m := &meter{Context: ctx, left: maxWork, closed: make(chan struct{})}
	close(m.closed)
	return m
}

// Done counts a step, and is closed once the budget is spent or the watch has
// stopped it.
func (m *meter) Done() <-chan struct{} {
	m.left--
	if m.left <= 0 || m.stopped.Load() {
		return m.closed
	}
	return nil
}

// Err is why Done is closed.
func (m *meter) Err() error {
	if m.left <= 0 {
		return errWorkDone
	}
	return m.Context.Err()
}

// renew makes the budget what it was at first.
func (m *meter) renew() { m.left = maxWork }

// spend takes work off the budget and tells whether some is left.
func (m *meter) spend(work int64) bool {
	if work < 0 || work > m.left {
		m.left = 0
		return false
	}
	m.left -= work
	return m.left > 0
}

// watch stops the meter when its context ends or the heap outgrows its bound,
// until it is told that the work is done.
func (m *meter) watch(done <-chan struct{}) {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	before := heapSize()
	for {
		select {
		case <-done:
			return
		case <-m.Context.Done():
			m.stopped.Store(true)
			return
		case <-ticker.C:
			if heapSize() > before+maxGrowth {
				m.stopped.Store(true)
				return
			}
		}
	}
}

func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
