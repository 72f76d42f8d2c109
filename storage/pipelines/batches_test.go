package pipelines_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/pipelines"
	"attestry/storage/storagetest"
)

// bulky returns an attestation whose document has a bit more than size bytes.
func bulky(name string, size int, at float64) evidence.Attestation {
	record := apptest.AttestationRecord(name, "f", "generic", true, at)
	record.Description = new(strings.Repeat("x", size))
	return record
}

func TestListIsReadInBatchesBoundedInBytes(t *testing.T) {
	store, docs, _ := apptest.NewStore(t)
	var records []evidence.Attestation
	for i := range 30 {
		records = append(records, bulky(fmt.Sprint("a", i), 10_000, float64(i)))
	}
	apptest.PutAttestations(t, store, records...)
	query := pipelines.AttestationQuery{Org: "org"}
	for name, row := range map[string]struct {
		list  func() *storage.Batches[evidence.Attestation]
		found int
	}{
		"page":   {func() *storage.Batches[evidence.Attestation] { return store.Attestations.Page(query, 0, 1000) }, 30},
		"limit":  {func() *storage.Batches[evidence.Attestation] { return store.Attestations.Page(query, 2, 25) }, 25},
		"cursor": {func() *storage.Batches[evidence.Attestation] { return pageOf(t, store.Attestations, query, "", 29) }, 29},
	} {
		t.Run(name, func(t *testing.T) {
			batches := apptest.QueryBatches(t, row.list(), 100_000)
			var found []evidence.Attestation
			for _, batch := range batches {
				if len(batch) > 9 {
					t.Errorf("a batch has %d documents of more than 10,000 bytes", len(batch))
				}
				found = append(found, batch...)
			}
			if len(batches) < 3 || listed(found) != listed(apptest.AllOf(t, row.list())) || len(found) != row.found {
				t.Errorf("%d documents in %d batches: %s", len(found), len(batches), listed(found))
			}
		})
	}
	before := docs.Snapshot().Commands()
	if batches := apptest.QueryBatches(t, store.Attestations.Page(query, 0, 1000), apptest.WholeBatch); len(batches) != 1 || docs.Snapshot().Commands()-before != 1 {
		t.Errorf("a list that fits one batch took %d commands", docs.Snapshot().Commands()-before)
	}
}

func TestCursorOfABatchContinuesTheList(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	for i := range 10 {
		apptest.PutAttestations(t, store, bulky(fmt.Sprint("a", i), 10_000, float64(i)))
	}
	query := pipelines.AttestationQuery{Org: "org"}
	list := pageOf(t, store.Attestations, query, "", 10)
	first, err := list.Next(t.Context(), 50_000)
	if err != nil || len(first) == 0 || len(first) > 5 || list.After() == "" {
		t.Fatalf("%d found, %v", len(first), err)
	}
	rest := apptest.AllOf(t, pageOf(t, store.Attestations, query, list.After(), 10))
	if all := slices.Concat(first, rest); listed(all) != listed(apptest.AllOf(t, pageOf(t, store.Attestations, query, "", 10))) {
		t.Errorf("first %s, then %s", listed(first), listed(rest))
	}
}

func TestAttestationsOfAnArtifactAreReadBatchByBatch(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	fingerprint, commit := apptest.Sha("abcde", 64), apptest.Sha("1", 40)
	apptest.PutArtifacts(t, store, apptest.ArtifactRecord("f", "t", fingerprint, commit, 1))
	var want []string
	for i := range 40 {
		record := bulky("check", 5_000, float64(i))
		record.ID = fmt.Sprintf("%02d", i)
		if i%3 == 0 || i > 30 {
			record.Fingerprint = fingerprint
		} else {
			record.Targets = []string{"app"}
		}
		apptest.PutAttestations(t, store, record)
		want = append([]string{record.ID}, want...)
	}
	reports, err := store.Artifacts.Reported(t.Context(), "org", "f", fingerprint)
	if err != nil || len(reports) != 1 {
		t.Fatalf("reports are %v, %v", reports, err)
	}
	for _, limit := range []int{100, 17} {
		var found []evidence.Attestation
		list, err := store.Attestations.OfArtifact(t.Context(), "org", "f", fingerprint, "check", reports, limit)
		evidencetest.Must(t, err)
		for _, batch := range apptest.QueryBatches(t, list, 40_000) {
			if len(batch) > 8 {
				t.Errorf("a batch has %d documents of more than 5,000 bytes", len(batch))
			}
			found = append(found, batch...)
		}
		if got := listed(found); got != strings.Join(want[:min(limit, len(want))], " ") {
			t.Errorf("limit %d: %s", limit, got)
		}
	}
}

func TestDocumentsAreReadByIDInBatchesBoundedInBytes(t *testing.T) {
	store, docs, _ := apptest.NewStore(t)
	commit := apptest.Sha("1", 39)
	var records []evidence.ArtifactRecord
	for i := range 300 {
		record := apptest.ArtifactRecord("f", "t", apptest.Sha("1", 64), commit+"0", float64(i))
		record.Description = strings.Repeat("x", 10_000)
		records = append(records, record)
	}
	apptest.PutArtifacts(t, store, records...)
	read := func() *storage.Batches[evidence.ArtifactRecord] {
		list, err := store.Artifacts.OfCommit(t.Context(), "org", "f", "", commit, 300)
		evidencetest.Must(t, err)
		return list
	}
	found := 0
	for i, batch := range apptest.QueryBatches(t, read(), 500_000) {
		if len(batch) > 49 {
			t.Errorf("batch %d has %d documents of more than 10,000 bytes", i, len(batch))
		}
		found += len(batch)
	}
	if found != 300 {
		t.Errorf("%d found", found)
	}
	before := docs.Snapshot().Commands()
	if all := apptest.AllOf(t, read()); len(all) != 300 || all[0].CreatedAt != 299 || all[299].CreatedAt != 0 || docs.Snapshot().Commands()-before != 3 {
		t.Errorf("%d found with %d commands", len(all), docs.Snapshot().Commands()-before)
	}
}

