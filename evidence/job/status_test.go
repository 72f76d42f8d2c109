package job_test

import (
	"testing"
	"time"

	"attestry/evidence/job"
)

var kind = job.Kind{
	Lease: 10 * time.Second, Attempts: 3, RetryFor: time.Minute,
	Backoff: job.Backoff{First: 4 * time.Second, Factor: 2, Longest: time.Minute},
}

func TestOneWorkerHasTheLease(t *testing.T) {
	var s job.Status
	if s.Claim(&kind, "a", 1) {
		t.Error("nothing is due, but it was begun")
	}
	s.Start(1)
	if !s.Claim(&kind, "a", 2) || s.Claim(&kind, "b", 11) || s.Due != 12 {
		t.Errorf("begun twice: %+v", s)
	}
	if s.Renew(&kind, "b", 11) || !s.Renew(&kind, "a", 11) || s.Due != 21 {
		t.Errorf("renewed: %+v", s)
	}
	if !s.Claim(&kind, "b", 21) || s.Renew(&kind, "a", 22) || s.Tried != 2 {
		t.Errorf("a worker that is silent keeps it: %+v", s)
	}
}

func TestALeaseOfAClockThatIsFarAheadIsFree(t *testing.T) {
	for name, row := range map[string]struct {
		until float64
		taken bool
	}{
		"it has just ended":         {100, false},
		"it runs":                   {100.5, true},
		"it has just begun":         {110, true},
		"the clocks differ a bit":   {120, true},
		"the clocks differ by more": {120.5, false},
		"by an hour":                {3710, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := job.Status{Due: row.until, Lease: job.Lease{Holder: "a", Until: row.until}}
			if s.Claim(&kind, "b", 100) == row.taken {
				t.Errorf("another worker has claimed it: %v", !row.taken)
			}
		})
	}
}

func TestWorkIsTriedAfterPausesAndThenParked(t *testing.T) {
	var s job.Status
	s.Start(1)
	for attempt, due := range []float64{104, 108} {
		if !s.Claim(&kind, "a", 100) || !s.Fail(&kind, 90, 100, 0, 0.5, "refused") || s.Due != due || s.Taken(kind.Lease.Seconds(), 100) {
			t.Errorf("attempt %d: %+v", attempt+1, s)
		}
		s.Due = 100
	}
	if !s.Claim(&kind, "a", 100) || s.Fail(&kind, 90, 100, 0, 0.5, "refused") || s.Parked != 100 || s.Due != 0 || s.Reason != "refused" {
		t.Errorf("not parked: %+v", s)
	}
	if s.Start(200); s.Parked != 0 || s.Tried != 0 || !s.Claim(&kind, "a", 200) {
		t.Errorf("not begun anew: %+v", s)
	}
}

func TestWorkIsParkedWhenItsTimeIsOver(t *testing.T) {
	var s job.Status
	s.Start(1)
	s.Claim(&kind, "a", 57)
	if s.Fail(&kind, 1, 58, 0, 0.5, "refused") || s.Parked != 58 {
		t.Errorf("not parked: %+v", s)
	}
}

func TestNextAttemptIsNotBeforeATime(t *testing.T) {
	var s job.Status
	s.Start(1)
	s.Claim(&kind, "a", 1)
	if !s.Fail(&kind, 1, 1, 1_000, 0.5, "busy") || s.Due != 1_000 {
		t.Errorf("due: %+v", s)
	}
}

func TestPostponedAttemptDoesNotCount(t *testing.T) {
	var s job.Status
	s.Start(1)
	s.Claim(&kind, "a", 1)
	if s.Postpone(5, "the database is away"); s.Tried != 0 || s.Due != 5 || s.Taken(kind.Lease.Seconds(), 2) {
		t.Errorf("postponed: %+v", s)
	}
	if s.Complete(); s != (job.Status{}) {
		t.Errorf("complete: %+v", s)
	}
}
