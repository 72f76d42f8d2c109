package snapshot

import (
	"slices"
	"testing"

	"attestry/evidence"
	"attestry/evidence/policy"
)

// decided is an environment and its reports, decided one after the other.
type decided struct {
	head Head
	tree Tree
}

// input returns a report of files, with a number of instances each, in a generation.
func (d *decided) input(generation string, instances int, files ...string) *Input {
	var all []Instance
	for _, file := range files {
		for range instances {
			all = append(all, Instance{Digests: map[string]string{"/" + file: fingerprint(file)}, CreatedAt: 1})
		}
	}
	report := Canonical(evidence.Server, all)
	in := &Input{
		Head: d.head, Generation: generation, EnvironmentName: "production",
		Report: ReportRecord{
			ID: "r", Org: "org", Environment: "env", Type: evidence.Server, Arrival: d.head.Processed + 1,
			Digest: report.Digest(), ReportedBy: "ci", AcceptedAt: 100,
		},
	}
	in.SetLast(d.tree)
	in.SetImages(&report)
	return in
}

// decide decides a report and applies the result.
func (d *decided) decide(t *testing.T, in *Input) Result {
	t.Helper()
	result, err := Decide(in)
	if err != nil {
		t.Fatal(err)
	}
	result.ApplyTo(&d.head)
	if result.Snapshot != nil {
		d.tree = new(Tree).Next(in.evaluate(result.Snapshot))
	}
	return result
}

func TestFirstReportMakesASnapshotWithItsEffects(t *testing.T) {
	d := decided{}
	in := d.input("1", 2, "app", "web")
	in.Known = map[string]Known{fingerprint("app"): {Origins: []Origin{
		{Origin: evidence.Origin{Flow: "flow", Trail: "trail", Repo: "repo"}}},
	}}
	result := d.decide(t, in)
	made := result.Snapshot
	if made == nil || made.Number != 1 || made.Counts.Null != 2 || made.Events != 2 || made.Root != d.tree.Root || len(result.Chunks) == 0 {
		t.Fatalf("the snapshot is %+v", made)
	}
	e := result.Effects
	if len(e.Exited) != 0 || len(e.FirstSeen) != 2 || len(e.Events) != 2 || len(e.Successions) != 1 || len(e.TrailEvents) != 1 {
		t.Errorf("the effects are %+v", e)
	}
	// The artifact with an origin has a deployment of its own and one for its repository.
	if len(e.Deployments) != 3 || len(e.ByRepo) != 1 || e.ByRepo[0].Repo != "repo" || e.ByRepo[0].Snapshot != 1 {
		t.Errorf("the deployments are %+v, those by repository %+v", e.Deployments, e.ByRepo)
	}
	if d.head.Last != 1 || d.head.Processed != 1 || d.head.Digest != in.Report.Digest || d.head.Generation != "1" {
		t.Errorf("the head is %+v", d.head)
	}
	if verdict := d.head.VerdictOf(1); verdict != Created {
		t.Errorf("the verdict is %v", verdict)
	}
}

func TestSameReportInTheSameGenerationIsUnchanged(t *testing.T) {
	d := decided{}
	d.decide(t, d.input("1", 1, "app"))
	if same := d.input("1", 1, "app"); !same.Unchanged() {
		t.Error("the same report is not unchanged")
	}
	for what, in := range map[string]*Input{
		"another report":     d.input("1", 1, "web"),
		"another generation": d.input("2", 1, "app"),
	} {
		if in.Unchanged() {
			t.Errorf("%s is unchanged", what)
		}
	}
	result := d.decide(t, d.input("1", 1, "app"))
	if result.Snapshot != nil || d.head.Processed != 2 || d.head.VerdictOf(2) != NoChange {
		t.Errorf("the result is %+v, the head %+v", result, d.head)
	}
}

func TestOtherNumbersOfInstancesAreKeptForTheNextReport(t *testing.T) {
	d := decided{}
	d.decide(t, d.input("1", 1, "app"))
	scaled := d.decide(t, d.input("1", 3, "app"))
	if scaled.Snapshot != nil || len(scaled.Scaled.Artifacts) != 1 || scaled.Scaled.Snapshot != 1 || d.head.Scaled != 2 {
		t.Fatalf("the result is %+v, the head %+v", scaled, d.head)
	}
	again := d.input("2", 3, "app")
	again.Scaling = scaled.Scaling
	if result := d.decide(t, again); len(result.Scaled.Artifacts) != 0 || result.ScaledAt != nil || d.head.Scaled != 2 {
		t.Errorf("the same numbers: %+v, the head %+v", result, d.head)
	}
	back := d.input("2", 1, "app")
	back.Scaling = scaled.Scaling
	if result := d.decide(t, back); len(result.Scaled.Artifacts) != 1 || d.head.Scaled != 0 {
		t.Errorf("the numbers of the snapshot: %+v, the head %+v", result, d.head)
	}
}

