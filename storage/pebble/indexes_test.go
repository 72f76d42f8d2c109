package pebble

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/pebble/ordered"
	"attestry/storage/storagetest"
)

// manySchema declares an index over each list of fields.
func manySchema(indexes ...[]string) *storage.Schema {
	schema := &storage.Schema{Name: "things", Fields: []string{"org", "size"}}
	for i, fields := range indexes {
		schema.Indexes = append(schema.Indexes, storage.Index{Name: fmt.Sprint("index", i), Fields: fields})
	}
	return schema
}

func insertMany(t *testing.T, db *DB, schema *storage.Schema, n int) {
	t.Helper()
	for i := 0; i < n; i += 500 {
		records := make([]storage.Record, 500)
		for j := range records {
			records[j] = storage.Record{
				ID: fmt.Sprintf("%05d", i+j), Revision: 1, Body: make([]byte, 100),
				Fields: map[string]any{"org": "o", "size": int64(n - i - j)},
			}
		}
		evidencetest.Must(t, storagetest.Put(t.Context(), db, schema, records...))
	}
}

func count(t *testing.T, db *DB, schema *storage.Schema, index string) int64 {
	t.Helper()
	n, err := db.Count(t.Context(), schema, storage.Query{Index: index})
	evidencetest.Must(t, err)
	return n
}

// entriesIn counts the keys of a space.
func entriesIn(t *testing.T, db *DB, s space) int {
	t.Helper()
	iterator, err := db.engine.NewIter(&pebble.IterOptions{LowerBound: s[:], UpperBound: ordered.After(s[:])})
	evidencetest.Must(t, err)
	n := 0
	for ok := iterator.First(); ok; ok = iterator.Next() {
		n++
	}
	evidencetest.Must(t, iterator.Close())
	return n
}

func TestOpenBuildsNewIndexesAndDeletesOldOnes(t *testing.T) {
	const n = 30_000 // more than one batch of entries
	folder := t.TempDir()
	before := manySchema([]string{"org"})
	db := openOn(t, folder, nil, before)
	insertMany(t, db, before, n)
	old := db.collections["things"].indexes[0].space
	evidencetest.Must(t, db.Close())

	later := manySchema([]string{"size"}, []string{"org", "size"})
	db = openOn(t, folder, nil, later)
	if got := entriesIn(t, db, old); got != 0 {
		t.Errorf("%d entries are left of the index that is declared no more", got)
	}
	for _, index := range later.Indexes {
		if got := count(t, db, later, index.Name); got != n {
			t.Errorf("%s has %d entries", index.Name, got)
		}
	}
	page, err := db.Find(t.Context(), later, storage.Query{Index: "index0", Limit: 1})
	if err != nil || len(page.Records) != 1 || page.Records[0].ID != fmt.Sprintf("%05d", n-1) {
		t.Errorf("the first by size is %v: %v", page.Records, err)
	}
	evidencetest.Must(t, db.Close())

	db = openOn(t, folder, nil, before)
	if got := count(t, db, before, "index0"); got != n {
		t.Errorf("the index that is declared again has %d entries", got)
	}
	if db.collections["things"].indexes[0].space == old {
		t.Error("the index has its old space")
	}
}

func TestInterruptedIndexIsBuiltFromTheBeginning(t *testing.T) {
	folder := t.TempDir()
	schema := manySchema([]string{"org"})
	db := openOn(t, folder, nil, schema)
	insertMany(t, db, schema, 500)
	// After a crash the index is still in the state building. Here it lacks all entries but one of a missing document.
	one := db.collections["things"].indexes[0]
	batch := db.engine.NewBatch()
	e := &edits{batch: batch}
	(&catalog{entries: map[string]entry{}}).put(e, indexName(schema, &one), entry{space: one.space, state: building})
	e.clear(one.space)
	e.set(one.appendKey(nil, nil, []byte("gone")), nil)
	evidencetest.Must(t, e.err)
	evidencetest.Must(t, db.engine.Apply(batch, pebble.Sync))
	evidencetest.Must(t, batch.Close())
	evidencetest.Must(t, db.Close())

	db = openOn(t, folder, nil, schema)
	if got := entriesIn(t, db, one.space); got != 500 {
		t.Errorf("the index has %d entries", got)
	}
}

func TestCollectionThatIsNotDeclaredKeepsItsIndexes(t *testing.T) {
	folder := t.TempDir()
	schema := manySchema([]string{"org"})
	db := openOn(t, folder, nil, schema)
	insertMany(t, db, schema, 500)
	evidencetest.Must(t, db.Close())
	evidencetest.Must(t, openOn(t, folder, nil, &storage.Schema{Name: "others"}).Close())
	if got := count(t, openOn(t, folder, nil, schema), schema, "index0"); got != 500 {
		t.Errorf("the index has %d entries", got)
	}
}

