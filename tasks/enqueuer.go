package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// Enqueuer puts tasks on their queues.
type Enqueuer struct {
	client    *asynq.Client
	inspector *asynq.Inspector
}

// NewEnqueuer makes an enqueuer; the Redis client stays the caller's to close.
func NewEnqueuer(client redis.UniversalClient) *Enqueuer {
	return &Enqueuer{client: asynq.NewClientFromRedisClient(client), inspector: asynq.NewInspectorFromRedisClient(client)}
}

// Report asks a worker to drain an environment because of one waiting report. A
// task that is there already for the same attempt is no error.
func (e *Enqueuer) Report(ctx context.Context, environment string, arrival int64, attempt int) error {
	task, err := newReportTask(environment, arrival, attempt)
	return e.enqueue(ctx, task, err)
}

// Fanout asks a worker to make the deliveries of an event to the targets of an action. A task
// that is there already for the same attempt is no error.
func (e *Enqueuer) Fanout(ctx context.Context, event string, action int64, attempt int) error {
	task, err := newFanoutTask(event, action, attempt)
	return e.enqueue(ctx, task, err)
}

// Send asks a worker to try a delivery of an organization. A task that is there already for the
// same attempt is no error.
func (e *Enqueuer) Send(ctx context.Context, org, delivery string, attempt int) error {
	task, err := newSendTask(org, delivery, attempt)
	return e.enqueue(ctx, task, err)
}

// Assemble asks a worker to assemble an audit package that is due since a time in Unix seconds. A
// task that is there already for the same attempt is no error.
func (e *Enqueuer) Assemble(ctx context.Context, assembly string, due float64, attempt int64) error {
	task, err := newAssembleTask(assembly, due, attempt)
	return e.enqueue(ctx, task, err)
}

// Waiting is how many tasks of notifications no worker has taken yet.
func (e *Enqueuer) Waiting(context.Context) (int, error) {
	used, err := e.inspector.Queues()
	if err != nil || !slices.Contains(used, QueueNotifications) {
		return 0, err
	}
	info, err := e.inspector.GetQueueInfo(QueueNotifications)
	if err != nil {
		return 0, fmt.Errorf("inspect the queue %s: %w", QueueNotifications, err)
	}
	return info.Pending, nil
}

func (e *Enqueuer) enqueue(ctx context.Context, task *asynq.Task, err error) error {
	if err != nil {
		return err
	}
	_, err = e.client.EnqueueContext(ctx, task)
	if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return fmt.Errorf("enqueue %s: %w", task.Type(), err)
	}
	return nil
}
