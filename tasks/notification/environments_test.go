package notification_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/admission"
	"attestry/evidence/notification"
	"attestry/storage/governance"
	"attestry/tasks/logical"
)

func TestStartedAndExitedArtifactsAreNotified(t *testing.T) {
	s := newScene(t)
	s.report("old")
	s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.StartedArtifact}, webhook("a"))
	s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.ExitedArtifact}, webhook("b"))
	s.wantNotices() // the artifact started before the actions existed
	s.report("old", "new")
	s.wantNotices("ARTIFACT_STARTED new WEBHOOK")
	s.report("new")
	s.wantNotices("ARTIFACT_EXITED old WEBHOOK")
	s.report("new")
	s.wantNotices()
}

func TestReportsThatWereAcceptedBeforeAnActionExistedFireNothing(t *testing.T) {
	s := newScene(t)
	s.clock.Advance(-1e9)
	s.report("early") // accepted a second ago, by the clock of another process
	s.clock.Advance(1e9)
	s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.StartedArtifact}, webhook("a"))
	s.wantNotices()
}

func TestScaledArtifactsAreNotifiedWithoutASnapshot(t *testing.T) {
	s := newScene(t)
	number := s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.ScaledArtifact}, webhook("a"))
	s.report("web", "db")
	s.wantNotices()
	for _, step := range []struct {
		report []string
		want   []string
		change string
	}{
		{[]string{"web", "web", "web", "db"}, []string{"ARTIFACT_SCALED web WEBHOOK"}, "scaled to 3 instances (from 1 to 3)"},
		{[]string{"web", "web", "web", "db"}, nil, ""},
		{[]string{"web", "web", "web", "db", "db"}, []string{"ARTIFACT_SCALED db WEBHOOK"}, "scaled to 2 instances (from 1 to 2)"},
		{[]string{"web", "db", "db"}, []string{"ARTIFACT_SCALED web WEBHOOK"}, "scaled to 1 instance (from 3 to 1)"},
		// A snapshot is made because another artifact starts or exits.
		{[]string{"web", "web", "db", "db", "cache"}, []string{"ARTIFACT_SCALED web WEBHOOK"}, "scaled to 2 instances (from 1 to 2)"},
		{[]string{"web", "db", "db", "cache"}, []string{"ARTIFACT_SCALED web WEBHOOK"}, "scaled to 1 instance (from 2 to 1)"},
		{[]string{"web", "db", "db"}, nil, ""},
		// An artifact that exits and starts again has not scaled.
		{[]string{"db", "db"}, nil, ""},
		{[]string{"web", "web", "db", "db"}, nil, ""},
	} {
		s.report(step.report...)
		s.wantNotices(step.want...)
		if all := s.deliveries(number); step.change != "" && all[0].Notice.Description != step.change {
			t.Errorf("notice %q, want %q", all[0].Notice.Description, step.change)
		}
	}
	if last, err := s.store.Snapshots.LastNumber(t.Context(), s.env); err != nil || last != 5 {
		t.Errorf("there are %d snapshots, %v", last, err)
	}
}

func TestEvaluationWithoutAReportScalesNothing(t *testing.T) {
	s := newScene(t)
	s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.ScaledArtifact}, webhook("a"))
	s.report("web")
	s.report("web", "web")
	s.wantNotices("ARTIFACT_SCALED web WEBHOOK")
	s.requireProvenance()
	s.wantNotices()
	s.report("web")
	s.wantNotices("ARTIFACT_SCALED web WEBHOOK")
}

// requireProvenance attaches a policy that requires provenance, and evaluates the environment.
func (s *scene) requireProvenance() {
	s.t.Helper()
	s.require("provenance:\n    required: true")
}

// require attaches a policy with a rule.
func (s *scene) require(rule string) {
	s.t.Helper()
	source := "_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts:\n  " + rule + "\n"
	_, err := s.store.Policies.Put(s.t.Context(), governance.Change{Org: acme.OrgID, Name: "known", Content: []byte(source), By: "anna", At: evidence.Seconds(s.clock.Now())})
	s.must(err)
	s.must(s.store.Environments.Modify(s.t.Context(), s.env, evidence.Seconds(s.clock.Now()), func(e *evidence.Environment) (bool, error) {
		return e.AttachPolicies([]string{"known"})
	}))
	s.must(s.store.Generations.Bump(s.t.Context(), acme.OrgID))
	s.must(s.evaluate())
}