// TestWritesLeaveNoStaleKeys counts the keys after each kind of change of a document.
func TestWritesLeaveNoStaleKeys(t *testing.T) {
	db, _ := openFaulty(t)
	c := db.collections["things"]
	check := func(step string, records, bodies, entries int) {
		t.Helper()
		for name, row := range map[string]struct {
			space space
			want  int
		}{"records": {c.records, records}, "bodies": {c.bodies, bodies}, "entries": {c.indexes[0].space, entries}} {
			if got := entriesIn(t, db, row.space); got != row.want {
				t.Errorf("after %s there are %d %s, want %d", step, got, name, row.want)
			}
		}
	}
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), large("a")))
	check("a large document", 1, 1, 1)
	moved := plain("a")
	moved.Fields = map[string]any{"org": "p"}
	evidencetest.Must(t, storagetest.Replace(t.Context(), db, plainSchema(), moved, 1))
	check("a small one in its place", 1, 0, 1)
	evidencetest.Must(t, storagetest.Put(t.Context(), db, plainSchema(), large("a")))
	check("a large one again", 1, 1, 1)
	evidencetest.Must(t, storagetest.Delete(t.Context(), db, plainSchema(), "a", "a"))
	check("its deletion", 0, 0, 0)
}

// TestIndexHasOnlyDocumentsWithItsRequiredField lets a document gain and lose the field, and then builds the
// index of stored documents.
func TestIndexHasOnlyDocumentsWithItsRequiredField(t *testing.T) {
	folder := t.TempDir()
	schema := manySchema([]string{"org", "size"})
	schema.Indexes[0].Required = "size"
	db := openOn(t, folder, nil, schema)
	with := func(fields map[string]any) storage.Record {
		return storage.Record{ID: "a", Revision: 1, Fields: fields, Body: []byte("{}")}
	}
	for _, step := range []struct {
		name   string
		record storage.Record
		want   int
	}{
		{"without it", with(map[string]any{"org": "o"}), 0},
		{"with it", with(map[string]any{"org": "o", "size": int64(1)}), 1},
		{"with another value", with(map[string]any{"org": "o", "size": int64(2)}), 1},
		{"without it again", with(map[string]any{"org": "o"}), 0},
	} {
		evidencetest.Must(t, storagetest.Put(t.Context(), db, schema, step.record))
		if got := entriesIn(t, db, db.collections["things"].indexes[0].space); got != step.want {
			t.Errorf("%s: %d entries, want %d", step.name, got, step.want)
		}
	}
	insertMany(t, db, schema, 500)
	evidencetest.Must(t, db.Close())

	whole := manySchema([]string{"org", "size"})
	db = openOn(t, folder, nil, whole)
	if got := entriesIn(t, db, db.collections["things"].indexes[0].space); got != 501 {
		t.Errorf("the index over all documents has %d entries", got)
	}
	evidencetest.Must(t, db.Close())
	db = openOn(t, folder, nil, schema)
	if got := entriesIn(t, db, db.collections["things"].indexes[0].space); got != 500 {
		t.Errorf("the index over those with the field has %d entries", got)
	}
}

// TestIndexHasOnlyDocumentsWithItsOnlyValue also builds the index of stored documents.
func TestIndexHasOnlyDocumentsWithItsOnlyValue(t *testing.T) {
	folder := t.TempDir()
	whole, narrow := manySchema([]string{"org", "size"}), manySchema([]string{"org", "size"})
	whole.Indexes[0].Required = "size"
	narrow.Indexes[0].Required, narrow.Indexes[0].Only = "size", int64(2)
	for _, step := range []struct {
		schema *storage.Schema
		want   int
	}{{narrow, 1}, {whole, 3}, {narrow, 1}} {
		db := openOn(t, folder, nil, step.schema)
		for i, size := range []any{int64(1), int64(2), int64(3), nil} {
			evidencetest.Must(t, storagetest.Put(t.Context(), db, step.schema, storage.Record{
				ID: fmt.Sprint(i), Revision: 1, Fields: map[string]any{"org": "o", "size": size}, Body: []byte("{}"),
			}))
		}
		if got := entriesIn(t, db, db.collections["things"].indexes[0].space); got != step.want {
			t.Errorf("%d entries, want %d", got, step.want)
		}
		evidencetest.Must(t, db.Close())
	}
}
