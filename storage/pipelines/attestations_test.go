package pipelines_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/pipelines"
)

func listed(attestations []evidence.Attestation) string {
	ids := evidence.Map(attestations, func(attestation evidence.Attestation) string { return attestation.ID })
	return strings.Join(ids, " ")
}

func TestAttestationsAreFoundByAnyCombinationOfFilters(t *testing.T) {
	store, docs, _ := apptest.NewStore(t)
	foreign := apptest.AttestationRecord("foreign", "f1", "junit", true, 9)
	foreign.Org = "other"
	apptest.PutAttestations(t, store, foreign,
		apptest.AttestationRecord("lint", "f1", "generic", true, 1), apptest.AttestationRecord("unit", "f1", "junit", true, 2),
		apptest.AttestationRecord("lint", "f2", "generic", false, 3), apptest.AttestationRecord("load", "f2", "junit", false, 4))
	for name, c := range map[string]struct {
		query pipelines.AttestationQuery
		want  string
		known bool
	}{
		"all":             {pipelines.AttestationQuery{}, "load-f2 lint-f2 unit-f1 lint-f1", true},
		"name":            {pipelines.AttestationQuery{Name: "lint"}, "lint-f2 lint-f1", true},
		"flow":            {pipelines.AttestationQuery{Flows: []string{"f1"}}, "unit-f1 lint-f1", true},
		"flows":           {pipelines.AttestationQuery{Flows: []string{"f1", "f2", "f3"}}, "load-f2 lint-f2 unit-f1 lint-f1", true},
		"no flow":         {pipelines.AttestationQuery{Flows: []string{}}, "", true},
		"types":           {pipelines.AttestationQuery{Types: []string{"junit", "snyk"}}, "load-f2 unit-f1", true},
		"span":            {pipelines.AttestationQuery{From: new(2.0), To: new(3.0)}, "lint-f2 unit-f1", true},
		"flow and span":   {pipelines.AttestationQuery{Flows: []string{"f2"}, From: new(3.5)}, "load-f2", true},
		"trail and name":  {pipelines.AttestationQuery{Trail: "f1/t", Name: "lint"}, "lint-f1", true},
		"flow and name":   {pipelines.AttestationQuery{Flows: []string{"f1"}, Name: "lint"}, "lint-f1", false},
		"flow and type":   {pipelines.AttestationQuery{Flows: []string{"f2"}, Types: []string{"junit"}}, "load-f2", false},
		"verdict":         {pipelines.AttestationQuery{Compliant: new(false)}, "load-f2 lint-f2", false},
		"pattern":         {pipelines.AttestationQuery{NamePattern: "^l.*t$"}, "lint-f2 lint-f1", false},
		"all of them":     {pipelines.AttestationQuery{Name: "lint", Flows: []string{"f1"}, Types: []string{"generic"}, Compliant: new(true), From: new(0.0), To: new(1.0)}, "lint-f1", false},
		"nothing of them": {pipelines.AttestationQuery{Name: "lint", Types: []string{"junit"}}, "", false},
	} {
		c.query.Org = "org"
		before := docs.Snapshot().Commands()
		list := pageOf(t, store.Attestations, c.query, "", 10)
		found := apptest.AllOf(t, list)
		if list.After() != "" || listed(found) != c.want {
			t.Errorf("%s: %s, %q; want %s", name, listed(found), list.After(), c.want)
		}
		most := 1
		if c.query.NamePattern != "" {
			most += 3 // the names
		}
		if took := docs.Snapshot().Commands() - before; took > most {
			t.Errorf("%s: took %d commands", name, took)
		}
		total, known, err := store.Attestations.Count(t.Context(), c.query)
		if err != nil || known != c.known || (known && total != int64(len(found))) {
			t.Errorf("%s: counted %d, %t, %v", name, total, known, err)
		}
		second := ""
		if ids := strings.Fields(c.want); len(ids) > 1 {
			second = ids[1]
		}
		if found := apptest.AllOf(t, store.Attestations.Page(c.query, 1, 1)); listed(found) != second {
			t.Errorf("%s: the second is %q, want %q", name, listed(found), second)
		}
	}
}

func TestRareAttestationsAreFoundAmongManyOthers(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	records := []evidence.Attestation{apptest.AttestationRecord("rare", "f", "generic", false, 0)}
	for i := range storage.MaxScan + 10 {
		records = append(records, apptest.AttestationRecord(fmt.Sprint("n", i), "f", "generic", true, float64(i+1)))
	}
	apptest.PutAttestations(t, store, records...)
	list := pageOf(t, store.Attestations, pipelines.AttestationQuery{Org: "org", Compliant: new(false)}, "", 5)
	if found := apptest.AllOf(t, list); list.After() != "" || listed(found) != "rare-f" {
		t.Errorf("found %s, %q", listed(found), list.After())
	}
	if far := apptest.AllOf(t, store.Attestations.Page(pipelines.AttestationQuery{Org: "org", Flows: []string{"f"}}, storage.MaxScan+10, 5)); listed(far) != "rare-f" {
		t.Errorf("the last page is %s", listed(far))
	}
}

