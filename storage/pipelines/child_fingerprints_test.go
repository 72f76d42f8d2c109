package pipelines_test

import (
	"fmt"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// The child belongs to more artifacts than are looked up, each in a flow of its own.
func TestOnlyLastReportedArtifactsOfAChildAreLookedUp(t *testing.T) {
	const most = 100
	s := apptest.NewFixture(t)
	child := apptest.Sha("c", 64)
	for i := range most + 2 {
		s.Must(s.Provenances.Add(t.Context(), &evidence.ArtifactRecord{
			ID: fmt.Sprint("record-", i), Org: "org", Flow: fmt.Sprint("flow-", i), Trail: "t", Name: "web", Fingerprint: fmt.Sprintf("%064x", most+2-i),
			ChildFingerprints: []string{child}, CreatedAt: float64(1000 + i),
		}))
	}
	known, err := s.Provenances.GetMany(t.Context(), "org", []string{child})
	s.Must(err)
	if len(known) != 1 || len(known[0].Flows) != most {
		t.Fatalf("it is known from %+v", known)
	}
	for i, want := range map[int]bool{0: false, 1: false, 2: true, most + 1: true} {
		if _, ok := known[0].Flows[fmt.Sprint("flow-", i)]; ok != want {
			t.Errorf("record %d counts: %v", i, ok)
		}
	}
}

// One child belongs to more artifacts than one command finds, the other to one artifact.
func TestArtifactsOfAChildAreFoundWithOneCommand(t *testing.T) {
	s := apptest.NewFixture(t)
	common, rare := apptest.Sha("c", 64), apptest.Sha("d", 64)
	add := func(i int, child string) {
		seen, batch := storage.Versioned[pipelines.Provenance]{}, &storage.Batch{}
		s.Provenances.AddIn(batch, &evidence.ArtifactRecord{
			ID: fmt.Sprint("record-", i), Org: "org", Flow: "flow", Trail: "t", Name: "web", Fingerprint: fmt.Sprintf("%064x", i),
			ChildFingerprints: []string{child}, CreatedAt: float64(1000 + i),
		}, seen)
		s.Must(batch.Write(t.Context(), s.Docs))
	}
	add(1, rare)
	for i := range 2 * storage.MaxMany {
		add(2+i, common)
	}
	for name, row := range map[string]struct {
		children []string
		commands int64 // the provenances of the children and of their artifacts, and the entries of the children
	}{
		"the common one": {[]string{common}, 3},
		"both":           {[]string{rare, common}, 4},
	} {
		s.Docs.Commands.Store(0)
		known, err := s.Provenances.GetMany(t.Context(), "org", row.children)
		if err != nil || len(known) != len(row.children) || s.Docs.Commands.Load() != row.commands {
			t.Errorf("%s: %d known with %d commands, %v", name, len(known), s.Docs.Commands.Load(), err)
		}
	}
}
