package notification

import (
	"time"

	"attestry/evidence"
	"attestry/evidence/job"
)

const (
	// SwitchOffAfter is how long a target may fail before it is switched off.
	SwitchOffAfter = 5 * 24 * time.Hour
	// RotationGrace is how long notices are also signed with the former secret of a target.
	RotationGrace = 24 * time.Hour
)

// maxFailureGap is the longest time between two failures of one failing period. It is longer than the retries of any
// delivery: in a longer gap the target may have worked.
var maxFailureGap = 2 * job.Send.RetryFor

// TargetState is the state of a target of an action.
type TargetState struct {
	Org    string `json:"org"`    // id
	Action int64  `json:"action"` // number
	Target string `json:"target"` // id
	// Secret signs notices, base64 after "whsec_"; so does FormerSecret until FormerUntil.
	Secret       string  `json:"secret"`
	FormerSecret string  `json:"former_secret,omitempty"`
	FormerUntil  float64 `json:"former_until,omitempty"`
	// LastSuccessAt and LastFailureAt are Unix seconds, 0 if there was none.
	LastSuccessAt float64 `json:"last_success_at,omitempty"`
	LastFailureAt float64 `json:"last_failure_at,omitempty"`
	// LastFailure is why the last failed attempt has failed.
	LastFailure string `json:"last_failure,omitempty"`
	// FailingSince is when it began to fail, in Unix seconds; 0 if it does not fail.
	FailingSince float64 `json:"failing_since,omitempty"`
	// SwitchedOffAt is when it was switched off, in Unix seconds; 0 if it is switched on.
	SwitchedOffAt float64 `json:"switched_off_at,omitempty"`
	// Gone is true if it was switched off because the receiver wants no more notices.
	Gone bool `json:"gone,omitempty"`
	// QuietUntil is the end of the receiver's Retry-After, in Unix seconds.
	QuietUntil float64 `json:"quiet_until,omitempty"`
}

// RecordAttempt records an attempt, and reports whether it has switched off the target.
func (s *TargetState) RecordAttempt(attempt *Attempt) (switchedOff bool) {
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
	if s.FailingSince == 0 || at-s.LastFailureAt > maxFailureGap.Seconds() {
		s.FailingSince = at
	}
	s.LastFailureAt, s.LastFailure = max(s.LastFailureAt, at), attempt.Reason
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

// SwitchOn switches a target on again.
func (s *TargetState) SwitchOn() {
	s.FailingSince, s.SwitchedOffAt, s.Gone, s.QuietUntil = 0, 0, false, 0
}

// SwitchedOffReason is why the target is switched off, "" if it is not.
func (s *TargetState) SwitchedOffReason() string {
	switch {
	case s.SwitchedOffAt == 0:
		return ""
	case s.Gone:
		return "The target is switched off, as its receiver answered that it is gone (410)."
	}
	return "The target is switched off, as it has failed for too long."
}

// Rotate replaces the signing secret at a time in Unix seconds.
func (s *TargetState) Rotate(secret string, now float64) {
	s.FormerSecret, s.FormerUntil = s.Secret, after(now, RotationGrace)
	s.Secret = secret
}

// Secrets are the signing secrets at a time in Unix seconds, the newest first.
func (s *TargetState) Secrets(now float64) []string {
	if s.FormerSecret != "" && now < s.FormerUntil {
		return []string{s.Secret, s.FormerSecret}
	}
	return []string{s.Secret}
}

// Health sums up the deliveries to the targets of an action.
type Health struct {
	// Attempted is true if a delivery to one of them was attempted.
	Attempted bool
	// Failing is true if one of them fails.
	Failing bool
	// LastSuccessAt and LastFailureAt are the latest of all targets, in Unix seconds, 0 if there was none.
	LastSuccessAt float64
	LastFailureAt float64
	// LastFailure is why the attempt at LastFailureAt has failed.
	LastFailure string
}

// Add adds the state of another target.
func (h *Health) Add(s *TargetState) {
	h.Attempted = h.Attempted || s.LastSuccessAt > 0 || s.LastFailureAt > 0
	h.Failing = h.Failing || s.FailingSince > 0
	h.LastSuccessAt = max(h.LastSuccessAt, s.LastSuccessAt)
	if s.LastFailureAt > h.LastFailureAt {
		h.LastFailureAt, h.LastFailure = s.LastFailureAt, s.LastFailure
	}
}
