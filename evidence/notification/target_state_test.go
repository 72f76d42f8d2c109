package notification_test

import (
	"slices"
	"testing"
	"time"

	"attestry/evidence/notification"
)

const fiveDays = 5 * 24 * 3600

func failure(at float64) *notification.Attempt {
	return &notification.Attempt{At: at - 1, Duration: 1, Reason: "refused"}
}

func success(at float64) *notification.Attempt {
	return &notification.Attempt{At: at - 1, Duration: 1}
}

func TestATargetIsSwitchedOffAfterFiveDaysOfFailures(t *testing.T) {
	s := &notification.TargetState{}
	for at := 1000.0; at < 1000+fiveDays; at += 3600 {
		if s.RecordAttempt(failure(at)) {
			t.Fatalf("switched off after %v s", at-1000)
		}
	}
	if !s.RecordAttempt(failure(1000+fiveDays)) || s.SwitchedOffAt != 1000+fiveDays || s.FailingSince != 1000 {
		t.Errorf("not switched off: %+v", s)
	}
	if s.RecordAttempt(failure(2000 + fiveDays)) {
		t.Error("switched off twice")
	}
}

func TestASuccessEndsTheFailures(t *testing.T) {
	s := &notification.TargetState{}
	s.RecordAttempt(failure(1000))
	s.RecordAttempt(success(1000 + fiveDays - 1))
	if s.FailingSince != 0 || s.LastSuccessAt != 1000+fiveDays-1 || s.LastFailureAt != 1000 {
		t.Errorf("after a success: %+v", s)
	}
	if s.RecordAttempt(failure(1000 + fiveDays)) {
		t.Error("failures before a success count")
	}
	off := &notification.TargetState{FailingSince: 1, SwitchedOffAt: 2}
	off.RecordAttempt(success(3)) // by a test message
	if off.SwitchedOffAt != 0 {
		t.Error("a success does not switch on")
	}
}

func TestSwitchingOnBeginsAnew(t *testing.T) {
	s := &notification.TargetState{FailingSince: 1, SwitchedOffAt: 1 + fiveDays}
	s.SwitchOn()
	if s.RecordAttempt(failure(2+fiveDays)) || s.FailingSince != 2+fiveDays {
		t.Errorf("after a failure: %+v", s)
	}
}

func TestTheFormerSecretSignsForADay(t *testing.T) {
	s := &notification.TargetState{Secret: "a"}
	s.Rotate("b", 1000)
	day := (24 * time.Hour).Seconds()
	for at, want := range map[float64][]string{1000: {"b", "a"}, 1000 + day - 1: {"b", "a"}, 1000 + day: {"b"}} {
		if got := s.Secrets(at); !slices.Equal(got, want) {
			t.Errorf("at %v: %v", at, got)
		}
	}
	s.Rotate("c", 1001)
	if got := s.Secrets(1002); !slices.Equal(got, []string{"c", "b"}) {
		t.Errorf("after two rotations: %v", got)
	}
}

func TestHealthIsThatOfAllTargets(t *testing.T) {
	var health notification.Health
	health.Add(&notification.TargetState{Secret: "s"})
	if health.Attempted || health.Failing {
		t.Errorf("before anything was sent: %+v", health)
	}
	health.Add(&notification.TargetState{LastSuccessAt: 5, LastFailureAt: 4})
	health.Add(&notification.TargetState{LastSuccessAt: 2, LastFailureAt: 7, FailingSince: 6})
	if health != (notification.Health{Attempted: true, Failing: true, LastSuccessAt: 5, LastFailureAt: 7}) {
		t.Errorf("got %+v", health)
	}
}
