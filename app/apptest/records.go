package apptest

import (
	"strings"
	"testing"

	"attestry/app"
	"attestry/evidence"
	"attestry/storage"
)

// ArtifactRecord is a report with the fields that look-ups go by.
func ArtifactRecord(flow, trail, fingerprint, commit string, at float64) evidence.ArtifactRecord {
	return evidence.ArtifactRecord{
		ID: evidence.NewID(), Org: "org", Flow: flow, Trail: trail, Name: "app", Fingerprint: fingerprint,
		CommitSHA: commit, Commit: &evidence.GitCommit{SHA1: commit, Branch: new("main")}, CreatedAt: at,
	}
}

// PutArtifacts stores records as the recorder would, without all that follows.
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

// Sha makes hex digits that begin as given, filled up to a length.
func Sha(start string, length int) string { return start + strings.Repeat("0", length-len(start)) }

// AttestationRecord is a record with the fields that look-ups go by; its name is
// its id too.
func AttestationRecord(name, flow, kind string, compliant bool, at float64) evidence.Attestation {
	return evidence.Attestation{
		ID: name + "-" + flow, Org: "org", Flow: flow, Trail: "t", Name: name, Type: kind, Compliant: compliant, CreatedAt: at,
	}
}

// PutAttestations stores records as the recorder would, without all that follows.
func PutAttestations(t *testing.T, store *app.Store, records ...evidence.Attestation) {
	t.Helper()
	insert(t, store, store.Attestations.Collection, records)
}
