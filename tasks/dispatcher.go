package tasks

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxPending bounds what waits for Redis in memory. What is turned away is
	// found by the sweep.
	maxPending = 100_000
	// dispatchers is how many tasks are enqueued at the same time.
	dispatchers = 8
	// dispatchBackoff is the first pause while Redis is away, doubled up to
	// maxDispatchBackoff.
	dispatchBackoff    = 50 * time.Millisecond
	maxDispatchBackoff = 2 * time.Second
)

// Dispatcher hands work to the queues in the background. No request waits for
// it; while Redis is away it holds what was handed in, one entry per environment.
type Dispatcher struct {
	enqueuer *Enqueuer
	log      *slog.Logger

	mu      sync.Mutex
	pending map[string]int64 // environment → arrival of its latest report
	away    bool
	wake    chan struct{}
}

// NewDispatcher makes a dispatcher that works while Run runs.
func NewDispatcher(enqueuer *Enqueuer, log *slog.Logger) *Dispatcher {
	return &Dispatcher{enqueuer: enqueuer, log: log, pending: map[string]int64{}, wake: make(chan struct{}, 1)}
}

// Report hands in an environment with a waiting report. Reports of one
// environment that meet here share one task: whoever drains one drains all.
func (d *Dispatcher) Report(environment string, arrival int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.pending[environment]; !known && len(d.pending) >= maxPending {
		return
	}
	d.pending[environment] = max(d.pending[environment], arrival)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Away tells that the last attempt to reach Redis failed.
func (d *Dispatcher) Away() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.away
}

// Run enqueues until the context ends, then makes one last attempt with what it
// still holds.
func (d *Dispatcher) Run(ctx context.Context) {
	pause := dispatchBackoff
	for {
		select {
		case <-ctx.Done():
			d.finish(context.WithoutCancel(ctx))
			return
		case <-d.wake:
		}
		for !d.flush(ctx) {
			select {
			case <-ctx.Done():
				d.finish(context.WithoutCancel(ctx))
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, maxDispatchBackoff)
		}
		pause = dispatchBackoff
	}
}

func (d *Dispatcher) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	d.flush(ctx)
}

// flush enqueues all that is pending and reports whether Redis took it. With the
// first failure Redis is away, and the rest of the batch is put back untried.
func (d *Dispatcher) flush(ctx context.Context) bool {
	batch := d.take()
	work := make(chan string, len(batch))
	for environment := range batch {
		work <- environment
	}
	close(work)
	var failed atomic.Bool
	var group sync.WaitGroup
	for range min(dispatchers, len(batch)) {
		group.Go(func() {
			for environment := range work {
				if failed.Load() {
					d.putBack(environment, batch[environment])
					continue
				}
				if err := d.enqueuer.Report(ctx, environment, batch[environment], 0); err != nil {
					d.putBack(environment, batch[environment])
					failed.Store(true)
					d.note(err)
				}
			}
		})
	}
	group.Wait()
	if failed.Load() {
		return false
	}
	d.note(nil)
	return true
}

func (d *Dispatcher) take() map[string]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	batch := d.pending
	d.pending = map[string]int64{}
	return batch
}

func (d *Dispatcher) putBack(environment string, arrival int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending[environment] = max(d.pending[environment], arrival)
}

// note records and logs when Redis goes or comes back.
func (d *Dispatcher) note(failed error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if away := failed != nil; away != d.away {
		d.away = away
		if away {
			d.log.Warn("Redis is away, tasks wait", "error", failed.Error())
			return
		}
		d.log.Info("Redis is back")
	}
}
