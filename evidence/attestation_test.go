package evidence

import (
	"fmt"
	"slices"
	"testing"
)

// TestAttestationCountsForItsTargets tests the table of docs/semantics.md 6.2.
func TestAttestationCountsForItsTargets(t *testing.T) {
	record := ArtifactRecord{Flow: "f", Trail: "t", Name: "app", Fingerprint: "1", CommitSHA: "c"}
	unknownCommit := record
	unknownCommit.CommitSHA = ""
	commit := func(sha string) *GitCommit { return &GitCommit{SHA1: sha} }
	for name, c := range map[string]struct {
		attestation          Attestation
		counts, countsForOne bool // for record, and for unknownCommit
	}{
		"the trail itself":                    {Attestation{Flow: "f", Trail: "t"}, false, false},
		"its fingerprint":                     {Attestation{Flow: "f", Trail: "t", Fingerprint: "1"}, true, true},
		"its fingerprint, another commit":     {Attestation{Flow: "f", Trail: "t", Fingerprint: "1", Commit: commit("d")}, true, true},
		"its fingerprint under another name":  {Attestation{Flow: "f", Trail: "t", Fingerprint: "1", Targets: []string{"lib"}}, true, true},
		"another fingerprint":                 {Attestation{Flow: "f", Trail: "t", Fingerprint: "2"}, false, false},
		"another fingerprint under its name":  {Attestation{Flow: "f", Trail: "t", Fingerprint: "2", Targets: []string{"app"}}, false, false},
		"its fingerprint in another trail":    {Attestation{Flow: "f", Trail: "u", Fingerprint: "1"}, false, false},
		"its name and commit":                 {Attestation{Flow: "f", Trail: "t", Targets: []string{"app"}, Commit: commit("C")}, true, false},
		"its name, without a commit":          {Attestation{Flow: "f", Trail: "t", Targets: []string{"app"}}, true, true},
		"its name among others":               {Attestation{Flow: "f", Trail: "t", Targets: []string{"lib", "app"}}, true, true},
		"its name, another commit":            {Attestation{Flow: "f", Trail: "t", Targets: []string{"app"}, Commit: commit("d")}, false, false},
		"its commit, another name":            {Attestation{Flow: "f", Trail: "t", Targets: []string{"lib"}, Commit: commit("c")}, false, false},
		"its name in a trail of another flow": {Attestation{Flow: "g", Trail: "t", Targets: []string{"app"}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, one := range []struct {
				record ArtifactRecord
				want   bool
			}{{record, c.counts}, {unknownCommit, c.countsForOne}} {
				known := one.record.Subjects()
				counts := slices.ContainsFunc(c.attestation.Subjects(), func(about Subject) bool { return slices.Contains(known, about) })
				if counts != one.want {
					t.Errorf("for commit %q: %v, want %v", one.record.CommitSHA, counts, one.want)
				}
			}
		})
	}
}

func TestNewestRecordOfANameHasTheCommitOfTheArtifact(t *testing.T) {
	record := func(id, trail, name, commit string, at float64) ArtifactRecord {
		return ArtifactRecord{ID: id, Flow: "f", Trail: trail, Name: name, Fingerprint: "1", CommitSHA: commit, CreatedAt: at}
	}
	subjects := SubjectsOfArtifact([]ArtifactRecord{
		record("1", "t", "app", "old", 1), record("3", "t", "app", "new", 2), record("2", "t", "app", "tie", 2),
		record("4", "t", "lib", "old", 1), record("5", "u", "app", "old", 1),
	})
	for subject, want := range map[Subject]bool{
		{Trail: "f/t", Name: "app", Commit: "new"}: true, {Trail: "f/t", Name: "app", Commit: "old"}: false, {Trail: "f/t", Name: "app", Commit: "tie"}: false,
		{Trail: "f/t", Name: "lib", Commit: "old"}: true, {Trail: "f/u", Name: "app", Commit: "old"}: true, {Trail: "f/u", Name: "lib"}: false,
		{Trail: "f/u", Fingerprint: "1"}: true,
	} {
		t.Run(fmt.Sprint(subject), func(t *testing.T) {
			if subjects[subject] != want {
				t.Errorf("is in %v: %v", subjects, !want)
			}
		})
	}
}