// evaluate evaluates the running artifacts again.
func (s *scene) evaluate() error {
	if err := s.intake.Reevaluate(s.t.Context(), acme.OrgID, s.env, evidence.Server, "anna"); err != nil {
		return err
	}
	return s.processor.Drain(s.t.Context(), s.env)
}

func TestChangesOfTheComplianceStateAreNotifiedWithReasons(t *testing.T) {
	s := newScene(t)
	number := s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.CompliantEnv, notification.NonCompliantEnv}, webhook("a"), chat("b"))
	s.requireProvenance()
	s.report() // nothing runs: unknown becomes compliant
	s.wantNotices()
	s.report("stranger")
	s.wantNotices("ENVIRONMENT_NON_COMPLIANT production SLACK", "ENVIRONMENT_NON_COMPLIANT production WEBHOOK")
	notice := s.deliveries(number)[0].Notice
	if notice.Snapshot.Status != "non-compliant" || len(notice.Details) != 1 || !strings.Contains(notice.Details[0], "stranger: No flow knows the artifact") {
		t.Errorf("notice %+v", notice)
	}
	s.report("stranger", "another")
	s.wantNotices()
	s.report()
	s.wantNotices("ENVIRONMENT_COMPLIANT production SLACK", "ENVIRONMENT_COMPLIANT production WEBHOOK")
	for _, count := range []int{notification.MaxDetails, notification.MaxDetails + 1} {
		var names []string
		for i := range count {
			names = append(names, fmt.Sprintf("stranger-%02d", i))
		}
		s.report(names...)
		s.relayAll()
		details := s.deliveries(number)[0].Notice.Details
		if last := details[len(details)-1]; len(details) != notification.MaxDetails || (last == "There are more.") != (count > notification.MaxDetails) {
			t.Errorf("%d artifacts: %d details, the last is %q", count, len(details), last)
		}
		s.report()
		s.relayAll()
	}
}

// TestLogicalEnvironmentsAreNotifiedLikeTheirMembers has a member that is always compliant, and one that joins later.
func TestLogicalEnvironmentsAreNotifiedLikeTheirMembers(t *testing.T) {
	s := newScene(t)
	production, calm := s.env, s.environment("calm", evidence.Server)
	for _, member := range []string{calm, production} {
		s.env = member
		s.requireProvenance()
		s.report()
	}
	all := s.environment("all", evidence.LogicalType)
	include := func(members ...string) {
		s.must(s.store.Environments.Modify(t.Context(), all, s.now(), func(e *evidence.Environment) (bool, error) {
			return e.Apply(evidence.EnvironmentChange{Included: &members}), nil
		}))
		s.must(logical.NewUpdater(s.store, s.clock.Now, slog.New(slog.DiscardHandler)).Update(t.Context(), all))
	}
	include(calm)
	number := s.action(notification.OfEnvironments, all, []notification.Trigger{notification.StartedArtifact, notification.NonCompliantEnv}, webhook("a"))
	s.report("stranger")
	s.wantNotices() // not a member yet
	include(calm, production)
	s.wantNotices("ENVIRONMENT_NON_COMPLIANT all WEBHOOK")
	if notice := s.deliveries(number)[0].Notice; notice.Snapshot.Index != 2 || len(notice.Details) != 0 {
		t.Errorf("notice %+v of snapshot %+v", notice, notice.Snapshot)
	}
	s.report("stranger", "other")
	s.wantNotices("ARTIFACT_STARTED other WEBHOOK")
	if notice := s.deliveries(number)[0].Notice; notice.Environment != "all" || notice.Snapshot.Index != 3 || len(notice.Details) != 1 {
		t.Errorf("notice %+v of snapshot %+v", notice, notice.Snapshot)
	}
}

