// Package relay enqueues due work (in a worker): new work, retries, and work of lost tasks or killed workers.
package relay

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/goroutine"
)

const (
	// MaxWaiting bounds the tasks that wait in a queue. Other work waits in the database rather than in Redis.
	MaxWaiting = 10_000
	// enqueuers is how many tasks are enqueued at the same time.
	enqueuers = 16
)

// Enqueuer puts tasks on their queues.
type Enqueuer interface {
	// Enqueue enqueues the task of some work. It is no error if there already is one for the same attempt.
	Enqueue(ctx context.Context, ref job.Ref, attempt int64) error
}

// Queues are the queues of tasks.
type Queues interface {
	Enqueuer
	// Waiting returns how many tasks of a queue no worker has taken yet.
	Waiting(ctx context.Context, queue string) (int, error)
}

// EnqueueAll enqueues work, several tasks at the same time. attempt numbers the task of each. After a failure it
// enqueues no other task: each would wait as long for a Redis that hangs, even if the process stops.
func EnqueueAll(ctx context.Context, to Enqueuer, due []job.Ref, attempt func(*job.Ref) int64) error {
	var failed atomic.Bool
	var group goroutine.Group
	group.Limit(enqueuers)
	for i := range due {
		if failed.Load() {
			break
		}
		group.Go(func() error {
			err := to.Enqueue(ctx, due[i], attempt(&due[i]))
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	return group.Wait()
}

// Source reads a page of the work of a kind that is due at a time in Unix seconds, the longest due first, and returns
// the cursor of the next page.
type Source func(ctx context.Context, now float64, after string) ([]job.Ref, string, error)

// Relay enqueues work of one queue. Several processes may do so: their tasks have the same ids.
type Relay struct {
	queue   string
	queues  Queues
	clock   evidence.Clock
	sources []Source
	// elect reports whether this process is to enqueue, which spares others the work.
	elect func(context.Context) (bool, error)
	// enqueued is when work was last enqueued.
	enqueued map[key]time.Time
}

// key identifies work that is due at a time.
type key struct {
	kind *job.Kind
	key  string
	due  float64
}

func keyOf(ref *job.Ref) key { return key{kind: ref.Kind, key: ref.Key, due: ref.Due} }

// New makes a relay for a queue that works when Relay is called, by one goroutine, if elect says so.
func New(queue string, queues Queues, clock evidence.Clock, elect func(context.Context) (bool, error), sources ...Source) *Relay {
	return &Relay{queue: queue, queues: queues, clock: clock, elect: elect, sources: sources, enqueued: map[key]time.Time{}}
}

// Relay does one pass. While nothing is due it takes one command for each source.
func (r *Relay) Relay(ctx context.Context) error {
	now := r.clock()
	for key, at := range r.enqueued {
		if now.Sub(at) >= job.EnqueueAgain || now.Before(at) {
			delete(r.enqueued, key)
		}
	}
	first, err := r.read(ctx, now, 1)
	if err != nil || len(first) == 0 {
		return err
	}
	elected, err := r.elect(ctx)
	if err != nil || !elected {
		return err
	}
	n, err := r.queues.Waiting(ctx, r.queue)
	if err != nil || n >= MaxWaiting {
		return err
	}
	due, err := r.read(ctx, now, MaxWaiting)
	if err != nil {
		return err
	}
	return r.enqueue(ctx, now, due[:min(len(due), MaxWaiting-n)])
}

func (r *Relay) enqueue(ctx context.Context, now time.Time, due []job.Ref) error {
	for i := range due {
		r.enqueued[keyOf(&due[i])] = now
	}
	err := EnqueueAll(ctx, r.queues, due, func(ref *job.Ref) int64 { return number(ref, evidence.Seconds(now)) })
	if err != nil {
		clear(r.enqueued)
	}
	return err
}

// number returns the number of the task for due work, at a time in Unix seconds. A task is not added while one with its
// number waits. The number changes when the work becomes due again, and each time its wait has doubled, so that old
// work has few tasks.
func number(ref *job.Ref, now float64) int64 {
	waited := max(0, now-ref.Due)
	return int64(ref.Due*1000) + int64(math.Log2(1+waited/job.EnqueueAgain.Seconds()))
}

// read returns due work not enqueued within job.EnqueueAgain. It reads pages of each source until it has most refs.
func (r *Relay) read(ctx context.Context, now time.Time, most int) ([]job.Ref, error) {
	var fresh []job.Ref
	for _, source := range r.sources {
		for after, found := "", 0; found < most; {
			refs, next, err := source(ctx, evidence.Seconds(now), after)
			if err != nil {
				return nil, err
			}
			for i := range refs {
				if _, ok := r.enqueued[keyOf(&refs[i])]; !ok {
					fresh, found = append(fresh, refs[i]), found+1
				}
			}
			if after = next; next == "" {
				break
			}
		}
	}
	return fresh, nil
}
