package storagetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"attestry/storage"
)

// list returns the pages of a whole collection.
func (d *database) list(limit, maxBytes int) [][]storage.Record {
	d.t.Helper()
	var pages [][]storage.Record
	for after := ""; ; {
		page, err := d.List(d.t.Context(), d.schema, after, limit, maxBytes)
		if err != nil {
			d.t.Fatalf("List behind %q: %v", after, err)
		}
		if len(page) == 0 {
			return pages
		}
		if len(page) > limit {
			d.t.Fatalf("List behind %q: %d records, at most %d were asked for", after, len(page), limit)
		}
		pages = append(pages, page)
		after = page[len(page)-1].ID
	}
}

func testList(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	if pages := db.list(10, mib); len(pages) != 0 {
		t.Errorf("an empty collection has %d pages", len(pages))
	}
	names := []string{"\x01", " ", "A", "A\x01", "AA", "Z", "a", "a-b", "a.b", "a/b", "a0", "aB", "aa", "b", "ä", "\uffff", "🚀"}
	var records []storage.Record
	for i, name := range names {
		records = append(records, record(name, int64(i+1), map[string]any{"org": name, "size": int64(i), "time": 0.5, "flag": i%2 == 0}))
	}
	shuffled := slices.Clone(records)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	db.insert(shuffled...)
	for _, limit := range []int{1, 2, 5, len(names), storage.MaxMany} {
		got := slices.Concat(db.list(limit, mib)...)
		if ids(got) != strings.Join(names, " ") {
			t.Fatalf("pages of %d: got %q, want %q", limit, ids(got), names)
		}
		for i := range got {
			mustEqual(t, got[i], records[i])
		}
	}
	// A page may start after an id that no document has.
	page, err := db.List(t.Context(), db.schema, "a!", 2, mib)
	if err != nil || ids(page) != "a-b a.b" {
		t.Errorf("behind an absent id: %q, %v", ids(page), err)
	}
	for name, arguments := range map[string][2]int{"no limit": {0, 1}, "too great a limit": {storage.MaxMany + 1, 1}, "no bytes": {1, 0}} {
		if _, err := db.List(t.Context(), db.schema, "", arguments[0], arguments[1]); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := db.List(t.Context(), &storage.Schema{Name: "others"}, "", 1, 1); err == nil {
		t.Error("an undeclared collection was accepted")
	}
}

func testListMaxBytes(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	db.insert(sized(40, 40, 20, 500, 10, 90, 1, 9000)...)
	for maxBytes, want := range map[int]string{
		100:  "000 001 002|003|004 005|006|007",
		1:    "000|001|002|003|004|005|006|007",
		1000: "000 001 002 003 004 005 006|007",
	} {
		var pages []string
		for _, page := range db.list(100, maxBytes) {
			pages = append(pages, ids(page))
		}
		if got := strings.Join(pages, "|"); got != want {
			t.Errorf("pages of %d bytes: got %s, want %s", maxBytes, got, want)
		}
	}
}

// testListLosesNothing lists many documents after some were overwritten and deleted.
func testListLosesNothing(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	random := rand.New(rand.NewPCG(5, 6))
	var records []storage.Record
	for i := range scaled(2500, 300) {
		records = append(records, record(fmt.Sprintf("%x", i), 1, map[string]any{"size": int64(i)}))
		records[i].Body = make([]byte, random.IntN(6000))
	}
	db.insert(records...)
	changed, gone := records[10], records[20]
	changed.Revision, changed.Body = 2, []byte("changed")
	mustBe(t, Put(t.Context(), db, db.schema, changed), nil)
	mustBe(t, Delete(t.Context(), db, db.schema, gone.ID), nil)
	records[10] = changed
	records = slices.Delete(records, 20, 21)
	slices.SortFunc(records, func(a, b storage.Record) int { return strings.Compare(a.ID, b.ID) })
	got := slices.Concat(db.list(97, 100_000)...)
	if len(got) != len(records) {
		t.Fatalf("listed %d documents, want %d", len(got), len(records))
	}
	for i := range got {
		mustEqual(t, got[i], records[i])
	}
}