func TestOtherPoliciesMakeASnapshotOfTheSameArtifacts(t *testing.T) {
	d := decided{}
	d.decide(t, d.input("1", 1, "app"))
	in := d.input("1", 1, "app")
	in.Report.Repeat, in.Report.Digest = true, ""
	in.Policies = []policy.Reference{{ID: "p", Version: 1}}
	in.Known = map[string]Known{fingerprint("app"): {Compliant: new(true)}}
	digest := d.head.Digest
	result := d.decide(t, in)
	if made := result.Snapshot; made == nil || made.Number != 2 || !made.Compliant() || made.Digest != digest {
		t.Fatalf("the snapshot is %+v", made)
	}
	if d.head.Digest != digest || d.head.State == nil || !*d.head.State {
		t.Errorf("the head is %+v", d.head)
	}
}

func TestEvaluationOfAnEnvironmentWithoutSnapshotsChangesNothing(t *testing.T) {
	d := decided{}
	in := d.input("", 1)
	in.Report.Repeat = true
	result := d.decide(t, in)
	if result.Snapshot != nil || d.head.Digest != "" || d.head.Processed != 1 || d.head.LastReportedAt != 0 {
		t.Errorf("the result is %+v, the head %+v", result, d.head)
	}
}

// TestOnlyArtifactsWhoseVerdictMayDifferAreEvaluated has one artifact that continues to run, one that does so under
// another name, and one that starts.
func TestOnlyArtifactsWhoseVerdictMayDifferAreEvaluated(t *testing.T) {
	app, web, fresh := fingerprint("app"), fingerprint("web"), fingerprint("new")
	one := []policy.Reference{{ID: "p", Version: 1}}
	for what, c := range map[string]struct {
		generation string
		policies   []policy.Reference // now
		applied    []policy.Reference // by the last snapshot
		want       []string
	}{
		"the same generation":  {generation: "1", want: []string{fresh}},
		"another generation":   {generation: "2", want: []string{app, web, fresh}},
		"the same policies":    {generation: "1", policies: one, applied: one, want: []string{web, fresh}},
		"policies were added":  {generation: "1", policies: one, want: []string{app, web, fresh}},
		"policies are removed": {generation: "1", applied: one, want: []string{app, web, fresh}},
	} {
		in := &Input{
			Head:       Head{Last: 1, SnapshotGeneration: "1", Policies: c.applied},
			Generation: c.generation, Policies: c.policies,
			Before: map[string]Artifact{app: {Reported: Reported{Name: "app"}}, web: {Reported: Reported{Name: "web"}}},
		}
		in.SetImages(&Report{Artifacts: []Reported{
			{Fingerprint: app, Name: "app", CreatedAt: []int64{1}}, {Fingerprint: web, Name: "renamed", CreatedAt: []int64{1}},
			{Fingerprint: fresh, Name: "new", CreatedAt: []int64{1}},
		}})
		if got := slices.Sorted(slices.Values(in.ToEvaluate())); !slices.Equal(got, slices.Sorted(slices.Values(c.want))) {
			t.Errorf("%s: %q", what, got)
		}
		if !slices.Equal(in.Starting, []string{fresh}) {
			t.Errorf("%s: %q start", what, in.Starting)
		}
	}
}

func TestExitedArtifactLeavesTheRunningSet(t *testing.T) {
	d := decided{}
	d.decide(t, d.input("1", 1, "app", "web"))
	result := d.decide(t, d.input("1", 1, "web"))
	if !slices.Equal(result.Effects.Exited, []string{fingerprint("app")}) || len(result.Effects.ByRepo) != 0 {
		t.Errorf("the effects are %+v", result.Effects)
	}
	if len(result.Superseded) == 0 {
		t.Error("no chunk is superseded")
	}
}

// TestAdoptedSnapshotEndsTheScalingOfAnotherReport has a head that was not written with the snapshot.
func TestAdoptedSnapshotEndsTheScalingOfAnotherReport(t *testing.T) {
	head := Head{Last: 1, Digest: "a", Scaled: 2, Processed: 2}
	same := head
	same.Adopt(&Snapshot{Number: 2, Digest: "a", Arrival: 3, Report: "r"})
	if same.Scaled != 2 || same.Last != 2 || same.VerdictOf(3) != Created {
		t.Errorf("after an evaluation without a report the head is %+v", same)
	}
	head.Adopt(&Snapshot{Number: 2, Digest: "b", Arrival: 3, Report: "r"})
	if head.Scaled != 0 || head.Digest != "b" || head.Processed != 3 {
		t.Errorf("after another report the head is %+v", head)
	}
}
