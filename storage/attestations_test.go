package storage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/storage"
)

// attestationRecord is a record with the fields that look-ups go by; its name is
// its id too.
func attestationRecord(name, flow, kind string, compliant bool, at float64) evidence.Attestation {
	return evidence.Attestation{
		ID: name + "-" + flow, Org: "org", Flow: flow, Trail: "t", Name: name, Type: kind, Compliant: compliant, CreatedAt: at,
	}
}

// putAttestations stores records as the recorder would, without all that follows.
func putAttestations(t *testing.T, store *storage.Store, records ...evidence.Attestation) {
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

// putOldAttestations stores records as the recorder of an earlier version would, which
// declared fewer fields.
func putOldAttestations(t *testing.T, store *storage.Store, records ...evidence.Attestation) {
	t.Helper()
	storeAttestations(t, store, records, func(*evidence.Attestation) map[string]any { return map[string]any{} })
}

// storeAttestations stores records with the fields that were always declared, and more.
func storeAttestations(t *testing.T, store *storage.Store, records []evidence.Attestation, more func(*evidence.Attestation) map[string]any) {
	t.Helper()
	schemas := storage.Schemas()
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

func listed(attestations []evidence.Attestation) string {
	var ids []string
	for _, attestation := range attestations {
		ids = append(ids, attestation.ID)
	}
	return strings.Join(ids, " ")
}

func TestAttestationsAreFoundByAnyCombinationOfFilters(t *testing.T) {
	store, docs, _ := embedded(t)
	foreign := attestationRecord("foreign", "f1", "junit", true, 9)
	foreign.Org = "other"
	putAttestations(t, store, foreign,
		attestationRecord("lint", "f1", "generic", true, 1), attestationRecord("unit", "f1", "junit", true, 2),
		attestationRecord("lint", "f2", "generic", false, 3), attestationRecord("load", "f2", "junit", false, 4))
	for name, c := range map[string]struct {
		query storage.AttestationQuery
		want  string
		known bool
	}{
		"all":             {storage.AttestationQuery{}, "load-f2 lint-f2 unit-f1 lint-f1", true},
		"name":            {storage.AttestationQuery{Name: "lint"}, "lint-f2 lint-f1", true},
		"flow":            {storage.AttestationQuery{Flows: []string{"f1"}}, "unit-f1 lint-f1", true},
		"flows":           {storage.AttestationQuery{Flows: []string{"f1", "f2", "f3"}}, "load-f2 lint-f2 unit-f1 lint-f1", true},
		"no flow":         {storage.AttestationQuery{Flows: []string{}}, "", true},
		"types":           {storage.AttestationQuery{Types: []string{"junit", "snyk"}}, "load-f2 unit-f1", true},
		"span":            {storage.AttestationQuery{From: new(2.0), To: new(3.0)}, "lint-f2 unit-f1", true},
		"flow and span":   {storage.AttestationQuery{Flows: []string{"f2"}, From: new(3.5)}, "load-f2", true},
		"trail and name":  {storage.AttestationQuery{Trail: "f1/t", Name: "lint"}, "lint-f1", true},
		"flow and name":   {storage.AttestationQuery{Flows: []string{"f1"}, Name: "lint"}, "lint-f1", false},
		"flow and type":   {storage.AttestationQuery{Flows: []string{"f2"}, Types: []string{"junit"}}, "load-f2", false},
		"verdict":         {storage.AttestationQuery{Compliant: new(false)}, "load-f2 lint-f2", false},
		"pattern":         {storage.AttestationQuery{NamePattern: "^l.*t$"}, "lint-f2 lint-f1", false},
		"all of them":     {storage.AttestationQuery{Name: "lint", Flows: []string{"f1"}, Types: []string{"generic"}, Compliant: new(true), From: new(0.0), To: new(1.0)}, "lint-f1", false},
		"nothing of them": {storage.AttestationQuery{Name: "lint", Types: []string{"junit"}}, "", false},
	} {
		c.query.Org = "org"
		before := docs.commands.Load()
		list := store.Attestations.List(c.query, "", 10)
		found := allOf(t, list)
		if list.After() != "" || listed(found) != c.want {
			t.Errorf("%s: %s, %q; want %s", name, listed(found), list.After(), c.want)
		}
		if took := docs.commands.Load() - before; took > 1 {
			t.Errorf("%s: took %d commands", name, took)
		}
		total, known, err := store.Attestations.Count(t.Context(), c.query)
		if err != nil || known != c.known || (known && total != int64(len(found))) {
			t.Errorf("%s: counted %d, %t, %v", name, total, known, err)
		}
		if found := allOf(t, store.Attestations.Page(c.query, 1, 1)); len(found) > 1 || (len(found) == 1 && !strings.Contains(c.want, " "+found[0].ID)) {
			t.Errorf("%s: the second is %s", name, listed(found))
		}
	}
}

func TestRareAttestationsAreFoundBehindManyOthers(t *testing.T) {
	store, _, _ := embedded(t)
	records := []evidence.Attestation{attestationRecord("rare", "f", "generic", false, 0)}
	for i := range storage.MaxScan + 10 {
		records = append(records, attestationRecord(fmt.Sprint("n", i), "f", "generic", true, float64(i+1)))
	}
	putAttestations(t, store, records...)
	list := store.Attestations.List(storage.AttestationQuery{Org: "org", Compliant: new(false)}, "", 5)
	if found := allOf(t, list); list.After() != "" || listed(found) != "rare-f" {
		t.Errorf("found %s, %q", listed(found), list.After())
	}
	if far := allOf(t, store.Attestations.Page(storage.AttestationQuery{Org: "org", Flows: []string{"f"}}, storage.MaxScan+10, 5)); listed(far) != "rare-f" {
		t.Errorf("the last page is %s", listed(far))
	}
}

// endless is an engine whose pages are always short, and always go on.
type endless struct {
	storage.Documents
	asked int
}

func (e *endless) Find(_ context.Context, _ *storage.Schema, query storage.Query) (storage.Page, error) {
	e.asked++
	return storage.Page{Next: fmt.Sprint(query.After, "x")}, nil
}

func TestOneListDoesNotSearchForever(t *testing.T) {
	docs := &endless{}
	store := storage.NewStore(docs, nil, time.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(store.Tenancy.Close)
	list := store.Attestations.List(storage.AttestationQuery{Org: "org"}, "", 5)
	if found := allOf(t, list); len(found) != 0 || docs.asked != 20 || list.After() != strings.Repeat("x", 20) {
		t.Errorf("found %s behind %d commands, goes on at %q", listed(found), docs.asked, list.After())
	}
}

func TestAttestationsOfAnArtifactAreThoseBoundToIt(t *testing.T) {
	store, docs, _ := embedded(t)
	fingerprint, commit := sha("abcde", 64), sha("1", 40)
	putArtifacts(t, store, artifactRecord("f", "t", fingerprint, commit, 1), artifactRecord("f", "u", fingerprint, commit, 2))
	make := func(id, trail string, at float64, change func(*evidence.Attestation)) evidence.Attestation {
		record := attestationRecord("check", "f", "generic", true, at)
		record.ID, record.Trail = id, trail
		change(&record)
		return record
	}
	by := func(name, sha1 string) func(*evidence.Attestation) {
		return func(a *evidence.Attestation) {
			a.Targets = []string{"lib", name}
			if sha1 != "" {
				a.Commit = &evidence.GitCommit{SHA1: sha1}
			}
		}
	}
	putAttestations(t, store,
		make("digest", "t", 1, func(a *evidence.Attestation) { a.Fingerprint = fingerprint }),
		make("digest-elsewhere", "w", 2, func(a *evidence.Attestation) { a.Fingerprint = fingerprint }),
		make("other-digest", "t", 3, func(a *evidence.Attestation) { a.Fingerprint = sha("abcdf", 64) }),
		make("commit", "u", 4, by("app", commit)),
		make("other-commit", "u", 5, by("app", sha("2", 40))),
		make("no-commit", "t", 6, by("app", "")),
		make("other-name", "t", 7, by("web", "")),
		make("other-trail", "w", 8, by("app", "")),
		make("trail", "t", 9, func(*evidence.Attestation) {}))
	reports, err := store.Artifacts.Reported(t.Context(), "org", "f", "abcde")
	if err != nil || len(reports) != 2 || reports[0].Trail != "u" {
		t.Fatalf("reports are %v, %v", reports, err)
	}
	before := docs.commands.Load()
	found := allOf(t, store.Attestations.OfArtifact("org", "f", fingerprint, "check", reports, 10))
	if listed(found) != "no-commit commit digest-elsewhere digest" {
		t.Errorf("found %s", listed(found))
	}
	if took := docs.commands.Load() - before; took != 2 {
		t.Errorf("took %d commands", took)
	}
	if found = allOf(t, store.Attestations.OfArtifact("org", "f", fingerprint, "check", reports, 1)); listed(found) != "no-commit" {
		t.Errorf("the newest is %s", listed(found))
	}
	var others []evidence.Attestation
	for i := range storage.MaxMany {
		others = append(others, make(fmt.Sprint("another", i), "u", float64(10+i), by("app", sha("3", 40))))
	}
	putAttestations(t, store, others...)
	if found = allOf(t, store.Attestations.OfArtifact("org", "f", fingerprint, "check", reports, 10)); listed(found) != "no-commit commit digest-elsewhere digest" {
		t.Errorf("behind many others are %s", listed(found))
	}
	if reports, err := store.Artifacts.Reported(t.Context(), "org", "f", "fffff"); err != nil || reports != nil {
		t.Errorf("what was not reported has %v, %v", reports, err)
	}
}
