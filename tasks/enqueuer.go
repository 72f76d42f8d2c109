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

// Report asks a worker to drain an environment because of one waiting report. A
// task that is there already for the same attempt is no error.
func (e *Enqueuer) Report(ctx context.Context, environment string, arrival int64, attempt int) error {
	task, err := newEnvironmentTask(&job.Report, environment, arrival, attempt)
	return e.enqueue(ctx, task, err)
}

// Evaluate asks a worker to evaluate an environment because of one waiting evaluation. A task that
// is there already for the same attempt is no error.
func (e *Enqueuer) Evaluate(ctx context.Context, environment string, arrival int64, attempt int) error {
	task, err := newEnvironmentTask(&job.Evaluate, environment, arrival, attempt)
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

// maxAssembleTasks is how many tasks there are for one attempt: all but the last have lost their
// workers.
const maxAssembleTasks = 3

// Assemble asks a worker to assemble an audit package that is due since a time in Unix seconds. A task
// that waits already for the same attempt is no error. One that a worker has taken is repeated: the
// worker may have been killed before it began, which asynq notices after a minute or two.
func (e *Enqueuer) Assemble(ctx context.Context, assembly string, due float64, attempt int64) error {
	wanted, err := newTask(&job.Assemble, assembleTaskID(assembly, due, attempt), AssemblePayload{Assembly: assembly})
	if err != nil || e.doHere(wanted) {
		return err
	}
	for range maxAssembleTasks {
		waits, err := e.assemble(ctx, wanted)
		if err != nil || waits {
			return err
		}
		wanted.id += "+"
	}
	return nil
}

// assemble enqueues a task unless there is one of its id, and reports whether one waits. A task that was
// archived, as its worker was killed, is enqueued again.
func (e *Enqueuer) assemble(ctx context.Context, wanted *task) (waits bool, err error) {
	_, err = e.client.EnqueueContext(ctx, wanted.asynq())
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, asynq.ErrTaskIDConflict) {
		return false, fmt.Errorf("enqueue %s: %w", wanted.Name, err)
	}
	info, err := e.inspector.GetTaskInfo(job.QueuePackages, wanted.id)
	if errors.Is(err, asynq.ErrTaskNotFound) {
		return true, nil // it has ended just now; if the package still waits, the relay comes back
	}
	if err != nil {
		return false, fmt.Errorf("inspect %s: %w", wanted.Name, err)
	}
	if info.State != asynq.TaskStateArchived {
		return info.State != asynq.TaskStateActive, nil
	}
	return true, e.assembleAgain(wanted.id)
}

// assembleAgain enqueues a task that was archived. It is no error if another process has done so since:
// then the task waits, a worker has it, or it has ended.
func (e *Enqueuer) assembleAgain(id string) error {
	err := e.inspector.RunTask(job.QueuePackages, id)
	if err == nil || errors.Is(err, asynq.ErrTaskNotFound) {
		return nil
	}
	info, inspectErr := e.inspector.GetTaskInfo(job.QueuePackages, id)
	if errors.Is(inspectErr, asynq.ErrTaskNotFound) {
		return nil
	}
	if inspectErr == nil && (info.State == asynq.TaskStatePending || info.State == asynq.TaskStateActive) {
		return nil
	}
	return fmt.Errorf("enqueue %s again: %w", job.Assemble.Name, err)
}

// Waiting is how many tasks of notifications no worker has taken yet.
func (e *Enqueuer) Waiting(context.Context) (int, error) {
	if here := e.here.Load(); here != nil {
		return here.waitingIn(job.QueueNotifications), nil
	}
	used, err := e.inspector.Queues()
	if err != nil || !slices.Contains(used, job.QueueNotifications) {
		return 0, err
	}
	info, err := e.inspector.GetQueueInfo(job.QueueNotifications)
	if err != nil {
		return 0, fmt.Errorf("inspect the queue %s: %w", job.QueueNotifications, err)
	}
	return info.Pending, nil
}

func (e *Enqueuer) enqueue(ctx context.Context, wanted *task, err error) error {
	if err != nil || e.doHere(wanted) {
		return err
	}
	return e.queue(ctx, wanted)
}

func (e *Enqueuer) queue(ctx context.Context, wanted *task, options ...asynq.Option) error {
	_, err := e.client.EnqueueContext(ctx, wanted.asynq(options...))
	if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return fmt.Errorf("enqueue %s: %w", wanted.Name, err)
	}
	return nil
}
