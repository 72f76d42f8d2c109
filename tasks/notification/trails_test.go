package notification_test

import (
	"slices"
	"testing"

	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/notification"
)

// reportArtifact reports an artifact to a trail.
func (s *scene) reportArtifact(trail, name string) {
	s.t.Helper()
	scope := s.scope(trail)
	s.must(s.store.Recorder.Report(s.t.Context(), scope, evidence.ArtifactRecord{
		ID: evidence.NewID(), Org: acme.OrgID, Trail: trail, Name: name, Filename: name, Fingerprint: fingerprint(name),
		CommitSHA: "0123456789012345678901234567890123456789", CommitURL: "https://git.example.com/c", BuildURL: "https://ci.example.com/1",
		CreatedAt: scope.At,
	}, nil))
}

func (s *scene) attest(trail string, targets ...string) error {
	s.t.Helper()
	scope := s.scope(trail)
	return s.store.Recorder.Attest(s.t.Context(), scope, evidence.Attestation{
		ID: evidence.NewID(), Org: acme.OrgID, Trail: trail, Name: "unit-test", Type: evidence.TypeGeneric, Compliant: true,
		Targets: targets, CreatedAt: scope.At,
	}, nil)
}

var allFlowTriggers = []notification.Trigger{
	notification.StartedTrail, notification.AttestedProvenance, notification.ReportedAttest, notification.Approval, notification.Release,
}

func TestTrailEventsAreDelivered(t *testing.T) {
	s := newScene(t)
	flow := s.flow()
	s.must(s.attest("before")) // before the actions exist
	for _, trigger := range allFlowTriggers {
		s.action(notification.OfFlows, flow, []notification.Trigger{trigger}, webhook("a"))
	}
	s.wantNotices()
	_, err := s.store.Recorder.Begin(t.Context(), s.scope("1"), flow, evidence.TrailChange{}, nil)
	s.must(err)
	s.wantNotices("TRAIL_STARTED backend WEBHOOK")
	_, err = s.store.Recorder.Begin(t.Context(), s.scope("1"), flow, evidence.TrailChange{Description: new("other")}, nil)
	s.must(err)
	s.wantNotices() // the trail was changed, not started
	s.reportArtifact("1", "web")
	s.wantNotices("ARTIFACT_REPORTED web WEBHOOK")
	s.must(s.attest("1"))
	s.wantNotices("ATTESTATION_REPORTED backend WEBHOOK")
	s.must(s.attest("1", "web", "db", "cache"))
	s.wantNotices("ATTESTATION_REPORTED backend WEBHOOK")
	s.must(s.attest("2")) // starts the trail
	s.wantNotices("ATTESTATION_REPORTED backend WEBHOOK", "TRAIL_STARTED backend WEBHOOK")
	s.must(s.store.Recorder.Approve(t.Context(), approval.Approval{
		ID: evidence.NewID(), Org: acme.OrgID, Flow: flow, Trail: "1", Target: fingerprint("web"), ArtifactName: "web",
		CreatedAt: evidence.Seconds(s.clock.Now()),
	}))
	s.wantNotices("APPROVAL_REPORTED web WEBHOOK")
}

func TestAttestationNoticesHaveTheFindingAndTheArtifact(t *testing.T) {
	s := newScene(t)
	flow := s.flow()
	s.reportArtifact("1", "web")
	action := s.action(notification.OfFlows, flow, []notification.Trigger{notification.ReportedAttest}, webhook("a"))
	scope := s.scope("1")
	s.must(s.store.Recorder.Attest(t.Context(), scope, evidence.Attestation{
		ID: evidence.NewID(), Org: acme.OrgID, Trail: "1", Name: "unit-test", Type: evidence.TypeJUnit, Finding: "2 of 3 tests failed: rounding",
		Fingerprint: fingerprint("web"), CreatedAt: scope.At,
	}, nil))
	s.wantNotices("ATTESTATION_REPORTED web WEBHOOK")
	if notice := s.deliveries(action)[0].Notice; !slices.Equal(notice.Details, []string{"2 of 3 tests failed: rounding"}) || notice.Artifact.Provenance.Flow != "backend" {
		t.Errorf("notice %+v", notice)
	}
	s.must(s.attest("1"))
	s.wantNotices("ATTESTATION_REPORTED backend WEBHOOK")
	if notice := s.deliveries(action)[0].Notice; len(notice.Details) != 0 || notice.Artifact != nil {
		t.Errorf("without a finding and an artifact: notice %+v", notice)
	}
}

func TestFlowsWithoutActionsFireNothing(t *testing.T) {
	s := newScene(t)
	s.flow()
	s.action(notification.OfFlows, "another flow", allFlowTriggers, webhook("a"))
	s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.StartedArtifact}, webhook("a"))
	s.must(s.attest("1"))
	s.wantNotices()
}

func TestChangedActionIsOnlyToldWhatItStillFiresOn(t *testing.T) {
	other := evidence.NewID()
	for name, c := range map[string]struct {
		change func(*notification.Action)
		want   []string
	}{
		"with another flow":    {func(a *notification.Action) { a.Subjects = []string{other} }, nil},
		"with another trigger": {func(a *notification.Action) { a.Triggers = []notification.Trigger{notification.Approval} }, nil},
		"with another target":  {func(a *notification.Action) { a.Targets = []notification.Target{chat("b")} }, []string{"TRAIL_STARTED backend SLACK"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			flow := s.flow()
			number := s.action(notification.OfFlows, flow, []notification.Trigger{notification.StartedTrail}, webhook("a"))
			_, err := s.store.Recorder.Begin(t.Context(), s.scope("1"), flow, evidence.TrailChange{}, nil)
			s.must(err)
			_, err = s.store.Actions.Change(t.Context(), acme, func(all *notification.Actions) error {
				action, _ := all.Find(number)
				c.change(&action)
				_, _, err := all.Put(action)
				return err
			})
			s.must(err)
			s.wantNotices(c.want...)
		})
	}
}

func TestEventsOfEarlierVersionsAreTold(t *testing.T) {
	s := newScene(t)
	flow := s.flow()
	s.action(notification.OfFlows, flow, []notification.Trigger{notification.StartedTrail}, webhook("a"))
	_, err := s.store.Recorder.Begin(t.Context(), s.scope("1"), flow, evidence.TrailChange{}, nil)
	s.must(err)
	due, _, err := s.store.Outbox.Due(t.Context(), evidence.Seconds(s.clock.Now()), "")
	s.must(err)
	for _, ref := range due {
		_, err := s.store.Outbox.Update(t.Context(), ref.Payload.Event, func(event *notification.Event) { event.Subject, event.Triggers = "", nil })
		s.must(err)
	}
	s.wantNotices("TRAIL_STARTED backend WEBHOOK")
}
