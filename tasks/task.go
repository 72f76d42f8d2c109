package tasks

import (
	"encoding/json"
	"fmt"

	"github.com/hibiken/asynq"

	"attestry/evidence/job"
)

// task is something that a worker is asked to do.
type task struct {
	*job.Kind
	// id consists of the record and the attempt, never of the environment alone: an active or
	// archived task must not keep the next one out.
	id      string
	payload []byte
}

func newTask(kind *job.Kind, id string, content any) (*task, error) {
	payload, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode the payload of %s: %w", kind.Name, err)
	}
	return &task{Kind: kind, id: id, payload: payload}, nil
}

// asynq is the task as asynq takes it.
func (t *task) asynq(options ...asynq.Option) *asynq.Task {
	return asynq.NewTask(t.Name, t.payload, append(options,
		asynq.TaskID(t.id), asynq.Queue(t.Queue), asynq.Timeout(t.Timeout), asynq.MaxRetry(t.Retries))...)
}
