package storagetest

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"attestry/evidence"
	"attestry/storage"
)

// others is a second collection for batches.
func others() *storage.Schema {
	return &storage.Schema{Name: "others", Fields: []string{"org"}, Indexes: []storage.Index{{Name: "org", Fields: []string{"org"}}}}
}

// newPair returns a new database with the collections things and others.
func newPair(t *testing.T, engine DocumentsEngine) (db *database, second *storage.Schema) {
	t.Helper()
	second = others()
	return newDatabaseOf(t, engine, things(), second), second
}

func mustRefuse(t *testing.T, err error, index int, reason error) {
	t.Helper()
	var refused *storage.RefusedWrite
	if !errors.As(err, &refused) || refused.Index != index || !errors.Is(err, reason) {
		t.Fatalf("got error %v, want write %d refused: %v", err, index, reason)
	}
}

func (d *database) absent(schema *storage.Schema, id string) {
	d.t.Helper()
	_, err := d.Get(d.t.Context(), schema, id)
	mustBe(d.t, err, storage.ErrNotFound)
}

func testBatch(t *testing.T, engine DocumentsEngine) {
	db, second := newPair(t, engine)
	db.insert(record("a", 1, map[string]any{"org": "before"}), record("gone", 1, map[string]any{"org": "before"}), record("same", 1, nil))
	after := map[string]any{"org": "after"}
	mustBe(t, db.Write(t.Context(),
		storage.Write{Kind: storage.WriteCheck, Schema: db.schema, Record: storage.Record{ID: "same"}, Revision: 1},
		storage.Write{Kind: storage.WriteCheck, Schema: db.schema, Record: storage.Record{ID: "nowhere"}},
		storage.Write{Kind: storage.WriteReplace, Schema: db.schema, Record: record("a", 2, after), Revision: 1},
		storage.Write{Kind: storage.WriteInsert, Schema: second, Record: record("x", 3, after)},
		storage.Write{Kind: storage.WritePut, Schema: second, Record: record("y", 4, after)},
		storage.Write{Kind: storage.WritePut, Schema: second, Record: record("x", 5, after)},
		storage.Write{Kind: storage.WriteAdd, Schema: second, Record: record("x", 6, after)},
		storage.Write{Kind: storage.WriteAdd, Schema: second, Record: record("z", 7, after)},
		storage.Write{Kind: storage.WriteAdd, Schema: second, Record: record("z", 8, nil)},
		storage.Write{Kind: storage.WriteDelete, Schema: db.schema, Record: storage.Record{ID: "gone"}},
		storage.Write{Kind: storage.WriteDelete, Schema: db.schema, Record: storage.Record{ID: "never there"}},
		storage.Write{Kind: storage.WriteInsert, Schema: db.schema, Record: record("gone", 6, after)},
		storage.Write{Kind: storage.WriteReplace, Schema: db.schema, Record: record("gone", 7, after), Revision: 6},
		storage.Write{Kind: storage.WriteDelete, Schema: db.schema, Record: storage.Record{ID: "same"}},
	), nil)
	mustEqual(t, db.get("a"), record("a", 2, after))
	mustEqual(t, db.get("gone"), record("gone", 7, after))
	db.absent(db.schema, "same")
	for id, revision := range map[string]int64{"x": 5, "y": 4, "z": 7} {
		got, err := db.Get(t.Context(), second, id)
		mustBe(t, err, nil)
		mustEqual(t, got, record(id, revision, after))
	}
	for org, want := range map[string]int64{"before": 0, "after": 2} {
		n, err := db.Count(t.Context(), db.schema, storage.Query{Index: "time", Equal: []any{org}})
		if err != nil || n != want {
			t.Errorf("the index has %d entries of %s: %v, want %d", n, org, err, want)
		}
	}
	mustBe(t, db.Write(t.Context()), nil)
}

// testUnconditional writes to a collection in which an engine need not read documents that it overwrites or deletes.
func testUnconditional(t *testing.T, engine DocumentsEngine) {
	schema := &storage.Schema{Name: "unconditional", Unconditional: true}
	db := newDatabaseOf(t, engine, schema)
	mustBe(t, Put(t.Context(), db, schema, record("old", 1, nil), record("gone", 1, nil), record("stays", 1, nil)), nil)
	mustBe(t, db.Write(t.Context(),
		storage.Write{Kind: storage.WritePut, Schema: schema, Record: record("old", 2, nil)},
		storage.Write{Kind: storage.WriteAdd, Schema: schema, Record: record("stays", 2, nil)},
		storage.Write{Kind: storage.WriteDelete, Schema: schema, Record: storage.Record{ID: "gone"}},
		storage.Write{Kind: storage.WriteDelete, Schema: schema, Record: storage.Record{ID: "never there"}},
		storage.Write{Kind: storage.WritePut, Schema: schema, Record: record("new", 1, nil)},
		storage.Write{Kind: storage.WriteAdd, Schema: schema, Record: record("new", 2, nil)},
		storage.Write{Kind: storage.WriteDelete, Schema: schema, Record: storage.Record{ID: "new"}},
		storage.Write{Kind: storage.WriteInsert, Schema: schema, Record: record("new", 3, nil)},
	), nil)
	mustRefuse(t, db.Write(t.Context(), storage.Write{Kind: storage.WriteInsert, Schema: schema, Record: record("old", 9, nil)}), 0, storage.ErrExists)
	mustBe(t, Replace(t.Context(), db, schema, record("old", 9, nil), 1), storage.ErrMoved)
	all, err := db.List(t.Context(), schema, "", storage.MaxMany, storage.MaxBody)
	mustBe(t, err, nil)
	want := []storage.Record{record("new", 3, nil), record("old", 2, nil), record("stays", 1, nil)}
	if len(all) != len(want) {
		t.Fatalf("%d documents", len(all))
	}
	for i := range want {
		mustEqual(t, all[i], want[i])
	}
}

