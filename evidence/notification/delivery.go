package notification

import (
	"fmt"
	"time"

	"attestry/evidence"
	"attestry/evidence/job"
)

// State is the state of a delivery.
type State string

// The states of deliveries. Pending deliveries have further attempts.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed"
)

const (
	// maxAttempts is how many of its last attempts a delivery stores.
	maxAttempts = 25
	// KeepFor is how long settled deliveries are stored, from when they were made.
	KeepFor = 30 * 24 * time.Hour
	// MaxRetryAfter bounds the Retry-After of receivers.
	MaxRetryAfter = 24 * time.Hour
	// MaxAnswer bounds the stored part of a response, in bytes.
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
	// CreatedAt, and Since, when it was last requested, are Unix seconds.
	CreatedAt float64 `json:"created_at"`
	Since     float64 `json:"since"`
	// Status is that of the job since the last request. The end of the lease identifies an attempt.
	job.Status
	Attempts []Attempt `json:"attempts,omitempty"`
	// Left are the e-mail addresses that are still to be notified, empty for all of the target.
	Left []string `json:"left,omitempty"`
	// Trace is the reference to the trace that it belongs to.
	Trace string `json:"trace,omitempty"`
}

// Attempt is one attempt to deliver. It has succeeded if Reason is "".
type Attempt struct {
	At       float64 `json:"at"`       // when it began, in Unix seconds
	Duration float64 `json:"duration"` // in seconds
	// Status is that of the HTTP response, or the code of the mail server; 0 if there was none.
	Status int `json:"status,omitempty"`
	// Answer is the beginning of the response.
	Answer string `json:"answer,omitempty"`
	// Reason is why it failed.
	Reason string `json:"reason,omitempty"`
	// RetryAfter is the Retry-After of the receiver, in seconds.
	RetryAfter float64 `json:"-"`
	// Left are the e-mail addresses that were temporarily refused while others were notified.
	Left []string `json:"-"`
}

// gone is the HTTP status of a receiver that wants no more notices. Mail servers do not use this code.
const gone = 410

// Gone reports whether the receiver wants no more notices.
func (a *Attempt) Gone() bool { return a.Status == gone && a.Reason != "" }

// NewDelivery makes the delivery of a notice to a target of an action, at a time in Unix seconds. Its id is derived
// from these, so repeated calls make one delivery. It is due after grace, in which the caller's task may begin it.
func NewDelivery(org string, action int64, target *Target, notice Notice, at float64, grace time.Duration) Delivery {
	return Delivery{
		ID:  fmt.Sprintf("%s.%d.%s", notice.ID, action, target.ID()),
		Org: org, Action: action, Target: target.ID(), Type: target.Type, Notice: notice,
		State: Pending, CreatedAt: at, Since: at, Status: job.Status{Due: after(at, grace)},
	}
}

// DeliveryRef is the job of a delivery of an organization that is due at a time in Unix seconds.
func DeliveryRef(org, id string, due float64) job.Ref {
	return job.Ref{Kind: &job.Send, Key: org + "/" + id, Payload: job.Payload{Org: org, Delivery: id}, Due: due}
}

// Begin begins an attempt at a time in Unix seconds. It is false if none is due or another process holds the lease.
func (d *Delivery) Begin(now float64) bool { return d.State == Pending && d.Claim(&job.Send, "", now) }

// End records the result of the attempt whose lease ends at until. jitter, in [0, 1), shifts the next attempt. If
// another attempt has taken over the lease, only a success changes the state.
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
	if attempt.Gone() {
		d.abandon()
		return
	}
	ended := attempt.At + attempt.Duration
	if !d.Fail(&job.Send, d.Since, ended, ended+attempt.RetryAfter, jitter, attempt.Reason) {
		d.State = Failed
	}
}

// GiveUp fails a delivery without a further attempt.
func (d *Delivery) GiveUp(now float64, reason string) {
	d.keep(Attempt{At: now, Reason: reason})
	d.abandon()
}

// abandon fails a delivery without parking it, as its owner and not the operator can remove the reason.
func (d *Delivery) abandon() {
	d.State = Failed
	d.Status = job.Status{Tried: d.Tried}
}

func (d *Delivery) keep(attempt Attempt) {
	d.Attempts = append(d.Attempts, attempt)
	d.Attempts = d.Attempts[max(0, len(d.Attempts)-maxAttempts):]
}

// Again requests a delivery once more, at a time in Unix seconds. It is not due before a running attempt's lease ends.
func (d *Delivery) Again(now float64, grace time.Duration) {
	until := d.Until
	d.State, d.Since = Pending, now
	d.Start(max(until, after(now, grace)))
	d.Until = until
}

// after adds a duration to a time in Unix seconds.
func after(at float64, span time.Duration) float64 { return evidence.RoundSeconds(at + span.Seconds()) }
