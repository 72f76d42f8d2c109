package storage_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

type note struct {
	ID    string `json:"id"`
	Topic string `json:"topic"`
	Rank  int64  `json:"rank"`
}

func noteSchema() *storage.Schema {
	return &storage.Schema{
		Name: "notes", Fields: []string{"topic", "rank"},
		Indexes: []storage.Index{{Name: "rank", Fields: []string{"topic", "rank"}}},
	}
}

func newNotes(t *testing.T) (storage.Collection[note], *storagetest.CountingDocuments) {
	t.Helper()
	schema := noteSchema()
	db := pebbletest.Open(t, filepath.Join(t.TempDir(), "notes"), []*storage.Schema{schema})
	counting := storagetest.NewCountingDocuments(db)
	return notesIn(counting, schema), counting
}

func notesIn(docs storage.Documents, schema *storage.Schema) storage.Collection[note] {
	return storage.NewCollection(docs, schema,
		func(n *note) string { return n.ID },
		func(n *note) map[string]any { return map[string]any{"topic": n.Topic, "rank": n.Rank} })
}

func manyNotes(n int) []note {
	notes := make([]note, n)
	for i := range notes {
		notes[i] = note{ID: fmt.Sprintf("%04d", i), Topic: "t", Rank: int64(n - i)}
	}
	return notes
}

func TestCollectionReturnsStoredDocuments(t *testing.T) {
	notes, _ := newNotes(t)
	want := note{ID: "a", Topic: "t", Rank: 3}
	evidencetest.Must(t, notes.Insert(t.Context(), want))
	if err := notes.Insert(t.Context(), want); !errors.Is(err, storage.ErrExists) || !strings.Contains(err.Error(), "notes a") {
		t.Errorf("a second insert returned %v", err)
	}
	if got, err := notes.Get(t.Context(), "a"); err != nil || got != want {
		t.Errorf("got %+v: %v", got, err)
	}
	if _, err := notes.Get(t.Context(), "b"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("an absent document returned %v", err)
	}
}

func TestCollectionReplacesOnlyTheRevisionThatWasRead(t *testing.T) {
	notes, _ := newNotes(t)
	evidencetest.Must(t, notes.Put(t.Context(), note{ID: "a"}))
	read, err := notes.GetVersioned(t.Context(), "a")
	evidencetest.Must(t, err)
	next, err := notes.Replace(t.Context(), note{ID: "a", Rank: 1}, read.Revision)
	if err != nil || next == read.Revision {
		t.Fatalf("revision %d after %d: %v", next, read.Revision, err)
	}
	if _, err := notes.Replace(t.Context(), note{ID: "a", Rank: 2}, read.Revision); !errors.Is(err, storage.ErrMoved) {
		t.Errorf("a stale replace returned %v", err)
	}
	if _, err := notes.Replace(t.Context(), note{ID: "a", Rank: 3}, next); err != nil {
		t.Errorf("a replace of the returned revision: %v", err)
	}
}

func TestCollectionSplitsManyDocumentsIntoCommands(t *testing.T) {
	notes, counting := newNotes(t)
	all := manyNotes(2*storage.MaxMany + 1)
	ids := make([]string, len(all))
	for i, one := range all {
		ids[i] = one.ID
	}
	evidencetest.Must(t, notes.Add(t.Context(), all[:storage.MaxMany+1]...))
	evidencetest.Must(t, notes.Add(t.Context(), all...))
	evidencetest.Must(t, notes.Put(t.Context(), all...))
	if got, err := notes.GetMany(t.Context(), ids); err != nil || len(got) != len(all) || got[2000] != all[2000] {
		t.Fatalf("got %d: %v", len(got), err)
	}
	evidencetest.Must(t, notes.Delete(t.Context(), ids...))
	if got, err := notes.GetMany(t.Context(), ids); err != nil || len(got) != 0 {
		t.Fatalf("got %d deleted ones: %v", len(got), err)
	}
	costs := counting.Snapshot()
	if want := map[string]int{"Write": 5 + 3 + 3, "GetMany": 6}; !maps.Equal(costs.Methods, want) {
		t.Errorf("it took %+v, want %+v", costs, want)
	}
}

func TestCollectionFindsAndCounts(t *testing.T) {
	notes, _ := newNotes(t)
	all := manyNotes(30)
	evidencetest.Must(t, notes.Add(t.Context(), all...))
	query := storage.Query{Index: "rank", Equal: []any{"t"}, Limit: 20}
	first, next, err := notes.Find(t.Context(), query)
	if err != nil || len(first) != 20 || first[0] != all[29] || next == "" {
		t.Fatalf("found %d, first %+v: %v", len(first), first[0], err)
	}
	query.After = next
	second, next, err := notes.Find(t.Context(), query)
	if err != nil || len(second) != 10 || second[9] != all[0] || next != "" {
		t.Fatalf("found %d: %v", len(second), err)
	}
	if n, err := notes.Count(t.Context(), storage.Query{Index: "rank", Equal: []any{"t"}}); err != nil || n != 30 {
		t.Errorf("counted %d: %v", n, err)
	}
}

func TestCountingDocumentsCountsCommandsAndBytes(t *testing.T) {
	notes, counting := newNotes(t)
	evidencetest.Must(t, notes.Insert(t.Context(), note{ID: "a"}))
	// The id, the fields and the body: "a", {"rank":0,"topic":""} and
	// {"id":"a","topic":"","rank":0}.
	if costs := counting.Snapshot(); costs.Commands() != 1 || costs.Methods["Write"] != 1 || costs.Bytes != 1+21+30 {
		t.Errorf("an insert cost %+v", costs)
	}
	counting.Reset()
	_, err := notes.Update(t.Context(), "a", func(n *note) error { n.Rank++; return nil })
	if costs := counting.Snapshot(); err != nil || costs.Methods["Get"] != 1 || costs.Methods["Write"] != 1 || costs.Commands() != 2 {
		t.Errorf("an update cost %+v: %v", costs, err)
	}
}

func TestFindAllStopsAtItsLimit(t *testing.T) {
	notes, _ := newNotes(t)
	evidencetest.Must(t, notes.Add(t.Context(), manyNotes(2*storage.MaxMany)...))
	for _, limit := range []int{1, storage.MaxMany, storage.MaxMany + 500, 2 * storage.MaxMany, storage.Unlimited} {
		found, err := storage.FindAll(t.Context(), notes, storage.Query{Index: "rank", Equal: []any{"t"}, Limit: limit})
		if want := min(limit, 2*storage.MaxMany); err != nil || len(found) != want {
			t.Errorf("limit %d: found %d, %v", limit, len(found), err)
		}
	}
}
