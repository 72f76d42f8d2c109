package apptest

import (
	"encoding/json"
	"maps"
	"slices"
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
	schemas := app.Schemas()
	schema := schemas[slices.IndexFunc(schemas, func(s *storage.Schema) bool { return s.Name == "artifacts" })]
	for chunk := range slices.Chunk(records, storage.MaxMany) {
		var documents []storage.Record
		for _, record := range chunk {
			body, err := json.Marshal(record)
			if err != nil {
				t.Fatal(err)
			}
			documents = append(documents, storage.Record{ID: record.ID, Revision: 1, Body: body, Fields: map[string]any{
				"org": record.Org, "flow": record.Flow, "trail": evidence.TrailKey(record.Flow, record.Trail), "repo": record.Repo,
				"fingerprint": record.Fingerprint, "commit": record.CommitSHA, "branch": record.Branch(), "created": record.CreatedAt,
			}})
		}
		if n, err := store.Documents.InsertMany(t.Context(), schema, documents); err != nil || n != len(documents) {
			t.Fatalf("stored %d of %d: %v", n, len(documents), err)
		}
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
	storeAttestations(t, store, records, func(a *evidence.Attestation) map[string]any {
		fields := map[string]any{"targets": ""}
		if a.Fingerprint == "" && len(a.Targets) > 0 {
			fields["targets"], fields["bound_commit"] = strings.Join(a.Targets, " "), evidence.CommitSHA(a.Commit)
		}
		if a.Override != nil {
			fields["overridden"] = a.Override.Original
		}
		return fields
	})
}

// PutOldAttestations stores records as the recorder of an earlier version would, which
// declared fewer fields.
func PutOldAttestations(t *testing.T, store *app.Store, records ...evidence.Attestation) {
	t.Helper()
	storeAttestations(t, store, records, func(*evidence.Attestation) map[string]any { return map[string]any{} })
}

// storeAttestations stores records with the fields that were always declared, and more.
func storeAttestations(t *testing.T, store *app.Store, records []evidence.Attestation, more func(*evidence.Attestation) map[string]any) {
	t.Helper()
	schemas := app.Schemas()
	schema := schemas[slices.IndexFunc(schemas, func(s *storage.Schema) bool { return s.Name == "attestations" })]
	for chunk := range slices.Chunk(records, storage.MaxMany) {
		var documents []storage.Record
		for _, record := range chunk {
			body, err := json.Marshal(record)
			if err != nil {
				t.Fatal(err)
			}
			fields := map[string]any{
				"org": record.Org, "flow": record.Flow, "trail": evidence.TrailKey(record.Flow, record.Trail), "name": record.Name,
				"type": record.Type, "fingerprint": record.Fingerprint, "commit": record.CommitSHA, "compliant": record.Compliant,
				"time": record.CreatedAt,
			}
			maps.Copy(fields, more(&record))
			documents = append(documents, storage.Record{ID: record.ID, Revision: 1, Body: body, Fields: fields})
		}
		if n, err := store.Documents.InsertMany(t.Context(), schema, documents); err != nil || n != len(documents) {
			t.Fatalf("stored %d of %d: %v", n, len(documents), err)
		}
	}
}