func testRefusedBatch(t *testing.T, engine DocumentsEngine) {
	refusals := map[string]struct {
		write  storage.Write
		reason error
	}{
		"insert of a taken id":          {storage.Write{Kind: storage.WriteInsert, Record: record("a", 9, nil)}, storage.ErrExists},
		"replace at another revision":   {storage.Write{Kind: storage.WriteReplace, Record: record("a", 9, nil), Revision: 8}, storage.ErrMoved},
		"replace of an absent document": {storage.Write{Kind: storage.WriteReplace, Record: record("nowhere", 9, nil), Revision: 8}, storage.ErrMoved},
		"check at another revision":     {storage.Write{Kind: storage.WriteCheck, Record: storage.Record{ID: "a"}, Revision: 8}, storage.ErrMoved},
		"check for absence":             {storage.Write{Kind: storage.WriteCheck, Record: storage.Record{ID: "a"}}, storage.ErrMoved},
		"check of an absent document":   {storage.Write{Kind: storage.WriteCheck, Record: storage.Record{ID: "nowhere"}, Revision: 8}, storage.ErrMoved},
	}
	for name, refusal := range refusals {
		for position := range 3 {
			t.Run(name+" at "+strconv.Itoa(position), func(t *testing.T) {
				db, second := newPair(t, engine)
				db.insert(record("a", 1, nil))
				writes := []storage.Write{
					{Kind: storage.WriteInsert, Schema: second, Record: record("b", 1, nil)},
					{Kind: storage.WritePut, Schema: db.schema, Record: record("c", 1, nil)},
				}
				refusal.write.Schema = db.schema
				writes = append(writes[:position:position], append([]storage.Write{refusal.write}, writes[position:]...)...)
				mustRefuse(t, db.Write(t.Context(), writes...), position, refusal.reason)
				mustEqual(t, db.get("a"), record("a", 1, nil))
				db.absent(db.schema, "nowhere")
				for _, later := range writes[position+1:] {
					db.absent(later.Schema, later.Record.ID)
				}
			})
		}
	}
}

func testFaultyBatch(t *testing.T, engine DocumentsEngine) {
	db, _ := newPair(t, engine)
	good := storage.Write{Kind: storage.WriteInsert, Schema: db.schema, Record: record("good", 1, nil)}
	for name, faulty := range map[string]storage.Write{
		"no revision":          {Kind: storage.WritePut, Schema: db.schema, Record: record("x", 0, nil)},
		"no expected revision": {Kind: storage.WriteReplace, Schema: db.schema, Record: record("x", 1, nil)},
		"undeclared field":     {Kind: storage.WriteInsert, Schema: db.schema, Record: record("x", 1, map[string]any{"colour": "red"})},
		"text with NUL":        {Kind: storage.WriteDelete, Schema: db.schema, Record: storage.Record{ID: "a\x00b"}},
		"undeclared":           {Kind: storage.WriteInsert, Schema: &storage.Schema{Name: "nothing"}, Record: record("x", 1, nil)},
		"unknown kind":         {Kind: 99, Schema: db.schema, Record: record("x", 1, nil)},
	} {
		if err := db.Write(t.Context(), good, faulty); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := db.Write(t.Context(), make([]storage.Write, storage.MaxMany+1)...); err == nil {
		t.Error("more than MaxMany writes were accepted")
	}
	text := storage.Write{Kind: storage.WritePut, Schema: db.schema, Record: record("a\xffb", 1, nil)}
	if err := db.Write(t.Context(), text); evidence.CodeOf(err) != evidence.Invalid {
		t.Errorf("text that is not UTF-8: got %v, want an invalid", err)
	}
	db.absent(db.schema, "good")
}

// testRacingBatches increments a counter and inserts a receipt in one batch. A writer whose batch is refused retries,
// so every increment has one receipt.
func testRacingBatches(t *testing.T, engine DocumentsEngine) {
	const rounds = 10
	db, second := newPair(t, engine)
	counter := func(n, revision int64) storage.Record {
		return storage.Record{ID: "counter", Revision: revision, Fields: map[string]any{"size": n}, Body: []byte("{}")}
	}
	db.insert(counter(0, 1))
	each(t, func(writer int) error {
		for round := range rounds {
			for try := int64(1); ; try++ {
				seen, err := db.Get(t.Context(), db.schema, "counter")
				if err != nil {
					return err
				}
				n := seen.Fields["size"].(int64) + 1
				err = db.Write(t.Context(),
					storage.Write{Kind: storage.WriteReplace, Schema: db.schema, Record: counter(n, int64(writer+1)<<40+int64(round)<<20+try), Revision: seen.Revision},
					storage.Write{Kind: storage.WriteInsert, Schema: second, Record: record(fmt.Sprint("receipt-", n), int64(writer*rounds+round+1), map[string]any{"org": "o"})},
				)
				if err == nil {
					break
				}
				if !errors.Is(err, storage.ErrMoved) {
					return err
				}
			}
		}
		return nil
	})
	if n := db.get("counter").Fields["size"]; n != int64(Writers*rounds) {
		t.Errorf("counted to %v, want %d", n, Writers*rounds)
	}
	if n, err := db.Count(t.Context(), second, storage.Query{Index: "org", Equal: []any{"o"}}); err != nil || n != Writers*rounds {
		t.Errorf("there are %d receipts: %v, want %d", n, err, Writers*rounds)
	}
}
