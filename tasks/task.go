package tasks

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
)

// kind is what all tasks of a type have in common.
type kind struct {
	queue string
	// timeout bounds one try.
	timeout time.Duration
	// retries is how often a task that failed is tried again. They are few: what is still to be done
	// after them is enqueued again by the sweep, or by the relay of its kind.
	retries int
}

// kinds are all types of tasks.
var kinds = map[string]kind{
	// A drain that has more to do than it can in time is begun again by the sweep.
	TypeReport:   {queue: QueueReports, timeout: 2 * time.Minute, retries: 5},
	TypeEvaluate: {queue: QueueCompliance, timeout: 2 * time.Minute, retries: 5},
	// A snapshot may make many deliveries.
	TypeFanout: {queue: QueueNotifications, timeout: 2 * time.Minute, retries: 2},
	// Longer than any attempt takes. An attempt that failed is no failed task.
	TypeSend: {queue: QueueNotifications, timeout: 25 * time.Second, retries: 2},
	// A package may hold many GiB of evidence.
	TypeAssemble: {queue: QueuePackages, timeout: time.Hour, retries: 0},
}

// task is something that a worker is asked to do.
type task struct {
	kind
	name string // of its type
	// id consists of the record and the attempt, never of the environment alone: an active or
	// archived task must not keep the next one out.
	id      string
	payload []byte
}

func newTask(name, id string, content any) (*task, error) {
	payload, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode the payload of %s: %w", name, err)
	}
	return &task{kind: kinds[name], name: name, id: id, payload: payload}, nil
}

// asynq is the task as asynq takes it.
func (t *task) asynq(options ...asynq.Option) *asynq.Task {
	return asynq.NewTask(t.name, t.payload, append(options,
		asynq.TaskID(t.id), asynq.Queue(t.queue), asynq.Timeout(t.timeout), asynq.MaxRetry(t.retries))...)
}
