package job

import "attestry/evidence"

// Status is the state of a job. It is embedded in the record of the job.
type Status struct {
	// Due is when a worker is to begin, or the end of its lease, in Unix seconds; 0 if there is nothing to do.
	Due float64 `json:"due,omitempty"`
	Lease
	// Tried is the number of attempts.
	Tried int `json:"tried,omitempty"`
	// Reason is why the last attempt failed.
	Reason string `json:"reason,omitempty"`
	// Parked is when the job was parked, in Unix seconds; 0 if it was not.
	Parked float64 `json:"parked,omitempty"`
}

// Lease is the lease of a worker on a job. It only avoids duplicate work: jobs are idempotent.
type Lease struct {
	Holder string  `json:"holder,omitempty"`
	Until  float64 `json:"until,omitempty"` // Unix seconds
}

// NewLease is a lease on a job of the kind that begins at a time in Unix seconds.
func (k *Kind) NewLease(holder string, now float64) Lease {
	return Lease{Holder: holder, Until: evidence.RoundSeconds(now + k.Lease.Seconds())}
}

// Taken reports whether somebody has the lease, for a span in seconds, at a time in Unix seconds. One for more than twice
// the span, by a clock that is ahead or was set back, is free: its holder may have ended.
func (l *Lease) Taken(span, now float64) bool { return l.Until > now && l.Until <= now+2*span }

// Start makes the job due at a time in Unix seconds, and resets its attempts.
func (s *Status) Start(due float64) { *s = Status{Due: evidence.RoundSeconds(due)} }

// Claim begins a worker's attempt at a time in Unix seconds. It is false if nothing is due or the lease is taken.
func (s *Status) Claim(kind *Kind, holder string, now float64) bool {
	if s.Due == 0 || s.Taken(kind.Lease.Seconds(), now) {
		return false
	}
	s.Tried++
	s.Lease = kind.NewLease(holder, now)
	s.Due = s.Until
	return true
}

// Renew renews the lease of a worker. It is false if another worker has it.
func (s *Status) Renew(kind *Kind, holder string, now float64) bool {
	if s.Holder != holder {
		return false
	}
	s.Lease = kind.NewLease(holder, now)
	s.Due = s.Until
	return true
}

// Exhausted reports whether the job has no attempts left.
func (s *Status) Exhausted(kind *Kind) bool { return kind.Attempts > 0 && s.Tried >= kind.Attempts }

// Fail ends an attempt that failed at a time in Unix seconds, of a job that began earlier. The next attempt is due
// after the kind's pause, shifted by a jitter in [0, 1), and not before notBefore. Fail returns false if there is none:
// then the job is parked.
func (s *Status) Fail(kind *Kind, began, at, notBefore, jitter float64, reason string) bool {
	next := at + kind.Pause(s.Tried, jitter).Seconds()
	if s.Exhausted(kind) || kind.RetryFor > 0 && next > began+kind.RetryFor.Seconds() {
		s.Park(at, reason)
		return false
	}
	s.Lease, s.Reason = Lease{}, reason
	s.Due = evidence.RoundSeconds(max(next, notBefore))
	return true
}

// Park parks the job at a time in Unix seconds.
func (s *Status) Park(at float64, reason string) {
	s.Due, s.Lease, s.Reason, s.Parked = 0, Lease{}, reason, at
}

// Postpone ends an attempt that does not count. The next one is due at a time in Unix seconds.
func (s *Status) Postpone(due float64, reason string) {
	s.Due, s.Lease, s.Tried, s.Reason = evidence.RoundSeconds(due), Lease{}, max(0, s.Tried-1), reason
}

// Complete ends the job.
func (s *Status) Complete() { *s = Status{} }

// Stage is the stage of a job.
type Stage string

// The stages. Failed jobs are tried again, parked jobs are not.
const (
	Waiting Stage = "waiting"
	Leased  Stage = "leased"
	Failed  Stage = "failed"
	Parked  Stage = "parked"
)

// Stage is the stage of the job, "" if there is none. A job stays Leased after its worker was killed.
func (s *Status) Stage() Stage {
	switch {
	case s.Parked > 0:
		return Parked
	case s.Until > 0:
		return Leased
	case s.Due == 0:
		return ""
	case s.Reason != "":
		return Failed
	}
	return Waiting
}

// Entry is a job as operators see it.
type Entry struct {
	Kind  *Kind
	Key   string
	Org   string // id
	Stage Stage
	// Since is when it became due or was parked, in Unix seconds.
	Since  float64
	Tried  int
	Reason string
}

// Entry describes the job of the status, of a kind and in an organization, by its id.
func (s *Status) Entry(kind *Kind, org, key string) Entry {
	return Entry{Kind: kind, Key: key, Org: org, Stage: s.Stage(), Since: max(s.Due, s.Parked), Tried: s.Tried, Reason: s.Reason}
}
