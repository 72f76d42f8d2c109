package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"attestry/evidence/job"
)

// Enqueuer puts tasks on their queues, or has them done at once by this process (WorkHere).
type Enqueuer struct {
	client    *asynq.Client
	inspector *asynq.Inspector
	here      atomic.Pointer[here]
}

// NewEnqueuer makes an enqueuer; the Redis client stays the caller's to close.
func NewEnqueuer(client redis.UniversalClient) *Enqueuer {
	return &Enqueuer{client: asynq.NewClientFromRedisClient(client), inspector: asynq.NewInspectorFromRedisClient(client)}
}

// Enqueue asks a worker to do some work. A task that is there already for the same attempt is no error.
func (e *Enqueuer) Enqueue(ctx context.Context, ref job.Ref, attempt int64) error {
	wanted, err := newTask(&ref, attempt)
	if err != nil {
		return err
	}
	if h := e.here.Load(); h != nil && h.take(wanted) {
		return nil
	}
	return e.queue(ctx, wanted)
}

// Waiting is how many tasks of a queue no worker has taken yet.
func (e *Enqueuer) Waiting(_ context.Context, queue string) (int, error) {
	if waiting, _, ok := e.Here(queue); ok {
		return waiting, nil
	}
	used, err := e.inspector.Queues()
	if err != nil || !slices.Contains(used, queue) {
		return 0, err
	}
	info, err := e.inspector.GetQueueInfo(queue)
	if err != nil {
		return 0, fmt.Errorf("inspect the queue %s: %w", queue, err)
	}
	return info.Pending, nil
}

func (e *Enqueuer) queue(ctx context.Context, wanted *task, options ...asynq.Option) error {
	_, err := e.client.EnqueueContext(ctx, wanted.asynq(options...))
	if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return fmt.Errorf("enqueue %s: %w", wanted.Name, err)
	}
	return nil
}
