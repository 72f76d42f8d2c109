// Package tasks has the tasks of the queues and their options, the dispatcher that enqueues them, and the messages that
// wake requests which wait for a result. Redis only carries tasks: the work is stored in the database, and the sweep
// and the relays enqueue it again if Redis has lost its task.
package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"attestry/evidence/job"
	"attestry/trace"
)

// queueNames is asynq's set of all queues. A process adds a queue only with its own first task, so after Redis was
// emptied the set may lack queues that have tasks.
const queueNames = "asynq:queues"

// Enqueuer puts tasks on their queues, or runs them at once in this process (RunLocally), and publishes their results.
type Enqueuer struct {
	redis     redis.UniversalClient
	client    *asynq.Client
	inspector *asynq.Inspector
	here      atomic.Pointer[here]
}

// NewEnqueuer makes an enqueuer; the Redis client stays the caller's to close.
func NewEnqueuer(client redis.UniversalClient) *Enqueuer {
	return &Enqueuer{redis: client, client: asynq.NewClientFromRedisClient(client), inspector: asynq.NewInspectorFromRedisClient(client)}
}

// Enqueue enqueues the task of some work. It is no error if there already is one for the same attempt. Work without a
// trace gets that of the context.
func (e *Enqueuer) Enqueue(ctx context.Context, ref job.Ref, attempt int64) error {
	ref.Payload.Trace = cmp.Or(ref.Payload.Trace, trace.Reference(ctx))
	wanted, err := newTask(&ref, attempt)
	if err != nil {
		return err
	}
	if h := e.here.Load(); h != nil && h.take(wanted) {
		return nil
	}
	return e.queue(ctx, wanted)
}

// Waiting returns how many tasks of a queue no worker has taken yet.
func (e *Enqueuer) Waiting(ctx context.Context, queue string) (int, error) {
	if waiting, _, ok := e.Here(queue); ok {
		return waiting, nil
	}
	info, err := e.InRedis(ctx, queue)
	if err != nil {
		return 0, err
	}
	return info.Pending, nil
}

// InRedis returns the state of a queue in Redis. A queue that was never used is empty.
func (e *Enqueuer) InRedis(ctx context.Context, queue string) (*asynq.QueueInfo, error) {
	if err := e.redis.SAdd(ctx, queueNames, queue).Err(); err != nil {
		return nil, fmt.Errorf("inspect the queue %s: %w", queue, err)
	}
	info, err := e.inspector.GetQueueInfo(queue)
	if err != nil {
		return nil, fmt.Errorf("inspect the queue %s: %w", queue, err)
	}
	return info, nil
}

func (e *Enqueuer) queue(ctx context.Context, wanted *task, options ...asynq.Option) error {
	_, err := e.client.EnqueueContext(ctx, wanted.asynq(options...))
	if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return fmt.Errorf("enqueue %s: %w", wanted.Name, err)
	}
	return nil
}

type task struct {
	*job.Kind
	// id has the record and the attempt, not only the environment: an active or archived task must not block the next.
	id      string
	payload []byte
}

func newTask(ref *job.Ref, attempt int64) (*task, error) {
	payload, err := json.Marshal(ref.Payload)
	if err != nil {
		return nil, fmt.Errorf("encode the payload of %s: %w", ref.Kind.Name, err)
	}
	return &task{Kind: ref.Kind, id: ref.Kind.Name + "/" + ref.Key + ":" + strconv.FormatInt(attempt, 10), payload: payload}, nil
}

func (t *task) asynq(options ...asynq.Option) *asynq.Task {
	return asynq.NewTask(t.Name, t.payload, append(options,
		asynq.TaskID(t.id), asynq.Queue(t.Queue), asynq.Timeout(t.Timeout), asynq.MaxRetry(t.Retries))...)
}

// RetryDelay is the pause after a failure of a task. before counts its earlier failures.
func RetryDelay(before int, _ error, failed *asynq.Task) time.Duration {
	kind := job.Named(failed.Type())
	if kind == nil {
		kind = &job.Report // a kind of another version, whose workers may take it
	}
	return kind.Pause(before+1, rand.Float64())
}
