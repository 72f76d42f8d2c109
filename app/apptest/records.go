package apptest

import (
	"strings"
	"testing"

	"attestry/app"
	"attestry/evidence"
	"attestry/storage"
)

// ArtifactRecord returns a report with the fields of the indexes.
func ArtifactRecord(flow, trail, fingerprint, commit string, at float64) evidence.ArtifactRecord {
	return evidence.ArtifactRecord{
		ID: evidence.NewID(), Org: "org", Flow: flow, Trail: trail, Name: "app", Fingerprint: fingerprint,
		CommitSHA: commit, Commit: &evidence.GitCommit{SHA1: commit, Branch: new("main")}, CreatedAt: at,
	}
}

// PutArtifacts stores records without updating trails and slots as the recorder does.
func PutArtifacts(t *testing.T, store *app.Store, records ...evidence.ArtifactRecord) {
	t.Helper()
	insert(t, store, store.Artifacts.Collection, records)
}

// insert stores new documents of a collection.
func insert[T any](t *testing.T, store *app.Store, collection storage.Collection[T], values []T) {
	t.Helper()
	batch := &storage.Batch{}
	for i := range values {
		collection.InsertIn(batch, &values[i])
	}
	if err := batch.Write(t.Context(), store.Documents); err != nil {
		t.Fatal(err)
	}
}

// Sha pads hex digits with zeros to a length.
func Sha(start string, length int) string { return start + strings.Repeat("0", length-len(start)) }

// AttestationRecord returns a record with the fields of the indexes. Its id consists of its name and flow.
func AttestationRecord(name, flow, kind string, compliant bool, at float64) evidence.Attestation {
	return evidence.Attestation{
		ID: name + "-" + flow, Org: "org", Flow: flow, Trail: "t", Name: name, Type: kind, Compliant: compliant, CreatedAt: at,
	}
}

// PutAttestations stores records without updating trails and slots as the recorder does.
func PutAttestations(t *testing.T, store *app.Store, records ...evidence.Attestation) {
	t.Helper()
	insert(t, store, store.Attestations.Collection, records)
}
