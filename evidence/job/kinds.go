// Package job is what all durable work has in common: the table of its kinds, which says how each is
// queued and how long it is tried again, and Status, which says how far one piece of work is.
package job

import (
	"runtime"
	"strconv"
	"time"
)

// The queues. The settings of a worker say which ones it serves.
const (
	QueueReports       = "reports"
	QueueCompliance    = "compliance"
	QueueNotifications = "notifications"
	QueuePackages      = "packages"
	QueueLog           = "log"
)

// EnqueueAgain is how long work is left alone that was enqueued: its task may wait, a worker may have it,
// or Redis may have forgotten it. Then another task is enqueued.
const EnqueueAgain = 10 * time.Second

// Kind is what all work of a kind has in common.
type Kind struct {
	// Name is that of the tasks of the kind.
	Name  string
	Queue string
	// Timeout bounds one task. Retries is how often the queue repeats it: few, as the relay enqueues it again.
	Timeout time.Duration
	Retries int
	// Lease is how long a worker may be silent before another one may take the work over; 0 for work that needs none.
	Lease time.Duration
	// Attempts is how often the work is begun, and RetryFor how long it is tried; 0 for no limit.
	Attempts int
	RetryFor time.Duration
	Backoff
}

// Backoff is how the pauses between attempts grow.
type Backoff struct {
	// First is the mean pause after the first attempt; each further one is Factor times as long, up to Longest.
	First, Longest time.Duration
	Factor         int
}

// The kinds of work.
var (
	// Report processes what waits in an environment, in the order of arrival.
	Report = Kind{
		Name: "environment:report", Queue: QueueReports, Timeout: 2 * time.Minute, Retries: 5,
		Lease: 10 * time.Second, Attempts: 5, Backoff: Backoff{First: time.Second, Factor: 2, Longest: 30 * time.Second},
	}
	// Evaluate is the same without a report. Its own queue keeps large evaluations from delaying reports.
	Evaluate = Report.as("environment:evaluate", QueueCompliance)
	// Fanout makes the deliveries of an event to an action's targets. It needs no lease: they are stored once.
	Fanout = Kind{
		Name: "event:fanout", Queue: QueueNotifications, Timeout: 2 * time.Minute, Retries: 2,
		RetryFor: 24 * time.Hour, Backoff: Backoff{First: time.Second, Factor: 2, Longest: 30 * time.Second},
	}
	// Send tries a delivery. The lease is longer than any attempt takes, as it is not renewed.
	Send = Kind{
		Name: "delivery:send", Queue: QueueNotifications, Timeout: 25 * time.Second, Retries: 2,
		Lease: 30 * time.Second, RetryFor: 24 * time.Hour, Backoff: Backoff{First: 5 * time.Second, Factor: 3, Longest: 6 * time.Hour},
	}
	// Assemble assembles an audit package of up to many GiB. Somebody waits for it, so it does not pause.
	Assemble = Kind{
		Name: "package:assemble", Queue: QueuePackages, Timeout: time.Hour,
		Lease: 15 * time.Second, Attempts: 5,
	}
	// Sequence gives what is to be logged in an organization its places in the log, and signs a checkpoint. It takes no
	// lease: whatever two workers do at the same time has one outcome.
	Sequence = Kind{Name: "log:sequence", Queue: QueueLog, Timeout: 2 * time.Minute}
	// Cosign asks the witnesses of a log for cosignatures of its last checkpoint. It waits for them as notifications wait
	// for receivers, and is in their queue, as it would keep others waiting in that of the logs. The pauses are those of
	// each witness.
	Cosign = Kind{
		Name: "log:cosign", Queue: QueueNotifications, Timeout: 25 * time.Second,
		Backoff: Backoff{First: time.Second, Factor: 2, Longest: 5 * time.Minute},
	}
)

// Kinds are all kinds of work.
var Kinds = []*Kind{&Report, &Evaluate, &Fanout, &Send, &Assemble, &Sequence, &Cosign}

// concurrency is how many tasks of a queue a worker runs at once. Other queues share the number of the settings.
var concurrency = map[string]int{
	// They wait for receivers, and one that does not answer must not keep others waiting.
	QueueNotifications: 1000,
	// Compressing packages keeps processors busy, of which other tasks need some.
	QueuePackages: max(1, runtime.GOMAXPROCS(0)/2),
	// Each task works on the log of one organization.
	QueueLog: 4,
}

// Concurrency is how many tasks of a queue a worker runs at once, 0 if the settings say so.
func Concurrency(queue string) int { return concurrency[queue] }

// Named returns the kind of a name, nil if there is none.
func Named(name string) *Kind {
	for _, kind := range Kinds {
		if kind.Name == name {
			return kind
		}
	}
	return nil
}

func (k Kind) as(name, queue string) Kind {
	k.Name, k.Queue = name, queue
	return k
}

// RenewEvery is how often a worker renews its lease.
func (k *Kind) RenewEvery() time.Duration { return k.Lease / 4 }

// Pause is how long nothing is tried after so many attempts have failed: 3/4 to 5/4 of the mean, by a jitter
// in [0, 1), so that what failed together is not tried together.
func (b *Backoff) Pause(failed int, jitter float64) time.Duration {
	pause := b.First
	for range failed - 1 {
		pause = min(pause*time.Duration(b.Factor), b.Longest)
	}
	return time.Duration(float64(pause) * (0.75 + jitter/2))
}

// Ref names a piece of work that is due.
type Ref struct {
	Kind *Kind
	// Key tells it from others of its kind.
	Key     string
	Payload Payload
	// Due is since when it is due, in Unix seconds.
	Due float64
}

// Payload is what a task holds. It names the record that the work belongs to, by the members of its kind.
type Payload struct {
	Environment string `json:"environment,omitempty"` // id
	Event       string `json:"event,omitempty"`       // id
	Action      int64  `json:"action,omitempty"`      // number
	Org         string `json:"org,omitempty"`         // id
	Delivery    string `json:"delivery,omitempty"`    // id
	Assembly    string `json:"assembly,omitempty"`    // id
	// Trace is the reference to the trace that the work belongs to (see package trace).
	Trace string `json:"trace,omitempty"`
}

// EnvironmentRef names the work of a kind that waits in an environment, by its id, since a record of an arrival number.
func EnvironmentRef(kind *Kind, environment string, arrival int64) Ref {
	return Ref{
		Kind: kind, Key: environment + "/" + strconv.FormatInt(arrival, 10), Payload: Payload{Environment: environment},
	}
}
