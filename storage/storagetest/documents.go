package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/storage"
)

// DocumentsEngine locates and opens databases of one engine of storage.Documents.
type DocumentsEngine struct {
	// Locate names a database that does not exist yet and is removed at the end of the test.
	Locate func(t *testing.T) string
	// Open opens the database at a location. The suite closes it.
	Open func(t *testing.T, location string, schemas ...*storage.Schema) storage.Documents
}

// Documents is the conformance suite of engines of storage.Documents. The test that calls it must do nothing else,
// because testKilled runs that test again in a child process.
func Documents(t *testing.T, engine DocumentsEngine) {
	if location := os.Getenv(victimLocation); location != "" {
		beVictim(t, engine, location)
	}
	tests := map[string]func(*testing.T, DocumentsEngine){
		"InsertRefusesATakenId":                  testInsert,
		"AddSkipsTakenIds":                       testAdd,
		"PutOverwrites":                          testPut,
		"ReplaceNeedsTheRevision":                testReplace,
		"DeleteRemovesExistingDocuments":         testDelete,
		"GetManyKeepsTheOrderOfIds":              testGetMany,
		"RecordsComeBackExactly":                 testRoundTrip,
		"TextThatCannotBeStoredIsRefused":        testText,
		"FaultyWritesAreRefused":                 testFaultyWrites,
		"DocumentsSurviveReopening":              testReopen,
		"ClosedEngineReturnsErrors":              testClosed,
		"CancelledContextReturns":                testCancelled,
		"EntriesComeInOrder":                     testOrder,
		"EveryQueryAgreesWithAModel":             testModel,
		"SetOfManyValuesIsMerged":                testBigSet,
		"TiesAreSplitOverPages":                  testTies,
		"FloatsArePagedWithoutLossOrDuplicates":  testFloats,
		"CursorOfAnotherQueryIsRefused":          testForeignCursor,
		"IndexOfOneValueFindsItsDocuments":       testIndexOfOneValue,
		"FaultyQueriesAreRefused":                testFaultyQueries,
		"PageScansNoMoreThanMaxScan":             testMaxScan,
		"PageHoldsNoMoreThanMaxBytes":            testMaxBytes,
		"PagesBoundedInBytesLoseNothing":         testMaxBytesLosesNothing,
		"ReadsAreChargedBodyByBody":              testCharge,
		"ListIsInTheOrderOfIds":                  testList,
		"ListHoldsNoMoreThanMaxBytes":            testListMaxBytes,
		"ListLosesNothing":                       testListLosesNothing,
		"CountMatchesTheQuery":                   testCount,
		"KilledProcessLosesNoAcknowledgedWrite":  testKilled,
		"UpdatesOfOneDocumentLoseNothing":        testUpdates,
		"RacingInsertsHaveOneWinner":             testRacingInserts,
		"ConcurrentAddsStoreEachDocumentOnce":    testRacingAdds,
		"BatchIsAppliedInOrder":                  testBatch,
		"UnconditionalDocumentsArePutAndDeleted": testUnconditional,
		"RefusedWriteEndsItsBatch":               testRefusedBatch,
		"FaultyBatchWritesNothing":               testFaultyBatch,
		"RacingBatchesLoseNothing":               testRacingBatches,
		"ConcurrentPutsLeaveWholeDocuments":      testRacingPuts,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, engine) })
	}
}

// scaled returns a number of documents or queries: fewer with -short, because a substitute for MongoDB scans the
// whole collection for each query.
func scaled(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}

// things is the collection that the suite uses.
func things() *storage.Schema {
	return &storage.Schema{
		Name:   "things",
		Fields: []string{"org", "kind", "time", "size", "name", "flag"},
		Indexes: []storage.Index{
			{Name: "time", Fields: []string{"org", "time"}},
			{Name: "kind", Fields: []string{"org", "kind", "time"}},
			{Name: "size", Fields: []string{"size"}},
			{Name: "name", Fields: []string{"org", "name", "size"}},
			{Name: "flag", Fields: []string{"flag"}},
			{Name: "named", Fields: []string{"org", "name", "time"}, Required: "name"},
			{Name: "flagged", Fields: []string{"org", "flag", "time"}, Required: "flag", Only: true},
		},
	}
}

