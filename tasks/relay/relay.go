// Package relay enqueues the work that is due (in a worker): new work as well as what is to be tried again, what
// Redis has forgotten, and what workers had begun that were killed.
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
	// MaxWaiting is how many tasks may wait in a queue: what workers cannot keep up with waits in the database
	// rather than in Redis.
	MaxWaiting = 10_000
	// enqueuers is how many tasks are enqueued at the same time.
	enqueuers = 16
)

// Enqueuer puts tasks on their queues.
type Enqueuer interface {
	// Enqueue asks a worker to do some work. A task that is there already for the same attempt is no error.
	Enqueue(ctx context.Context, ref job.Ref, attempt int64) error
}

// Queues are those that tasks wait in.
type Queues interface {
	Enqueuer
	// Waiting is how many tasks of a queue no worker has taken yet.
	Waiting(ctx context.Context, queue string) (int, error)
}

// EnqueueAll enqueues work, several tasks at the same time. attempt numbers the task of each. After a failure it begins no
// other task: each would wait as long for a Redis that hangs, even when the process is to end.
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

// Source reads a page of the work of a kind that is due at a time in Unix seconds, that which is due longest
// first, and gives the cursor of the next page.
type Source func(ctx context.Context, now float64, after string) ([]job.Ref, string, error)

// Relay enqueues work of one queue. Several processes may do so: their tasks have the same ids.
type Relay struct {
	queue   string
	queues  Queues
	clock   evidence.Clock
	sources []Source
	// elect reports whether this process is to enqueue, which spares others the work.
	elect func(context.Context) (bool, error)
	// enqueued is when what still waits was enqueued last.
	enqueued map[key]time.Time
}

// key tells work from other work, and from itself when it is due again.
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

// Relay looks once. While nothing is due it takes one command for each source.
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

// number numbers the task for work that is due, at a time in Unix seconds. A task with the number of one that waits is not
// added. The number changes when the work is due again, and while it waits, after pauses that double: work that waits for
// long has few tasks.
func number(ref *job.Ref, now float64) int64 {
	waited := max(0, now-ref.Due)
	return int64(ref.Due*1000) + int64(math.Log2(1+waited/job.EnqueueAgain.Seconds()))
}

// read returns what was not enqueued a moment ago of what is due. It looks at so many pieces of work of each source,
// and at the rest of a page.
func (r *Relay) read(ctx context.Context, now time.Time, most int) ([]job.Ref, error) {
	var fresh []job.Ref
	for _, source := range r.sources {
		for after, seen := "", 0; seen < most; {
			refs, next, err := source(ctx, evidence.Seconds(now), after)
			if err != nil {
				return nil, err
			}
			seen += len(refs)
			for i := range refs {
				if _, ok := r.enqueued[keyOf(&refs[i])]; !ok {
					fresh = append(fresh, refs[i])
				}
			}
			if after = next; next == "" {
				break
			}
		}
	}
	return fresh, nil
}