func TestManyArtifactsAreSummarizedForPeople(t *testing.T) {
	s := newScene(t)
	number := s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.StartedArtifact}, webhook("a"), chat("b"))
	s.report("1", "2", "3", "4", "5")
	if got := s.sentNotices(); len(got) != 10 {
		t.Errorf("5 artifacts: sent %q", got)
	}
	names := []string{"1", "2", "3", "4", "5"}
	for _, letter := range "abcdefghijklmnopqrstuvwxyz" {
		names = append(names, string(letter))
	}
	s.report(names...)
	got := s.sentNotices()
	if len(got) != 27 || !slices.Contains(got, "ARTIFACT_STARTED production SLACK") {
		t.Errorf("26 artifacts: sent %q", got)
	}
	for _, delivery := range s.deliveries(number) {
		if notice := delivery.Notice; notice.Artifact == nil && (notice.Description != "26 artifacts started running" ||
			len(notice.Details) != notification.MaxDetails || notice.Details[notification.MaxDetails-1] != "and 7 more") {
			t.Errorf("notice %+v", notice)
		}
	}
}

func TestEachAllowanceIsNotified(t *testing.T) {
	s := newScene(t)
	number := s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.AllowedArtifact}, webhook("a"))
	for range 2 {
		s.allow("web")
		s.wantNotices("ARTIFACT_ALLOWED web WEBHOOK")
	}
	if notice := s.deliveries(number)[0].Notice; notice.Description != "web was permitted by anna" || !slices.Equal(notice.Details, []string{"Reason: hotfix"}) {
		t.Errorf("notice %+v", notice)
	}
}

// allow adds an artifact to the allowlist.
func (s *scene) allow(name string) {
	s.t.Helper()
	_, err := s.store.Allowlist.Put(s.t.Context(), evidence.Allowance{
		ID: evidence.NewID(), Org: acme.OrgID, Environment: s.env, Fingerprint: fingerprint(name), ArtifactName: name,
		Description: "hotfix", UserName: "anna", At: evidence.Seconds(s.clock.Now()),
	})
	s.must(err)
}

func TestAllowanceNoticesHaveTheSnapshotOfThatTime(t *testing.T) {
	s := newScene(t)
	number := s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.AllowedArtifact}, webhook("a"))
	for i, runs := range []string{"web", "db"} {
		s.allow("web")
		s.report(runs) // before a worker makes the notice of the allowance
		s.wantNotices("ARTIFACT_ALLOWED web WEBHOOK")
		var got int64
		if named := s.deliveries(number)[0].Notice.Snapshot; named != nil {
			got = named.Index
		}
		if want := int64(i); got != want {
			t.Errorf("the notice has snapshot %d, want %d", got, want)
		}
	}
}

// TestAllowanceNoticesHaveTheVerdictThatFollows evaluates the environment before a worker makes the notice of an
// allowance, and at the same time.
func TestAllowanceNoticesHaveTheVerdictThatFollows(t *testing.T) {
	s := newScene(t)
	number := s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.AllowedArtifact}, webhook("a"))
	s.report("stranger", "another")
	s.requireProvenance()
	s.allow("stranger")
	s.must(s.store.Generations.Bump(t.Context(), acme.OrgID))
	s.must(s.evaluate())
	s.wantNotices("ARTIFACT_ALLOWED stranger WEBHOOK")
	if shown := s.deliveries(number)[0].Notice.Snapshot; shown.Index != 3 || shown.Status != "non-compliant" {
		t.Errorf("the notice has snapshot %+v", shown)
	}

	s.allow("another")
	s.must(s.store.Generations.Bump(t.Context(), acme.OrgID))
	evaluated := make(chan error)
	go func() { evaluated <- s.evaluate() }()
	s.wantNotices("ARTIFACT_ALLOWED another WEBHOOK")
	s.must(<-evaluated)
	if shown := s.deliveries(number)[0].Notice.Snapshot; shown.Index != 4 || shown.Status != "compliant" {
		t.Errorf("the notice has snapshot %+v", shown)
	}
}

