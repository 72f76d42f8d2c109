package pipelines_test

import (
	"fmt"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
)

// TestArtifactsReportedLastCountForAChild has one child of more artifacts than are looked up, one of them in each flow.
func TestArtifactsReportedLastCountForAChild(t *testing.T) {
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