// endless is an engine whose pages are always empty and always have a cursor.
type endless struct {
	storage.Documents
	queries int
}

func (e *endless) Find(_ context.Context, _ *storage.Schema, query storage.Query) (storage.Page, error) {
	e.queries++
	return storage.Page{Next: fmt.Sprint(query.After, "x")}, nil
}

func TestListStopsAfterABoundedNumberOfQueries(t *testing.T) {
	docs := &endless{}
	store := app.NewStore(docs, nil, time.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(store.Tenancy.Close)
	list := pageOf(t, store.Attestations, pipelines.AttestationQuery{Org: "org"}, "", 5)
	if found := apptest.AllOf(t, list); len(found) != 0 || docs.queries != 20 || list.After() != strings.Repeat("x", 20) {
		t.Errorf("found %s behind %d commands, goes on at %q", listed(found), docs.queries, list.After())
	}
}

func TestAttestationsOfAnArtifactAreThoseBoundToIt(t *testing.T) {
	store, docs, _ := apptest.NewStore(t)
	fingerprint, commit := apptest.Sha("abcde", 64), apptest.Sha("1", 40)
	apptest.PutArtifacts(t, store, apptest.ArtifactRecord("f", "t", fingerprint, commit, 1), apptest.ArtifactRecord("f", "u", fingerprint, commit, 2))
	make := func(id, trail string, at float64, change func(*evidence.Attestation)) evidence.Attestation {
		record := apptest.AttestationRecord("check", "f", "generic", true, at)
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
	apptest.PutAttestations(t, store,
		make("digest", "t", 1, func(a *evidence.Attestation) { a.Fingerprint = fingerprint }),
		make("digest-elsewhere", "w", 2, func(a *evidence.Attestation) { a.Fingerprint = fingerprint }),
		make("other-digest", "t", 3, func(a *evidence.Attestation) { a.Fingerprint = apptest.Sha("abcdf", 64) }),
		make("commit", "u", 4, by("app", commit)),
		make("other-commit", "u", 5, by("app", apptest.Sha("2", 40))),
		make("no-commit", "t", 6, by("app", "")),
		make("other-name", "t", 7, by("web", "")),
		make("other-trail", "w", 8, by("app", "")),
		make("trail", "t", 9, func(*evidence.Attestation) {}))
	reports, err := store.Artifacts.Reported(t.Context(), "org", "f", "abcde")
	if err != nil || len(reports) != 2 || reports[0].Trail != "u" {
		t.Fatalf("reports are %v, %v", reports, err)
	}
	before := docs.Snapshot().Commands()
	found := ofArtifact(t, store.Attestations, fingerprint, reports, 10)
	if listed(found) != "no-commit commit digest-elsewhere digest" {
		t.Errorf("found %s", listed(found))
	}
	if took := docs.Snapshot().Commands() - before; took != 3 {
		t.Errorf("took %d commands", took)
	}
	if found = ofArtifact(t, store.Attestations, fingerprint, reports, 1); listed(found) != "no-commit" {
		t.Errorf("the newest is %s", listed(found))
	}
	var others []evidence.Attestation
	for i := range storage.MaxMany {
		others = append(others, make(fmt.Sprint("another", i), "u", float64(10+i), by("app", apptest.Sha("3", 40))))
	}
	apptest.PutAttestations(t, store, others...)
	if found = ofArtifact(t, store.Attestations, fingerprint, reports, 10); listed(found) != "no-commit commit digest-elsewhere digest" {
		t.Errorf("behind many others are %s", listed(found))
	}
	if reports, err := store.Artifacts.Reported(t.Context(), "org", "f", "fffff"); err != nil || reports != nil {
		t.Errorf("what was not reported has %v, %v", reports, err)
	}
}

func ofArtifact(t *testing.T, attestations *pipelines.Attestations, fingerprint string, reports []evidence.ArtifactRecord, limit int) []evidence.Attestation {
	t.Helper()
	found, err := attestations.OfArtifact(t.Context(), "org", "f", fingerprint, "check", reports, limit)
	evidencetest.Must(t, err)
	return apptest.AllOf(t, found)
}

func pageOf(t *testing.T, attestations *pipelines.Attestations, query pipelines.AttestationQuery, after string, limit int) *storage.Batches[evidence.Attestation] {
	t.Helper()
	list, err := attestations.List(t.Context(), query, after, limit)
	evidencetest.Must(t, err)
	return list
}
