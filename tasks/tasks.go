// Package tasks is what crosses the queue: the names of tasks, their payloads and
// options, the dispatcher that hands them over, and the messages that say a task
// has settled something. Redis is transport here, never truth: whatever a task
// stands for is kept by storage, and enqueued again by the sweep if Redis forgot.
package tasks

import (
	"encoding/json"
	"fmt"
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

const (
	// reportTimeout bounds one drain. A drain that has more to do is begun again
	// by the sweep.
	reportTimeout = 2 * time.Minute
	// reportRetries is small, since the sweep outlasts it.
	reportRetries = 5
	// fanoutTimeout bounds the deliveries of one event, of which a snapshot may make many.
	fanoutTimeout = 2 * time.Minute
	// sendTimeout is longer than any attempt takes.
	sendTimeout = 25 * time.Second
	// notificationRetries is small: failed attempts are no failed tasks, and what storage has
	// failed to take the relay enqueues again.
	notificationRetries = 2
	// assembleTimeout bounds the assembly of a package, which may hold many GiB of evidence.
	assembleTimeout = time.Hour
	// maxRetryDelay ends the doubling of pauses between tries.
	maxRetryDelay = 30 * time.Second
)

// EnvironmentPayload names the environment in which reports or evaluations wait.
type EnvironmentPayload struct {
	Environment string `json:"environment"`
}

// newReportTask makes the task for a waiting report.
func newReportTask(environment string, arrival int64, attempt int) (*asynq.Task, error) {
	return newEnvironmentTask(TypeReport, QueueReports, environment, arrival, attempt)
}

// newEvaluateTask makes the task for a waiting evaluation. It has a queue of its own, so that the
// evaluations of large environments do not delay reports of others.
func newEvaluateTask(environment string, arrival int64, attempt int) (*asynq.Task, error) {
	return newEnvironmentTask(TypeEvaluate, QueueCompliance, environment, arrival, attempt)
}

// newEnvironmentTask makes a task whose id consists of the record and the attempt, never of
// the environment alone: an active or archived task must not keep the next one out.
func newEnvironmentTask(kind, queue, environment string, arrival int64, attempt int) (*asynq.Task, error) {
	payload, err := json.Marshal(EnvironmentPayload{Environment: environment})
	if err != nil {
		return nil, fmt.Errorf("encode the payload of %s: %w", kind, err)
	}
	id := environment + "/" + strconv.FormatInt(arrival, 10) + ":" + strconv.Itoa(attempt)
	return asynq.NewTask(kind, payload,
		asynq.TaskID(id),
		asynq.Queue(queue),
		asynq.Timeout(reportTimeout),
		asynq.MaxRetry(reportRetries),
	), nil
}

// FanoutPayload names an event and the action that is to be told of it.
type FanoutPayload struct {
	Event  string `json:"event"`
	Action int64  `json:"action"`
}

func newFanoutTask(event string, action int64, attempt int) (*asynq.Task, error) {
	id := event + "/" + strconv.FormatInt(action, 10)
	return newNotificationTask(TypeFanout, FanoutPayload{Event: event, Action: action}, id, attempt, fanoutTimeout)
}

// SendPayload names a delivery of an organization, by its id.
type SendPayload struct {
	Org      string `json:"org"`
	Delivery string `json:"delivery"`
}

func newSendTask(org, delivery string, attempt int) (*asynq.Task, error) {
	return newNotificationTask(TypeSend, SendPayload{Org: org, Delivery: delivery}, org+"/"+delivery, attempt, sendTimeout)
}

func newNotificationTask(kind string, content any, id string, attempt int, timeout time.Duration) (*asynq.Task, error) {
	payload, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode the payload of %s: %w", kind, err)
	}
	return asynq.NewTask(kind, payload,
		asynq.TaskID(kind+"/"+id+":"+strconv.Itoa(attempt)),
		asynq.Queue(QueueNotifications),
		asynq.Timeout(timeout),
		asynq.MaxRetry(notificationRetries),
	), nil
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

// newAssembleTask makes the task to assemble a package. It is not tried again by itself: the relay of
// packages enqueues what still waits.
func newAssembleTask(assembly, id string) (*asynq.Task, error) {
	payload, err := json.Marshal(AssemblePayload{Assembly: assembly})
	if err != nil {
		return nil, fmt.Errorf("encode the payload of %s: %w", TypeAssemble, err)
	}
	return asynq.NewTask(TypeAssemble, payload,
		asynq.TaskID(id),
		asynq.Queue(QueuePackages),
		asynq.Timeout(assembleTimeout),
		asynq.MaxRetry(0),
	), nil
}

// RetryDelay is the pause before a task's next try: doubled each time, with
// jitter, so that what failed together is not tried together.
func RetryDelay(tried int, _ error, _ *asynq.Task) time.Duration {
	pause := min(time.Second<<min(tried, 10), maxRetryDelay)
	return pause/2 + rand.N(pause/2+1)
}
