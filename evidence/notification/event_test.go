package notification_test

import (
	"testing"

	"attestry/evidence/job"
	"attestry/evidence/notification"
)

func TestJobOfAnEventSaysSinceWhenItIsDueOrParked(t *testing.T) {
	event := notification.SnapshotEvent("org", "prod", 7, 1000)
	want := func(stage job.Stage, since float64) {
		t.Helper()
		if got := event.Job(); got.Stage != stage || got.Since != since || got.Key != "prod/snapshot/7" || got.Org != "org" {
			t.Errorf("got %+v, want %s since %v", got, stage, since)
		}
	}
	want(job.Waiting, 1000)
	at := 1010.0
	for event.FailAttempt(at, 0, "no answer") {
		if event.DueAt() <= at {
			t.Fatalf("failed at %v and due at %v", at, event.DueAt())
		}
		want(job.Failed, event.DueAt())
		at = event.DueAt()
	}
	want(job.Parked, at)
}
