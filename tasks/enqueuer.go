package tasks

import (
	"context"
	"errors"
	"fmt"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// Enqueuer puts tasks on their queues.
type Enqueuer struct {
	client *asynq.Client
}

// NewEnqueuer makes an enqueuer; the Redis client stays the caller's to close.
func NewEnqueuer(client redis.UniversalClient) *Enqueuer {
	return &Enqueuer{client: asynq.NewClientFromRedisClient(client)}
}

// Report asks a worker to drain an environment because of one waiting report. A
// task that is there already for the same attempt is no error.
func (e *Enqueuer) Report(ctx context.Context, environment string, arrival int64, attempt int) error {
	task, err := newReportTask(environment, arrival, attempt)
	if err != nil {
		return err
	}
	_, err = e.client.EnqueueContext(ctx, task)
	if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return fmt.Errorf("enqueue %s: %w", TypeReport, err)
	}
	return nil
}
