package notification

import (
	"fmt"
	"time"

	"attestry/evidence"
	"attestry/evidence/job"
)

// State is how far a delivery is.
type State string

// The states of deliveries. Pending ones are tried, or tried again.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed"
)

const (
	// maxAttempts is how many attempts a delivery keeps: the last ones.
	maxAttempts = 25
	// KeepFor is how long deliveries are kept once they are delivered or failed.
	KeepFor = 30 * 24 * time.Hour
	// MaxRetryAfter bounds for how long a receiver may ask not to be called again.
	MaxRetryAfter = 24 * time.Hour
	// MaxAnswer is how much of an answer an attempt keeps, in bytes.
	MaxAnswer = 1024
)

// Delivery is a notice on its way to a target.
type Delivery struct {
	ID     string     `json:"id"`
	Org    string     `json:"org"`    // id
	Action int64      `json:"action"` // number
	Target string     `json:"target"` // id
	Type   TargetType `json:"type"`
	Notice Notice     `json:"notice"`
	State  State      `json:"state"`
	// CreatedAt, and Since, when it was requested last, are Unix seconds.
	CreatedAt float64 `json:"created_at"`
	Since     float64 `json:"since"`
	// Status is how far it is since it was requested last. The end of the lease tells an attempt from others.
	job.Status
	Attempts []Attempt `json:"attempts,omitempty"`
	// Left are the e-mail addresses that are still to be notified, empty for all of the target.
	Left []string `json:"left,omitempty"`
	// Trace is the reference to the trace that it belongs to.
	Trace string `json:"trace,omitempty"`
}

// Attempt is one try to deliver. It has succeeded if Reason is "".
type Attempt struct {
	At       float64 `json:"at"`       // when it began, in Unix seconds
	Duration float64 `json:"duration"` // in seconds
	// Status is that of the HTTP answer, or the code of the mail server; 0 if there was none.
	Status int `json:"status,omitempty"`
	// Answer is the beginning of the answer.
	Answer string `json:"answer,omitempty"`
	// Reason says why it failed.
	Reason string `json:"reason,omitempty"`
	// RetryAfter is how long the receiver asked not to be called again, in seconds.
	RetryAfter float64 `json:"-"`
	// Left are the e-mail addresses that were refused for now, if others were notified.
	Left []string `json:"-"`
}

// gone is the status of a receiver that wants no more. No mail server has a code like it.
const gone = 410

// Gone reports whether the receiver wants no more.
func (a *Attempt) Gone() bool { return a.Status == gone && a.Reason != "" }

// NewDelivery makes the delivery of a notice to a target of an action, at a time in Unix seconds. Its id follows
// from these, so that it can be stored twice. The first attempt is expected within grace; then others look after it.
func NewDelivery(org string, action int64, target *Target, notice Notice, at float64, grace time.Duration) Delivery {
	return Delivery{
		ID:  fmt.Sprintf("%s.%d.%s", notice.ID, action, target.ID()),
		Org: org, Action: action, Target: target.ID(), Type: target.Type, Notice: notice,
		State: Pending, CreatedAt: at, Since: at, Status: job.Status{Due: after(at, grace)},
	}
}

// DeliveryRef names a delivery of an organization that is due since a time in Unix seconds.
func DeliveryRef(org, id string, due float64) job.Ref {
	return job.Ref{Kind: &job.Send, Key: org + "/" + id, Payload: job.Payload{Org: org, Delivery: id}, Due: due}
}

// Begin begins an attempt at a time in Unix seconds. It is false if none is due or another process is at it.
func (d *Delivery) Begin(now float64) bool { return d.State == Pending && d.Claim(&job.Send, "", now) }

// End notes what came of the attempt that Begin gave until a time. jitter, in [0, 1), shifts the
// next one. An attempt that has taken longer decides nothing any more, unless it has succeeded.
func (d *Delivery) End(until float64, attempt Attempt, jitter float64) {
	d.keep(attempt)
	if attempt.Reason == "" {
		d.State, d.Left = Delivered, nil
		d.Complete()
		return
	}
	if len(attempt.Left) > 0 {
		d.Left = attempt.Left
	}
	if d.State != Pending || d.Until != until {
		return
	}
	ended := attempt.At + attempt.Duration
	again := d.Fail(&job.Send, d.Since, ended, ended+attempt.RetryAfter, jitter, attempt.Reason)
	if !again || attempt.Gone() {
		d.State = Failed
		d.Park(ended, attempt.Reason)
	}
}

// GiveUp ends a delivery that will not be tried any more.
func (d *Delivery) GiveUp(now float64, reason string) {
	d.State = Failed
	d.Park(now, reason)
	d.keep(Attempt{At: now, Reason: reason})
}

func (d *Delivery) keep(attempt Attempt) {
	d.Attempts = append(d.Attempts, attempt)
	d.Attempts = d.Attempts[max(0, len(d.Attempts)-maxAttempts):]
}

// Again asks for a delivery once more, at a time in Unix seconds. It comes after an attempt that is under way.
func (d *Delivery) Again(now float64, grace time.Duration) {
	until := d.Until
	d.State, d.Since = Pending, now
	d.Start(max(until, after(now, grace)))
	d.Until = until
}

// after is a time in Unix seconds.
func after(at float64, span time.Duration) float64 { return evidence.RoundSeconds(at + span.Seconds()) }
