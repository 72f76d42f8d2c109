package notification

import (
	"time"

	"attestry/evidence"
	"attestry/evidence/job"
)

const (
	// SwitchOffAfter is how long a target may fail before nothing is sent to it any more.
	SwitchOffAfter = 5 * 24 * time.Hour
	// RotationGrace is how long the former signing secret of a target signs beside the new one.
	RotationGrace = 24 * time.Hour
)

// quietSpan is how long after its last failure a target no longer counts as failing since then:
// longer than any delivery is tried, so that nobody knows whether it has failed meanwhile.
var quietSpan = 2 * job.Send.RetryFor

// TargetState is what is known of a target of an action.
type TargetState struct {
	Org    string `json:"org"`    // id
	Action int64  `json:"action"` // number
	Target string `json:"target"` // id
	// Secret signs what is sent, base64 behind "whsec_"; so does FormerSecret until FormerUntil.
	Secret       string  `json:"secret"`
	FormerSecret string  `json:"former_secret,omitempty"`
	FormerUntil  float64 `json:"former_until,omitempty"`
	// LastSuccessAt and LastFailureAt are Unix seconds, 0 if there was none.
	LastSuccessAt float64 `json:"last_success_at,omitempty"`
	LastFailureAt float64 `json:"last_failure_at,omitempty"`
	// FailingSince is when it began to fail, in Unix seconds; 0 while it does not.
	FailingSince float64 `json:"failing_since,omitempty"`
	// SwitchedOffAt is when it was switched off, in Unix seconds; 0 while it is switched on.
	SwitchedOffAt float64 `json:"switched_off_at,omitempty"`
	// Gone tells that it was switched off because the receiver wants no more.
	Gone bool `json:"gone,omitempty"`
	// QuietUntil is until when the receiver asked not to be called, in Unix seconds.
	QuietUntil float64 `json:"quiet_until,omitempty"`
}

// Note notes an attempt, and reports whether the target has been switched off because of it.
func (s *TargetState) Note(attempt *Attempt) (switchedOff bool) {
	at := evidence.RoundSeconds(attempt.At + attempt.Duration)
	if attempt.Reason == "" || len(attempt.Left) > 0 {
		s.LastSuccessAt = max(s.LastSuccessAt, at)
		s.FailingSince = 0
		if !s.Gone {
			s.SwitchedOffAt = 0
		}
		return false
	}
	s.QuietUntil = max(s.QuietUntil, evidence.RoundSeconds(at+attempt.RetryAfter))
	if s.FailingSince == 0 || at-s.LastFailureAt > quietSpan.Seconds() {
		s.FailingSince = at
	}
	s.LastFailureAt = max(s.LastFailureAt, at)
	if attempt.Gone() && !s.Gone {
		s.SwitchedOffAt, s.Gone = at, true
		return true
	}
	if s.SwitchedOffAt == 0 && at-s.FailingSince >= SwitchOffAfter.Seconds() {
		s.SwitchedOffAt = at
		return true
	}
	return false
}

// SwitchOn lets deliveries go to a target again that was switched off.
func (s *TargetState) SwitchOn() {
	s.FailingSince, s.SwitchedOffAt, s.Gone, s.QuietUntil = 0, 0, false, 0
}

// SwitchedOffReason says why the target is switched off, "" if it is not.
func (s *TargetState) SwitchedOffReason() string {
	switch {
	case s.SwitchedOffAt == 0:
		return ""
	case s.Gone:
		return "The target is switched off, as its receiver answered that it is gone (410)."
	}
	return "The target is switched off, as it has failed for too long."
}

// Rotate gives the target another signing secret, at a time in Unix seconds.
func (s *TargetState) Rotate(secret string, now float64) {
	s.FormerSecret, s.FormerUntil = s.Secret, after(now, RotationGrace)
	s.Secret = secret
}

// Secrets are those that sign at a time in Unix seconds, the newest first.
func (s *TargetState) Secrets(now float64) []string {
	if s.FormerSecret != "" && now < s.FormerUntil {
		return []string{s.Secret, s.FormerSecret}
	}
	return []string{s.Secret}
}

// Health sums up the deliveries to the targets of an action.
type Health struct {
	// Told is set when a delivery to one of them was tried, even without success.
	Told bool
	// Failing tells that one of them fails.
	Failing bool
	// LastSuccessAt and LastFailureAt are the latest of all, in Unix seconds, 0 if there was none.
	LastSuccessAt float64
	LastFailureAt float64
}

// Add takes the state of another target in.
func (h *Health) Add(s *TargetState) {
	h.Told = h.Told || s.LastSuccessAt > 0 || s.LastFailureAt > 0
	h.Failing = h.Failing || s.FailingSince > 0
	h.LastSuccessAt = max(h.LastSuccessAt, s.LastSuccessAt)
	h.LastFailureAt = max(h.LastFailureAt, s.LastFailureAt)
}
