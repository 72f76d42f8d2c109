package pipelines_test

import (
	"context"
	"fmt"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// queries records the queries sent to an engine.
type queries struct {
	storage.Documents
	sent []storage.Query
}

func (q *queries) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	q.sent = append(q.sent, query)
	return q.Documents.Find(ctx, schema, query)
}

func TestFiltersWithoutAMatchDoNotReadOtherAttestations(t *testing.T) {
	store, docs, _ := apptest.NewStore(t)
	var records []evidence.Attestation
	for i := range 2000 {
		record := apptest.AttestationRecord([]string{"lint", "unit"}[i%2], "f", "generic", true, float64(i))
		record.ID = fmt.Sprint("n", i)
		records = append(records, record)
	}
	apptest.PutAttestations(t, store, records...)
	apptest.PutAttestations(t, store, apptest.AttestationRecord("e2e", "f", "generic", false, 2000))
	for name, c := range map[string]struct {
		query    pipelines.AttestationQuery
		commands int
		want     int
	}{
		"verdict":         {pipelines.AttestationQuery{Compliant: new(false)}, 1, 1},
		"pattern":         {pipelines.AttestationQuery{NamePattern: "^deploy"}, 5, 0},
		"matched pattern": {pipelines.AttestationQuery{NamePattern: "in"}, 5, 1000},
	} {
		seen := &queries{Documents: docs}
		c.query.Org = "org"
		found := apptest.AllOf(t, pageOf(t, pipelines.NewAttestations(seen), c.query, "", 1000))
		if len(found) != c.want || len(seen.sent) > c.commands {
			t.Errorf("%s: found %d by %d commands", name, len(found), len(seen.sent))
		}
		for _, query := range seen.sent {
			if len(query.Where) > 0 || query.Index == "time" {
				t.Errorf("%s: reads attestations to leave them out: %+v", name, query)
			}
		}
	}
}

func TestPatternListContinuesInOrderAndAfterCursorsOfEarlierVersions(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	var records []evidence.Attestation
	for i := range 12 {
		records = append(records, apptest.AttestationRecord(fmt.Sprint("n", i%4), fmt.Sprint("f", i), "generic", i%2 == 0, float64(i)))
	}
	apptest.PutAttestations(t, store, records...)
	query := pipelines.AttestationQuery{Org: "org", NamePattern: "^n[02]$", Compliant: new(true)}
	first := pageOf(t, store.Attestations, query, "", 2)
	if found := listed(apptest.AllOf(t, first)); found != "n2-f10 n0-f8" || storage.CursorIndex(first.After()) != "name" {
		t.Fatalf("found %s, then %q", found, first.After())
	}
	if found := listed(apptest.AllOf(t, pageOf(t, store.Attestations, query, first.After(), 9))); found != "n2-f6 n0-f4 n2-f2 n0-f0" {
		t.Errorf("the rest is %s", found)
	}
	byTime := pageOf(t, store.Attestations, pipelines.AttestationQuery{Org: "org"}, "", 4)
	apptest.AllOf(t, byTime)
	if found := listed(apptest.AllOf(t, pageOf(t, store.Attestations, query, byTime.After(), 9))); found != "n2-f6 n0-f4 n2-f2 n0-f0" {
		t.Errorf("behind a cursor by the time is %s", found)
	}
}

func TestPatternOfManyNamesTakesABoundedNumberOfCommands(t *testing.T) {
	store, docs, _ := apptest.NewStore(t)
	var records []evidence.Attestation
	for i := range 150 {
		records = append(records, apptest.AttestationRecord(fmt.Sprint("n", i), "f", "generic", true, float64(i)))
	}
	apptest.PutAttestations(t, store, records...)
	before := docs.Snapshot().Commands()
	list := pageOf(t, store.Attestations, pipelines.AttestationQuery{Org: "org", NamePattern: "9$"}, "", 100)
	if found := apptest.AllOf(t, list); len(found) != 15 {
		t.Errorf("found %s", listed(found))
	}
	if took := docs.Snapshot().Commands() - before; took > 101 {
		t.Errorf("took %d commands", took)
	}
}
