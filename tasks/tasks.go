// Package tasks is what crosses the queue: the names of tasks, their payloads and
// options, the dispatcher that hands them over, and the messages that say a task
// has settled something. Redis is transport here, never truth: whatever a task
// stands for is kept by storage, and enqueued again by the sweep if Redis forgot.
package tasks

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/hibiken/asynq"

	"attestry/evidence/job"
)

// EnvironmentPayload names the environment in which reports or evaluations wait.
type EnvironmentPayload struct {
	Environment string `json:"environment"`
}

// newEnvironmentTask makes the task of a kind for a waiting record.
func newEnvironmentTask(kind *job.Kind, environment string, arrival int64, attempt int) (*task, error) {
	id := environment + "/" + strconv.FormatInt(arrival, 10) + ":" + strconv.Itoa(attempt)
	return newTask(kind, id, EnvironmentPayload{Environment: environment})
}

// FanoutPayload names an event and the action that is to be told of it.
type FanoutPayload struct {
	Event  string `json:"event"`
	Action int64  `json:"action"`
}

func newFanoutTask(event string, action int64, attempt int) (*task, error) {
	id := event + "/" + strconv.FormatInt(action, 10)
	return newNotificationTask(&job.Fanout, id, attempt, FanoutPayload{Event: event, Action: action})
}

// SendPayload names a delivery of an organization, by its id.
type SendPayload struct {
	Org      string `json:"org"`
	Delivery string `json:"delivery"`
}

func newSendTask(org, delivery string, attempt int) (*task, error) {
	return newNotificationTask(&job.Send, org+"/"+delivery, attempt, SendPayload{Org: org, Delivery: delivery})
}

func newNotificationTask(kind *job.Kind, id string, attempt int, content any) (*task, error) {
	return newTask(kind, kind.Name+"/"+id+":"+strconv.Itoa(attempt), content)
}

// AssemblePayload names the package that is to be assembled.
type AssemblePayload struct {
	Assembly string `json:"assembly"` // id
}

// assembleTaskID is the id of the task for an attempt to assemble what is due since a time in Unix
// seconds.
func assembleTaskID(assembly string, due float64, attempt int64) string {
	return job.Assemble.Name + "/" + assembly + "/" + strconv.FormatFloat(due, 'f', -1, 64) + ":" + strconv.FormatInt(attempt, 10)
}

// RetryDelay is the pause before a task is tried again that was tried so often before its last try.
func RetryDelay(before int, _ error, failed *asynq.Task) time.Duration {
	kind := job.Named(failed.Type())
	if kind == nil {
		kind = &job.Report // it is of another version, whose workers may take it
	}
	return kind.Pause(before+1, rand.Float64())
}
