package recording_test

import (
	"fmt"
	"slices"
	"testing"

	"attestry/app/apptest"
	"attestry/app/states"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

// TestChangedTrailIsEvaluatedByItsTemplateAndAuthor changes a trail whose artifact, which runs, has no pull request.
// The template requires one of everybody but machine accounts.
func TestChangedTrailIsEvaluatedByItsTemplateAndAuthor(t *testing.T) {
	const ada, bot = "Ada <ada@example.com>", "renovate[bot]"
	fixture := apptest.NewFixture(t)
	commits := 0
	by := func(author string) *evidence.GitCommit {
		commits++
		return &evidence.GitCommit{SHA1: fmt.Sprintf("%040d", commits), Author: &author}
	}
	for name, row := range map[string]struct {
		before, change evidence.TrailChange // a template that is not "" is the one with the rule
		want           evidence.Status
		announced      bool // the environment gets a new generation
		authored       bool // the author has changed
	}{
		"template":                       {evidence.TrailChange{Commit: by(ada)}, evidence.TrailChange{Template: "own"}, evidence.Incomplete, true, false},
		"template for a machine account": {evidence.TrailChange{Commit: by(bot)}, evidence.TrailChange{Template: "own"}, evidence.Compliant, true, false},
		"template and machine account":   {evidence.TrailChange{Commit: by(ada)}, evidence.TrailChange{Template: "own", Commit: by(bot)}, evidence.Compliant, true, true},
		"machine account":                {evidence.TrailChange{Template: "own", Commit: by(ada)}, evidence.TrailChange{Commit: by(bot)}, evidence.Compliant, true, true},
		"person":                         {evidence.TrailChange{Template: "own", Commit: by(bot)}, evidence.TrailChange{Commit: by(ada)}, evidence.Incomplete, true, true},
		"author without a rule":          {evidence.TrailChange{Commit: by(ada)}, evidence.TrailChange{Commit: by(bot)}, evidence.Compliant, true, true},
		"commit of the same author":      {evidence.TrailChange{Template: "own", Commit: by(ada)}, evidence.TrailChange{Commit: by(ada)}, evidence.Incomplete, false, false},
		"description":                    {evidence.TrailChange{Template: "own", Commit: by(bot)}, evidence.TrailChange{Description: new("new")}, evidence.Compliant, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := prepare(fixture)
			read := func() (evidence.Trail, string) {
				trail, err := p.Trails.Get(p.ctx, p.flow, "t")
				fixture.Must(err)
				generation, err := p.Generations.Get(p.ctx, p.org, p.org)
				fixture.Must(err)
				return trail, generation
			}
			for _, change := range []*evidence.TrailChange{&row.before, &row.change} {
				if change.Template != "" {
					change.Template = p.template
				}
			}
			fixture.Must(p.begin("t", row.before))
			trail, generation := read()
			fixture.Must(p.begin("t", row.change))
			changed, next := read()
			if changed.Status != row.want || (next != generation) != row.announced {
				t.Errorf("the trail is %s, the generation of the environment was %q and is %q", changed.Status, generation, next)
			}
			keys, _, err := p.Recorder.ChangedTrails(p.ctx, p.org, trail.LastModifiedAt)
			if err != nil || slices.Contains(keys, trail.Key()) != row.authored {
				t.Errorf("trails with another author are %q, %v", keys, err)
			}
		})
	}
}

// TestAttestationCountsForEachNameOfItsArtifact attests an artifact that has been replaced under one of its names.
func TestAttestationCountsForEachNameOfItsArtifact(t *testing.T) {
	p, fingerprint := prepare(apptest.NewFixture(t)), apptest.Sha("1", 64)
	record := evidence.ArtifactRecord{ID: evidence.NewID(), Org: p.org, Trail: "t", Name: "web", Fingerprint: fingerprint, CreatedAt: 1000}
	evidencetest.Must(t, p.Recorder.Report(p.ctx, p.scope("t"), record, nil))
	evidencetest.Must(t, p.attest(evidence.Attestation{Name: "x", Type: evidence.TypeGeneric, Fingerprint: fingerprint}))
	for _, name := range []string{"app", "web"} {
		query := states.Query{Fingerprint: fingerprint, Trail: evidence.TrailKey(p.flow, "t"), Slot: name}
		found, err := p.States.Of(p.ctx, p.org, []states.Query{query})
		if err != nil || found[query] != evidence.NonCompliant {
			t.Errorf("under the name %s it is %s: %v", name, found[query], err)
		}
	}
}

func TestFactThatBeginsItsTrailHasTheTimeOfTheTrail(t *testing.T) {
	p := prepare(apptest.NewFixture(t))
	a := evidence.Attestation{ID: "a", Org: p.org, Trail: "new", Name: "x", Type: evidence.TypeGeneric, CreatedAt: 9000}
	scope := p.scope("new")
	scope.At = a.CreatedAt
	evidencetest.Must(t, p.Recorder.Attest(p.ctx, scope, a, nil))
	trail, err := p.Trails.Get(p.ctx, p.flow, "new")
	if err != nil || trail.CreatedAt != 9000 || len(trail.Entries) != 1 || trail.Entries[0].Time != trail.CreatedAt {
		t.Errorf("the trail begins at %v with %+v: %v", trail.CreatedAt, trail.Entries, err)
	}
}
