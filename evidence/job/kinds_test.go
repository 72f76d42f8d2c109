package job_test

import (
	"testing"
	"time"

	"attestry/evidence/job"
)

func TestPausesGrowUpToTheLongest(t *testing.T) {
	b := job.Backoff{First: 4 * time.Second, Factor: 3, Longest: time.Minute}
	for failed, want := range map[int]time.Duration{1: 4 * time.Second, 2: 12 * time.Second, 3: 36 * time.Second, 4: time.Minute, 1_000: time.Minute} {
		if got := b.Pause(failed, 0.5); got != want {
			t.Errorf("after %d attempts: %v, want %v", failed, got, want)
		}
	}
	if least, most := b.Pause(1, 0), b.Pause(1, 1); least != 3*time.Second || most != 5*time.Second {
		t.Errorf("pauses are between %v and %v", least, most)
	}
}

func TestKindsAreFoundByName(t *testing.T) {
	for _, kind := range job.Kinds {
		if job.Named(kind.Name) != kind {
			t.Errorf("%s is not found", kind.Name)
		}
		if kind.Queue == "" || kind.Timeout <= 0 || kind.Retries > 0 && kind.First <= 0 {
			t.Errorf("%s lacks something: %+v", kind.Name, kind)
		}
	}
	if job.Named("none") != nil {
		t.Error("a kind that is none is found")
	}
}
