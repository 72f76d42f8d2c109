// Package job has the common rules of durable jobs: the table of their kinds, with queues and retries, and Status, the
// state of one job.
package job

import (
	"runtime"
	"strconv"
	"time"

	"attestry/evidence"
)

// The queues. The settings of a worker say which ones it serves.
const (
	QueueReports       = "reports"
	QueueCompliance    = "compliance"
	QueueNotifications = "notifications"
	QueuePackages      = "packages"
	QueueLog           = "log"
)

// EnqueueAgain is how long after an enqueue a due job is enqueued again. Until then its task may wait in the queue or
// be running; after it, Redis may have lost the task.
const EnqueueAgain = 10 * time.Second

// Kind is a kind of jobs.
type Kind struct {
	// Name is that of the tasks of the kind.
	Name  string
	Queue string
	// Timeout bounds one task. Retries is how often the queue repeats it: few, as the relay enqueues it again.
	Timeout time.Duration
	Retries int
	// Lease is how long a worker's lease lasts if it is not renewed; 0 for jobs without one.
	Lease time.Duration
	// Attempts bounds the attempts, and RetryFor the time of retries; 0 for no limit.
	Attempts int
	RetryFor time.Duration
	Backoff
}

// Backoff determines the pauses between attempts.
type Backoff struct {
	// First is the mean pause after the first attempt; each further one is Factor times as long, up to Longest.
	First, Longest time.Duration
	Factor         int
}

// The kinds of work.
var (
	// Report processes the waiting reports of an environment, in the order of arrival.
	Report = Kind{
		Name: "environment:report", Queue: QueueReports, Timeout: 2 * time.Minute, Retries: 5,
		Lease: 10 * time.Second, Attempts: 5, Backoff: Backoff{First: time.Second, Factor: 2, Longest: 30 * time.Second},
	}
	// Evaluate is Report for another evaluation without a report. It has its own queue, so that it does not delay reports.
	Evaluate = Report.as("environment:evaluate", QueueCompliance)
	// Fanout makes the deliveries of an event to an action's targets. It needs no lease: a repeat stores no other ones.
	Fanout = Kind{
		Name: "event:fanout", Queue: QueueNotifications, Timeout: 2 * time.Minute, Retries: 2,
		RetryFor: 24 * time.Hour, Backoff: Backoff{First: time.Second, Factor: 2, Longest: 30 * time.Second},
	}
	// Send attempts a delivery. The lease is not renewed, so it is longer than any attempt.
	Send = Kind{
		Name: "delivery:send", Queue: QueueNotifications, Timeout: 25 * time.Second, Retries: 2,
		Lease: 30 * time.Second, RetryFor: 24 * time.Hour, Backoff: Backoff{First: 5 * time.Second, Factor: 3, Longest: 6 * time.Hour},
	}
	// Assemble assembles an audit package of up to many GiB. A client waits for it, so there are no pauses.
	Assemble = Kind{
		Name: "package:assemble", Queue: QueuePackages, Timeout: time.Hour,
		Lease: 15 * time.Second, Attempts: 5,
	}
	// Sequence gives an organization's new facts their indexes in the log, and signs a checkpoint. It needs no lease:
	// concurrent workers have one result.
	Sequence = Kind{Name: "log:sequence", Queue: QueueLog, Timeout: 2 * time.Minute}
	// Cosign requests cosignatures of a log's last checkpoint from its witnesses. It is in the queue of notifications, as
	// it waits for remote services and would block that of the logs. The pauses are per witness.
	Cosign = Kind{
		Name: "log:cosign", Queue: QueueNotifications, Timeout: 25 * time.Second,
		Backoff: Backoff{First: time.Second, Factor: 2, Longest: 5 * time.Minute},
	}
)

// Kinds are all kinds of jobs.
var Kinds = []*Kind{&Report, &Evaluate, &Fanout, &Send, &Assemble, &Sequence, &Cosign}

// Concurrency is how many tasks of a queue a worker runs at once. Other queues share the number of the settings.
var Concurrency = map[string]int{
	// Tasks wait for receivers, and a slow receiver must not delay others.
	QueueNotifications: 1000,
	// Packages are compressed, which must leave CPUs for other tasks.
	QueuePackages: max(1, runtime.GOMAXPROCS(0)/2),
	// Each task works on the log of one organization.
	QueueLog: 4,
}

// Named returns the kind of a name, nil if there is none.
func Named(name string) *Kind {
	kind, _ := evidence.First(Kinds, func(k *Kind) bool { return k.Name == name })
	return kind
}

func (k Kind) as(name, queue string) Kind {
	k.Name, k.Queue = name, queue
	return k
}

// RenewEvery is how often a worker renews its lease.
func (k *Kind) RenewEvery() time.Duration { return k.Lease / 4 }

// Pause is the pause after a number of failed attempts: 3/4 to 5/4 of the mean, by a jitter in [0, 1), so that jobs
// that failed together are not retried together.
func (b *Backoff) Pause(failed int, jitter float64) time.Duration {
	pause := b.First
	for range failed - 1 {
		pause = min(pause*time.Duration(b.Factor), b.Longest)
	}
	return time.Duration(float64(pause) * (0.75 + jitter/2))
}

// Ref identifies a due job.
type Ref struct {
	Kind *Kind
	// Key is unique among the jobs of the kind.
	Key     string
	Payload Payload
	// Due is when it became due, in Unix seconds.
	Due float64
}

// Payload is the payload of a task. It identifies the record of the job, by the members that its kind uses.
type Payload struct {
	Environment string `json:"environment,omitempty"` // id
	Event       string `json:"event,omitempty"`       // id
	Action      int64  `json:"action,omitempty"`      // number
	Org         string `json:"org,omitempty"`         // id
	Delivery    string `json:"delivery,omitempty"`    // id
	Assembly    string `json:"assembly,omitempty"`    // id
	// Trace is the reference to the trace that the job belongs to (see package trace).
	Trace string `json:"trace,omitempty"`
}

// EnvironmentRef returns the job of a kind for the waiting record with an arrival number in an environment, by its id.
func EnvironmentRef(kind *Kind, environment string, arrival int64) Ref {
	return Ref{
		Kind: kind, Key: environment + "/" + strconv.FormatInt(arrival, 10), Payload: Payload{Environment: environment},
	}
}