// TestAllowanceNoticesHaveTheVerdictOnChildren permits an index, one of whose images runs.
func TestAllowanceNoticesHaveTheVerdictOnChildren(t *testing.T) {
	s := newScene(t)
	number := s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.AllowedArtifact}, webhook("a"))
	s.must(s.store.Recorder.Report(t.Context(), s.scope("1"), evidence.ArtifactRecord{
		ID: evidence.NewID(), Org: acme.OrgID, Trail: "1", Name: "api", Filename: "index", Fingerprint: fingerprint("index"),
		ChildFingerprints: []string{fingerprint("image")}, CreatedAt: evidence.Seconds(s.clock.Now()),
	}, nil))
	s.report("image")
	s.require("attestations:\n    - type: junit")
	s.allow("index")
	s.must(s.store.Generations.Bump(t.Context(), acme.OrgID))
	s.must(s.evaluate())
	s.wantNotices("ARTIFACT_ALLOWED index WEBHOOK")
	if shown := s.deliveries(number)[0].Notice.Snapshot; shown.Index != 3 || shown.Status != "compliant" {
		t.Errorf("the notice has snapshot %+v", shown)
	}
}

// breakGlass records a workload that was admitted against the verdict on its image.
func (s *scene) breakGlass() {
	s.t.Helper()
	s.must(s.store.Admissions.Record(s.t.Context(), admission.Record{
		ID: "record", Org: acme.OrgID, Environment: s.env, Outcome: admission.BreakGlass, Kind: "Pod", Name: "web", FirstAt: s.now(), LastAt: s.now(),
		Refusals: []admission.Refusal{{Image: "web", Reason: "unknown"}},
	}))
}

func TestArchivedEnvironmentsAndFlowsFireNothing(t *testing.T) {
	s := newScene(t)
	flow := s.flow()
	s.action(notification.OfEnvironments, s.env, []notification.Trigger{
		notification.StartedArtifact, notification.ScaledArtifact, notification.AllowedArtifact, notification.BrokenGlass,
	}, webhook("a"))
	s.action(notification.OfFlows, flow, allFlowTriggers, webhook("a"))
	s.report("web")
	s.report("web", "web")
	s.allow("web")
	s.breakGlass()
	s.must(s.attest("1"))
	s.must(s.store.Environments.Archive(t.Context(), acme.OrgID, "production", s.now()))
	s.must(s.store.Flows.Archive(t.Context(), acme.OrgID, "backend", s.now()))
	if s.must(s.relay.Relay(t.Context())); len(s.queue.fanouts) < 5 {
		t.Fatalf("there are %d events", len(s.queue.fanouts))
	}
	s.wantNotices()
}

func TestNoticesHaveTheProvenanceOfAnArtifact(t *testing.T) {
	s := newScene(t)
	number := s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.StartedArtifact}, webhook("a"))
	s.flow()
	s.reportArtifact("build-1", "web")
	s.report("web")
	s.wantNotices("ARTIFACT_STARTED web WEBHOOK")
	notice := s.deliveries(number)[0].Notice
	want := notification.NoticeProvenance{
		Flow: "backend", Status: "compliant", Commit: "0123456789012345678901234567890123456789", CommitURL: "https://git.example.com/c",
		HTMLURL:  notice.Artifact.Provenance.HTMLURL,
		APIURL:   "https://attestry.example.com/api/v2/artifacts/acme/backend/fingerprint/" + fingerprint("web"),
		BuildURL: "https://ci.example.com/1",
	}
	if *notice.Artifact.Provenance != want || !strings.Contains(want.HTMLURL, "/acme/flows/backend/artifacts/"+fingerprint("web")+"?artifact_id=") {
		t.Errorf("provenance %+v", notice.Artifact.Provenance)
	}
	if s := notice.Snapshot; notice.Org != "acme" || s.Index != 1 || s.HTMLURL != "https://attestry.example.com/acme/environments/production/snapshots/1" || notice.Link != s.HTMLURL {
		t.Errorf("notice %+v of snapshot %+v", notice, s)
	}
}
