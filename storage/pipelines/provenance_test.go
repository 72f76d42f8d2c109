package pipelines_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/storage"
)

func addProvenance(s *apptest.Fixture, record *evidence.ArtifactRecord) {
	s.T.Helper()
	known, err := s.Provenances.LookUp(s.T.Context(), record.Org, record.Fingerprint)
	s.Must(err)
	batch := &storage.Batch{}
	s.Provenances.AddIn(batch, record, known)
	s.Must(batch.Write(s.T.Context(), s.Db))
}

// More flows report a fingerprint than are kept, in random order.
func TestProvenanceKeepsTheFirstFlows(t *testing.T) {
	const flows, kept = 520, 500
	s := apptest.NewFixture(t)
	for _, i := range rand.New(rand.NewPCG(9, 9)).Perm(flows) {
		addProvenance(s, &evidence.ArtifactRecord{
			ID: fmt.Sprint("record-", i), Org: "org", Flow: fmt.Sprintf("flow-%03d", i), Fingerprint: "f", CreatedAt: float64(i),
		})
	}
	found, err := s.Provenances.GetMany(t.Context(), "org", []string{"f"})
	s.Must(err)
	origins := found[0].Origins()
	if len(origins) != kept || origins[0].Flow != "flow-000" || origins[kept-1].Flow != fmt.Sprintf("flow-%03d", kept-1) {
		t.Errorf("%d origins, from %s to %s", len(origins), origins[0].Flow, origins[len(origins)-1].Flow)
	}
	if found[0].Build.Record != "record-0" {
		t.Errorf("the build is %+v", found[0].Build)
	}
}

// New flows, and flows that report a fingerprint again, report more than a document can hold.
func TestFlowsCannotFillAProvenance(t *testing.T) {
	s := apptest.NewFixture(t)
	report := func(i int, at float64, trail string) {
		t.Helper()
		addProvenance(s, &evidence.ArtifactRecord{
			ID: fmt.Sprint("record-", at), Org: "org", Flow: fmt.Sprintf("flow-%03d", i), Trail: trail, Fingerprint: "f", CreatedAt: at,
		})
	}
	long := strings.Repeat("t", 1<<20)
	for i := range 10 {
		report(i, float64(i), "short")
	}
	for i := range 12 {
		report(i, float64(100+i), long)
	}
	found, err := s.Provenances.GetMany(t.Context(), "org", []string{"f"})
	s.Must(err)
	origins := found[0].Origins()
	if len(origins) != 6 || origins[0].Flow != "flow-000" || origins[5].Flow != "flow-005" {
		t.Errorf("%d origins, from %s to %s", len(origins), origins[0].Flow, origins[len(origins)-1].Flow)
	}
}