// TestOnlyDecisionsAreMadeAboutArtifactsOfOtherTrails tests docs/semantics.md 6.2.
func TestOnlyDecisionsAreMadeAboutArtifactsOfOtherTrails(t *testing.T) {
	for name, c := range map[string]struct {
		attestation Attestation
		want        bool
	}{
		"by fingerprint":          {Attestation{Type: TypeGeneric, Fingerprint: "1"}, true},
		"by name":                 {Attestation{Type: TypeGeneric, Targets: []string{"app"}}, false},
		"of the trail":            {Attestation{Type: TypeGeneric}, false},
		"decision by fingerprint": {Attestation{Type: TypeDecision, Fingerprint: "1"}, false},
		"override of a decision":  {Attestation{Type: TypeDecision, Fingerprint: "1", Override: &Override{}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.attestation.NeedsReport(); got != c.want {
				t.Errorf("needs a report: %v", got)
			}
		})
	}
}

// TestAttestationIsFilledFromItsTrail tests docs/semantics.md 6.1: the commit is the attestation's own, else that of
// its artifact, else that of its trail.
func TestAttestationIsFilledFromItsTrail(t *testing.T) {
	trail := Trail{Flow: "f", Commit: &GitCommit{SHA1: "OfTrail"}, Slots: map[string]SlotSummary{
		"app": {Fingerprint: "1", Commit: "of-app", Filename: "app.tgz"}, "bare": {Fingerprint: "2", Filename: "bare.tgz"}, "new": {},
	}}
	older := &ArtifactRecord{Fingerprint: "0", CommitSHA: "of-older", Filename: "older.tgz"}
	own := &GitCommit{SHA1: "OWN"}
	for name, c := range map[string]struct {
		attestation      Attestation
		names            []string
		older            *ArtifactRecord
		commit, filename string
		targets          []string
	}{
		"of the trail":                   {Attestation{}, nil, nil, "oftrail", "", nil},
		"of the trail, own commit":       {Attestation{Commit: own}, nil, nil, "own", "", nil},
		"by name":                        {Attestation{Targets: []string{"app"}}, []string{"app"}, nil, "of-app", "", []string{"app"}},
		"by names, the first unreported": {Attestation{Targets: []string{"new", "app"}}, []string{"new", "app"}, nil, "of-app", "", []string{"new", "app"}},
		"by name, own commit":            {Attestation{Commit: own, Targets: []string{"app"}}, []string{"app"}, nil, "own", "", []string{"app"}},
		"by name, unknown commit":        {Attestation{Targets: []string{"bare"}}, []string{"bare"}, nil, "oftrail", "", []string{"bare"}},
		"by fingerprint":                 {Attestation{Fingerprint: "1"}, []string{"app"}, nil, "of-app", "app.tgz", []string{"app"}},
		"by fingerprint, own commit":     {Attestation{Commit: own, Fingerprint: "1"}, []string{"app"}, nil, "own", "app.tgz", []string{"app"}},
		"by fingerprint and name":        {Attestation{Fingerprint: "1", Targets: []string{"x"}}, []string{"app"}, nil, "of-app", "app.tgz", []string{"x"}},
		"by fingerprint of an older one": {Attestation{Fingerprint: "0"}, []string{"app"}, older, "of-older", "older.tgz", []string{"app"}},
		"decision about another trail's": {Attestation{Fingerprint: "9"}, nil, nil, "oftrail", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := c.attestation
			a.FillFrom(&trail, c.names, c.older)
			if a.Flow != "f" || a.CommitSHA != c.commit || a.ArtifactName != c.filename || !slices.Equal(a.Targets, c.targets) {
				t.Errorf("it is of flow %q, commit %q, artifact %q with targets %q", a.Flow, a.CommitSHA, a.ArtifactName, a.Targets)
			}
		})
	}
}