func TestVersionsOfEachTypeAreReadInBatches(t *testing.T) {
	types, counting, _ := newTypes(t)
	for k, name := range []string{"b", "a"} {
		for i := range 30 {
			putTypes(t, types, typeVersion("o", name, `. != "`+strings.Repeat("x", 5_000)+`"`, float64(k*100+i)))
		}
	}
	counting.Reset()
	list := types.List("o")
	all, err := list.Next(t.Context(), 50_000)
	if err != nil || len(all) != 2 || list.More() || counting.Snapshot().Commands() != 2 {
		t.Fatalf("%d types with %d commands, %v", len(all), counting.Snapshot().Commands(), err)
	}
	for i, name := range []string{"b", "a"} {
		batches := apptest.QueryBatches(t, all[i].Versions, 50_000)
		if versions := slices.Concat(batches...); all[i].Name != name || len(versions) != 30 || versions[0].Version != 30 || versions[0].Name != name || len(batches) < 3 {
			t.Errorf("%s has %d versions in %d batches", all[i].Name, len(versions), len(batches))
		}
	}
}

func TestReadsAreCharged(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	apptest.PutAttestations(t, store, bulky("a", 10_000, 1), bulky("b", 10_000, 2))
	read := 0
	full := errors.New("enough")
	ctx := storage.WithCharge(t.Context(), func(bytes int) error {
		if read += bytes; read > 35_000 {
			return full
		}
		return nil
	})
	if _, err := store.Attestations.Get(ctx, "org", "a-f"); err != nil || read < 10_000 || read > 11_000 {
		t.Errorf("charged %d, %v", read, err)
	}
	query := pipelines.AttestationQuery{Org: "org"}
	if _, err := store.Attestations.Page(query, 0, 10).Next(ctx, apptest.WholeBatch); err != nil || read < 30_000 || read > 33_000 {
		t.Errorf("charged %d, %v", read, err)
	}
	if _, err := store.Attestations.Page(query, 0, 1).Next(ctx, apptest.WholeBatch); !errors.Is(err, full) {
		t.Errorf("a charge that was refused: %v", err)
	}
	charged := read
	if found := apptest.AllOf(t, store.Attestations.Page(query, 0, 10)); len(found) != 2 || read != charged {
		t.Errorf("%d found, charged %d without a context that says so", len(found), read-charged)
	}
	if _, err := store.Attestations.Get(storage.WithCharge(ctx, nil), "org", "a-f"); err != nil || read != charged {
		t.Errorf("charged %d more, %v", read-charged, err)
	}
}

func TestAttestationsByCommitAreTheNewestOfAllCommits(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	for i, commit := range []string{"aa", "bb", "aa", "bb", "aa", "dd"} {
		record := apptest.AttestationRecord(fmt.Sprint(commit, i), "f", "generic", true, float64(i))
		record.CommitSHA = commit
		apptest.PutAttestations(t, store, record)
	}
	query := pipelines.AttestationQuery{Org: "org", Commits: []string{"aa", "bb", "cc"}}
	for _, c := range []struct{ limit, maxBytes, commands int }{
		{10, apptest.WholeBatch, 1}, {3, apptest.WholeBatch, 1}, {10, 1, 7}, {3, 1, 5},
	} {
		want := map[string]string{"aa": "aa4-f aa2-f aa0-f", "bb": "bb3-f bb1-f", "cc": ""}
		if c.limit == 3 {
			want = map[string]string{"aa": "aa4-f aa2-f", "bb": "bb3-f", "cc": ""}
		}
		open := func() storage.Documents { return store.Documents }
		storagetest.EachFailure(t, c.commands, open, func(docs storage.Documents) error {
			lists, err := pipelines.NewAttestations(docs).ByCommit(t.Context(), query, c.limit, c.maxBytes)
			if err != nil {
				return err
			}
			for _, commit := range query.Commits {
				var found []evidence.Attestation
				for list := lists[commit]; list.More(); {
					batch, err := list.Next(t.Context(), c.maxBytes)
					if err != nil {
						return err
					}
					found = append(found, batch...)
				}
				if listed(found) != want[commit] {
					t.Errorf("at most %d in %d bytes: %s has %s, want %s", c.limit, c.maxBytes, commit, listed(found), want[commit])
				}
			}
			if len(lists) != len(query.Commits) {
				t.Errorf("%d lists", len(lists))
			}
			return nil
		})
	}
}

func TestAttestationsRecordedWhileThoseOfACommitAreReadHideNone(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	put := func(id string, at float64) {
		record := apptest.AttestationRecord(id, "f", "generic", true, at)
		record.CommitSHA = "aa"
		apptest.PutAttestations(t, store, record)
	}
	put("one", 1)
	put("two", 2)
	lists, err := store.Attestations.ByCommit(t.Context(), pipelines.AttestationQuery{Org: "org", Commits: []string{"aa"}}, 10, 1)
	evidencetest.Must(t, err)
	put("three", 3)
	if got := listed(slices.Concat(apptest.QueryBatches(t, lists["aa"], 1)...)); got != "three-f two-f one-f" {
		t.Errorf("listed %s", got)
	}
}
