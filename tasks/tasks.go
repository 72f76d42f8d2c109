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
)

// The queues. They are served by the workers that are told to.
const (
	QueueReports       = "reports"
	QueueCompliance    = "compliance"
	QueueNotifications = "notifications"
	QueuePackages      = "packages"
)

const (
	// TypeReport is the task that drains an environment's waiting reports.
	TypeReport = "environment:report"
	// TypeEvaluate is the task that evaluates again what runs in an environment, without a report.
	TypeEvaluate = "environment:evaluate"
	// TypeFanout is the task that makes the deliveries of an event to the targets of an action.
	TypeFanout = "event:fanout"
	// TypeSend is the task that tries a delivery.
	TypeSend = "delivery:send"
	// TypeAssemble is the task that assembles an audit package.
	TypeAssemble = "package:assemble"
)

// maxRetryDelay ends the doubling of pauses between tries.
const maxRetryDelay = 30 * time.Second

// EnvironmentPayload names the environment in which reports or evaluations wait.
type EnvironmentPayload struct {
	Environment string `json:"environment"`
}

// newEnvironmentTask makes the task of a type for a waiting record. Evaluations have a queue of their
// own, so that those of large environments do not delay reports of others.
func newEnvironmentTask(name, environment string, arrival int64, attempt int) (*task, error) {
	id := environment + "/" + strconv.FormatInt(arrival, 10) + ":" + strconv.Itoa(attempt)
	return newTask(name, id, EnvironmentPayload{Environment: environment})
}

// FanoutPayload names an event and the action that is to be told of it.
type FanoutPayload struct {
	Event  string `json:"event"`
	Action int64  `json:"action"`
}

func newFanoutTask(event string, action int64, attempt int) (*task, error) {
	id := event + "/" + strconv.FormatInt(action, 10)
	return newNotificationTask(TypeFanout, id, attempt, FanoutPayload{Event: event, Action: action})
}

// SendPayload names a delivery of an organization, by its id.
type SendPayload struct {
	Org      string `json:"org"`
	Delivery string `json:"delivery"`
}

func newSendTask(org, delivery string, attempt int) (*task, error) {
	return newNotificationTask(TypeSend, org+"/"+delivery, attempt, SendPayload{Org: org, Delivery: delivery})
}

func newNotificationTask(name, id string, attempt int, content any) (*task, error) {
	return newTask(name, name+"/"+id+":"+strconv.Itoa(attempt), content)
}

// AssemblePayload names the package that is to be assembled.
type AssemblePayload struct {
	Assembly string `json:"assembly"` // id
}

// assembleTaskID is the id of the task for an attempt to assemble what is due since a time in Unix
// seconds.
func assembleTaskID(assembly string, due float64, attempt int64) string {
	return TypeAssemble + "/" + assembly + "/" + strconv.FormatFloat(due, 'f', -1, 64) + ":" + strconv.FormatInt(attempt, 10)
}

// RetryDelay is the pause before a task's next try: doubled each time, with
// jitter, so that what failed together is not tried together.
func RetryDelay(tried int, _ error, _ *asynq.Task) time.Duration {
	pause := min(time.Second<<min(tried, 10), maxRetryDelay)
	return pause/2 + rand.N(pause/2+1)
}
