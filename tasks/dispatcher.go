package tasks

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"attestry/evidence/job"
	"attestry/goroutine"
	"attestry/monitor"
	"attestry/trace"
)

const (
	// maxPending bounds the tasks that wait for Redis in memory. The sweep finds those beyond it.
	maxPending = 100_000
	// dispatchers is how many tasks are enqueued at the same time.
	dispatchers = 8
	// dispatchBackoff is the first pause while Redis is unreachable, doubled up to maxDispatchBackoff.
	dispatchBackoff    = 50 * time.Millisecond
	maxDispatchBackoff = 2 * time.Second
)

// work identifies a task for an environment.
type work struct {
	kind        *job.Kind
	environment string
}

// latest is the latest waiting record of some work.
type latest struct {
	arrival int64
	trace   string // reference
}

// Dispatcher enqueues tasks in the background. No request waits for it. While Redis is unreachable it keeps one entry
// per environment and kind of work.
type Dispatcher struct {
	enqueuer *Enqueuer
	log      *slog.Logger

	mu      sync.Mutex
	pending map[work]latest
	away    bool
	wake    chan struct{}
}

// NewDispatcher makes a dispatcher that works while Run runs.
func NewDispatcher(enqueuer *Enqueuer, log *slog.Logger) *Dispatcher {
	return &Dispatcher{enqueuer: enqueuer, log: log, pending: map[work]latest{}, wake: make(chan struct{}, 1)}
}

// Dispatch hands Run the task for work of a kind in an environment. Work of one kind and environment shares one task,
// which drains all of it and belongs to the trace of the latest record.
func (d *Dispatcher) Dispatch(ctx context.Context, kind *job.Kind, environment string, arrival int64) {
	w := work{kind: kind, environment: environment}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.pending[w]; !known && len(d.pending) >= maxPending {
		return
	}
	d.add(w, latest{arrival: arrival, trace: trace.Reference(ctx)})
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Limit is the number of tasks that wait for Redis.
func (d *Dispatcher) Limit() monitor.Limit {
	return monitor.Limit{Name: "waiting_tasks", Max: maxPending, Used: func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.pending)
	}}
}

// Unreachable reports whether the last attempt to reach Redis failed.
func (d *Dispatcher) Unreachable() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.away
}

// Run enqueues until the context ends, then makes one last attempt with what it still holds.
func (d *Dispatcher) Run(ctx context.Context) {
	wake, pause := d.wake, dispatchBackoff
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			d.finish(context.WithoutCancel(ctx))
			return
		case <-wake:
		case <-again:
		}
		if d.flush(ctx) {
			wake, again, pause = d.wake, nil, dispatchBackoff
			continue
		}
		wake, again, pause = nil, time.After(pause), min(2*pause, maxDispatchBackoff)
	}
}

func (d *Dispatcher) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	d.flush(ctx)
}

// flush enqueues all pending tasks and reports whether Redis took them. After a failure the rest is put back untried.
func (d *Dispatcher) flush(ctx context.Context) bool {
	batch := d.take()
	var failed atomic.Bool
	var group goroutine.Group
	group.Limit(dispatchers)
	for w, of := range batch {
		if failed.Load() {
			d.putBack(w, of)
			continue
		}
		group.Go(func() error {
			err := goroutine.Recovered(func() error {
				return d.enqueuer.Enqueue(trace.With(ctx, of.trace), job.EnvironmentRef(w.kind, w.environment, of.arrival), 0)
			})
			if err != nil {
				d.putBack(w, of)
				failed.Store(true)
				d.setUnreachable(err)
			}
			return err
		})
	}
	if group.Wait() != nil {
		return false
	}
	d.setUnreachable(nil)
	return true
}

func (d *Dispatcher) take() map[work]latest {
	d.mu.Lock()
	defer d.mu.Unlock()
	batch := d.pending
	d.pending = map[work]latest{}
	return batch
}

func (d *Dispatcher) putBack(w work, of latest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(w, of)
}

func (d *Dispatcher) add(w work, of latest) {
	if of.arrival >= d.pending[w].arrival {
		d.pending[w] = of
	}
}

// setUnreachable sets whether Redis is unreachable, and logs a change.
func (d *Dispatcher) setUnreachable(failed error) {
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