// database is a new database; schema is its first collection.
type database struct {
	storage.Documents
	t      *testing.T
	schema *storage.Schema
}

func newDatabase(t *testing.T, engine DocumentsEngine) *database {
	t.Helper()
	return newDatabaseOf(t, engine, things())
}

func newDatabaseOf(t *testing.T, engine DocumentsEngine, schemas ...*storage.Schema) *database {
	t.Helper()
	db := &database{t: t, schema: schemas[0], Documents: engine.Open(t, engine.Locate(t), schemas...)}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (d *database) insert(records ...storage.Record) {
	d.t.Helper()
	for len(records) > 0 {
		n := min(len(records), storage.MaxMany)
		if err := Add(d.t.Context(), d, d.schema, records[:n]...); err != nil {
			d.t.Fatalf("Add of %d: %v", n, err)
		}
		records = records[n:]
	}
}

func (d *database) get(id string) storage.Record {
	d.t.Helper()
	record, err := d.Get(d.t.Context(), d.schema, id)
	if err != nil {
		d.t.Fatalf("Get %s: %v", id, err)
	}
	return record
}

func record(id string, revision int64, fields map[string]any) storage.Record {
	return storage.Record{ID: id, Revision: revision, Fields: fields, Body: []byte(fmt.Sprintf(`{"id":%q,"revision":%d}`, id, revision))}
}

func mustEqual(t *testing.T, got, want storage.Record) {
	t.Helper()
	if got.ID != want.ID || got.Revision != want.Revision || !bytes.Equal(got.Body, want.Body) {
		t.Fatalf("got record %s at %d with %d bytes, want %s at %d with %d bytes",
			got.ID, got.Revision, len(got.Body), want.ID, want.Revision, len(want.Body))
	}
	fields := maps.Clone(want.Fields)
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	if !maps.Equal(got.Fields, fields) {
		t.Fatalf("got fields %#v of %s, want %#v", got.Fields, got.ID, fields)
	}
}

func mustBe(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func testInsert(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	_, err := db.Get(t.Context(), db.schema, "a")
	mustBe(t, err, storage.ErrNotFound)
	first := record("a", 1, map[string]any{"org": "o"})
	mustBe(t, Insert(t.Context(), db, db.schema, first), nil)
	mustBe(t, Insert(t.Context(), db, db.schema, record("a", 2, nil)), storage.ErrExists)
	mustEqual(t, db.get("a"), first)
}

func testAdd(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	db.insert(record("b", 1, nil))
	mustBe(t, Add(t.Context(), db, db.schema,
		record("a", 2, nil), record("b", 2, nil), record("c", 2, nil), record("c", 3, nil)), nil)
	for id, revision := range map[string]int64{"a": 2, "b": 1, "c": 2} {
		mustEqual(t, db.get(id), record(id, revision, nil))
	}
	mustBe(t, Add(t.Context(), db, db.schema), nil)
}

func testPut(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	db.insert(record("a", 1, map[string]any{"org": "before"}))
	after := record("a", 2, map[string]any{"org": "after"})
	mustBe(t, Put(t.Context(), db, db.schema, after, record("b", 3, nil), record("b", 4, nil)), nil)
	mustEqual(t, db.get("a"), after)
	mustEqual(t, db.get("b"), record("b", 4, nil))
	mustBe(t, Put(t.Context(), db, db.schema), nil)
	if n, err := db.Count(t.Context(), db.schema, storage.Query{Index: "time", Equal: []any{"before"}}); err != nil || n != 0 {
		t.Fatalf("%d entries are left of what was overwritten: %v", n, err)
	}
}

func testReplace(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	db.insert(record("a", 1, nil))
	mustBe(t, Replace(t.Context(), db, db.schema, record("a", 3, nil), 2), storage.ErrMoved)
	mustEqual(t, db.get("a"), record("a", 1, nil))
	next := record("a", 2, map[string]any{"size": int64(5)})
	mustBe(t, Replace(t.Context(), db, db.schema, next, 1), nil)
	mustEqual(t, db.get("a"), next)
	mustBe(t, Replace(t.Context(), db, db.schema, record("a", 3, nil), 1), storage.ErrMoved)
	mustBe(t, Replace(t.Context(), db, db.schema, record("gone", 3, nil), 1), storage.ErrMoved)
	_, err := db.Get(t.Context(), db.schema, "gone")
	mustBe(t, err, storage.ErrNotFound)
}

func testDelete(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	db.insert(record("a", 1, map[string]any{"org": "o"}), record("b", 1, map[string]any{"org": "o"}))
	mustBe(t, Delete(t.Context(), db, db.schema, "a", "absent"), nil)
	mustBe(t, Delete(t.Context(), db, db.schema), nil)
	_, err := db.Get(t.Context(), db.schema, "a")
	mustBe(t, err, storage.ErrNotFound)
	mustEqual(t, db.get("b"), record("b", 1, map[string]any{"org": "o"}))
	if n, err := db.Count(t.Context(), db.schema, storage.Query{Index: "time", Equal: []any{"o"}}); err != nil || n != 1 {
		t.Fatalf("the index has %d entries: %v, want 1", n, err)
	}
}

func testGetMany(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	var ids []string
	for i := range storage.MaxMany {
		id := fmt.Sprintf("id-%d", (i*7)%storage.MaxMany)
		ids = append(ids, id)
		if i%2 == 0 {
			db.insert(record(id, 1, nil))
		}
	}
	records, err := db.GetMany(t.Context(), db.schema, ids)
	if err != nil || len(records) != storage.MaxMany/2 {
		t.Fatalf("got %d records: %v, want half of them", len(records), err)
	}
	for i, got := range records {
		mustEqual(t, got, record(ids[2*i], 1, nil))
	}
	if records, err = db.GetMany(t.Context(), db.schema, nil); err != nil || len(records) != 0 {
		t.Fatalf("got %d records for no ids: %v", len(records), err)
	}
	if _, err = db.GetMany(t.Context(), db.schema, append(ids, "one-more")); err == nil {
		t.Fatal("more than MaxMany ids were accepted")
	}
}

func testRoundTrip(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	records := []storage.Record{
		{ID: "large", Revision: math.MaxInt64, Body: bytes.Repeat([]byte("0123456789abcdef"), 1<<16)},
		{ID: "bytes", Revision: 1, Body: everyByte},
		{ID: "empty", Revision: 1, Body: []byte{}},
		{ID: "spaces", Revision: 1, Body: []byte(" { \"a\" : 1.0 } \n")},
		{ID: "größe/日本語/🚀/\"'\\%_$.\u2028\x01", Revision: 1, Fields: map[string]any{"name": "ß🚀\u2028<&>\"'\\\x7f\x01"}, Body: []byte(`"é"`)},
		{ID: "null", Revision: 1, Fields: map[string]any{"name": nil, "org": ""}, Body: []byte("null")},
		{ID: "numbers", Revision: 1, Fields: map[string]any{"size": int64(math.MinInt64), "time": 1.7e308}, Body: []byte("1")},
		{ID: "types", Revision: 1, Fields: map[string]any{"size": int64(3), "time": 3.0, "flag": false, "name": "3"}, Body: []byte("1")},
		{ID: "precise", Revision: 1, Fields: map[string]any{"size": int64(math.MaxInt64), "time": 1763712345.6789012, "flag": true}, Body: []byte("1")},
	}
	db.insert(records...)
	for _, want := range records {
		mustEqual(t, db.get(want.ID), want)
		many, err := db.GetMany(t.Context(), db.schema, []string{want.ID})
		if err != nil || len(many) != 1 {
			t.Fatalf("GetMany of %q: %d records, %v", want.ID, len(many), err)
		}
		mustEqual(t, many[0], want)
	}
}

func testText(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	for _, text := range []string{"a\x00b", "a\xffb", "\xed\xa0\x80"} {
		fields := map[string]any{"name": text}
		_, getError := db.Get(t.Context(), db.schema, text)
		_, manyError := db.GetMany(t.Context(), db.schema, []string{text})
		_, listError := db.List(t.Context(), db.schema, text, 1, 1)
		_, findError := db.Find(t.Context(), db.schema, storage.Query{Index: "time", Equal: []any{text}, Limit: 1})
		for i, err := range []error{
			getError, manyError, listError, findError,
			Insert(t.Context(), db, db.schema, record(text, 1, nil)),
			Add(t.Context(), db, db.schema, record("x", 1, fields)),
			Put(t.Context(), db, db.schema, record("x", 1, fields)),
			Replace(t.Context(), db, db.schema, record("x", 1, fields), 1),
			Delete(t.Context(), db, db.schema, text),
		} {
			if evidence.CodeOf(err) != evidence.Invalid {
				t.Errorf("case %d with %q: got %v, want an invalid", i, text, err)
			}
		}
	}
}

func testFaultyWrites(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	faulty := map[string]storage.Record{
		"no id":            record("", 1, nil),
		"no revision":      record("x", 0, nil),
		"undeclared field": record("x", 1, map[string]any{"colour": "red"}),
		"wrong type":       record("x", 1, map[string]any{"size": 3}),
		"not a number":     record("x", 1, map[string]any{"time": math.NaN()}),
		"infinite":         record("x", 1, map[string]any{"time": math.Inf(1)}),
	}
	for name, record := range faulty {
		if err := Insert(t.Context(), db, db.schema, record); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	undeclared := &storage.Schema{Name: "others"}
	if err := Insert(t.Context(), db, undeclared, record("x", 1, nil)); err == nil {
		t.Error("an undeclared collection was accepted")
	}
	_, err := db.Get(t.Context(), db.schema, "x")
	mustBe(t, err, storage.ErrNotFound)
}

func testReopen(t *testing.T, engine DocumentsEngine) {
	location := engine.Locate(t)
	want := record("a", 1, map[string]any{"org": "o", "time": 1.5})
	first := engine.Open(t, location, things())
	mustBe(t, Insert(t.Context(), first, things(), want), nil)
	mustBe(t, first.Close(), nil)
	// A later version declares one more index. It must find documents that were stored before.
	schema := things()
	schema.Indexes = append(schema.Indexes, storage.Index{Name: "org", Fields: []string{"org"}})
	second := engine.Open(t, location, schema)
	defer second.Close()
	page, err := second.Find(t.Context(), schema, storage.Query{Index: "org", Equal: []any{"o"}, Limit: 1})
	if err != nil || len(page.Records) != 1 {
		t.Fatalf("found %d records: %v", len(page.Records), err)
	}
	mustEqual(t, page.Records[0], want)
}

func testClosed(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	mustBe(t, db.Ping(t.Context()), nil)
	mustBe(t, db.Close(), nil)
	_, getError := db.Get(t.Context(), db.schema, "a")
	_, findError := db.Find(t.Context(), db.schema, storage.Query{Index: "size", Limit: 1})
	_, listError := db.List(t.Context(), db.schema, "", 1, 1)
	for i, err := range []error{db.Ping(t.Context()), getError, findError, listError, Insert(t.Context(), db, db.schema, record("a", 1, nil))} {
		if err == nil || errors.Is(err, storage.ErrNotFound) {
			t.Errorf("case %d: a closed engine answered %v", i, err)
		}
	}
	mustBe(t, db.Close(), nil)
}

func testCancelled(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, getError := db.Get(ctx, db.schema, "a")
	_, findError := db.Find(ctx, db.schema, storage.Query{Index: "size", Limit: 1})
	_, listError := db.List(ctx, db.schema, "", 1, 1)
	for _, err := range []error{getError, findError, listError, Insert(ctx, db, db.schema, record("a", 1, nil)), db.Ping(ctx)} {
		mustBe(t, err, context.Canceled)
	}
	_, err := db.Get(t.Context(), db.schema, "a")
	mustBe(t, err, storage.ErrNotFound)
}

// ids joins the ids of a page, for messages.
func ids(records []storage.Record) string {
	all := make([]string, len(records))
	for i, record := range records {
		all[i] = record.ID
	}
	return strings.Join(all, " ")
}
