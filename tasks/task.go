// Package tasks is what crosses the queue: tasks and their options, the dispatcher that hands them over, and the
// messages that wake who waits for a result. Redis only carries tasks: storage keeps what a task stands for, and the
// sweep and the relays enqueue it again if Redis has forgotten it.
package tasks

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

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

func newTask(ref *job.Ref, attempt int64) (*task, error) {
	payload, err := json.Marshal(ref.Payload)
	if err != nil {
		return nil, fmt.Errorf("encode the payload of %s: %w", ref.Kind.Name, err)
	}
	return &task{Kind: ref.Kind, id: ref.Kind.Name + "/" + ref.Key + ":" + strconv.FormatInt(attempt, 10), payload: payload}, nil
}

// asynq is the task as asynq takes it.
func (t *task) asynq(options ...asynq.Option) *asynq.Task {
	return asynq.NewTask(t.Name, t.payload, append(options,
		asynq.TaskID(t.id), asynq.Queue(t.Queue), asynq.Timeout(t.Timeout), asynq.MaxRetry(t.Retries))...)
}

// RetryDelay is the pause after a task has failed that had failed a number of times before.
func RetryDelay(before int, _ error, failed *asynq.Task) time.Duration {
	kind := job.Named(failed.Type())
	if kind == nil {
		kind = &job.Report // it is of another version, whose workers may take it
	}
	return kind.Pause(before+1, rand.Float64())
}
