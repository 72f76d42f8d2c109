package recording_test

import (
	"errors"
	"testing"

	"attestry/app/apptest"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/storage/storagetest"
)

// approvalFixture has a flow with an artifact, and returns a pending approval of the artifact.
func approvalFixture(t *testing.T) (*apptest.Fixture, approval.Approval) {
	t.Helper()
	s := apptest.NewFixture(t)
	flow, _, err := s.PutFlow("org", "flow")
	s.Must(err)
	record := evidence.ArtifactRecord{ID: evidence.NewID(), Org: "org", Trail: "trail", Name: "api", Fingerprint: "f1", CreatedAt: 100}
	scope := recording.Scope{Org: "org", OrgName: "org", Flow: "flow", Trail: "trail", By: "me", At: 100}
	s.Must(s.Recorder.Report(t.Context(), scope, record, nil))
	return s, approval.Approval{
		ID: evidence.NewID(), Org: "org", Flow: flow, Record: record.ID, Trail: "trail", Target: "f1", State: approval.Pending, CreatedAt: 50,
	}
}

// wantApprovalEvents checks the events of approvals in the fixture's trail.
func wantApprovalEvents(t *testing.T, s *apptest.Fixture, flow string, numbers ...int) {
	t.Helper()
	events, err := s.TrailEvents.OfTrail(t.Context(), "org", evidence.TrailKey(flow, "trail"))
	s.Must(err)
	var got []int
	for i, event := range events {
		if data, ok := event.Data.(*evidence.ApprovalData); ok {
			got = append(got, data.Number)
			if i > 0 && event.Time <= events[i-1].Time {
				t.Errorf("event %d is not later than the previous one", i)
			}
		}
	}
	if len(got) != len(numbers) {
		t.Errorf("events of the approvals %v, want %v", got, numbers)
		return
	}
	for i := range got {
		if got[i] != numbers[i] {
			t.Errorf("events of the approvals %v, want %v", got, numbers)
		}
	}
}

func TestApprovalIsAnEventOfTheTrail(t *testing.T) {
	s, fresh := approvalFixture(t)
	for range 2 {
		s.Must(s.Recorder.Approve(t.Context(), fresh))
	}
	wantApprovalEvents(t, s, fresh.Flow, 1, 2)
}

func TestReconcilerAddsTheMissingEventOfAnApproval(t *testing.T) {
	s, fresh := approvalFixture(t)
	s.Restart(1, true) // the process dies once the approval is stored
	if err := s.Recorder.Approve(t.Context(), fresh); !errors.Is(err, storagetest.ErrKilled) {
		t.Fatalf("got %v", err)
	}
	s.Restart(0, false)
	wantApprovalEvents(t, s, fresh.Flow)
	for _, want := range []int{1, 0} {
		applied, err := s.Recorder.Reconcile(t.Context(), "org", 1000)
		if err != nil || applied != want {
			t.Errorf("applied %d, %v, want %d", applied, err, want)
		}
		wantApprovalEvents(t, s, fresh.Flow, 1)
	}
}
