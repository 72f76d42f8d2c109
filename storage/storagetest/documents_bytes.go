package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"attestry/storage"
)

// sized returns records of one organization in the order of time, with bodies of the given sizes.
func sized(sizes ...int) []storage.Record {
	records := make([]storage.Record, len(sizes))
	for i, size := range sizes {
		records[i] = record(fmt.Sprintf("%03d", i), 1, map[string]any{"org": "o", "time": float64(i), "flag": i%2 == 0})
		records[i].Body = make([]byte, size)
	}
	return records
}

// pagesOf reads every page of a query and returns the ids of each.
func (d *database) pagesOf(query storage.Query) []string {
	d.t.Helper()
	var pages []string
	for _, page := range d.pages(query) {
		pages = append(pages, ids(page.Records))
	}
	return pages
}

func testMaxBytes(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	db.insert(sized(40, 40, 20, 500, 10, 90, 1, 60)...)
	even := []storage.Condition{{Field: "flag", Operator: storage.Equals, Value: true}}
	for name, row := range map[string]struct {
		query storage.Query
		want  string
	}{
		"no bound":               {storage.Query{Limit: 100}, `["000 001 002 003 004 005 006 007"]`},
		"bound in bytes":         {storage.Query{Limit: 100, MaxBytes: 100}, `["000 001 002" "003" "004 005" "006 007"]`},
		"bound of one byte":      {storage.Query{Limit: 100, MaxBytes: 1}, `["000" "001" "002" "003" "004" "005" "006" "007"]`},
		"limit before the bound": {storage.Query{Limit: 2, MaxBytes: 100}, `["000 001" "002" "003" "004 005" "006 007"]`},
		"descending":             {storage.Query{Limit: 100, MaxBytes: 100, Descending: true}, `["007 006" "005 004" "003" "002 001 000"]`},
		"after an offset":        {storage.Query{Limit: 100, MaxBytes: 100, Offset: 2}, `["002" "003" "004 005" "006 007"]`},
		"with a condition":       {storage.Query{Limit: 100, MaxBytes: 60, Where: even}, `["000 002" "004 006"]`},
		"condition, descending":  {storage.Query{Limit: 100, MaxBytes: 11, Where: even, Descending: true}, `["006 004" "002" "000"]`},
		"fields only":            {storage.Query{Limit: 100, MaxBytes: 1, FieldsOnly: true}, `["000 001 002 003 004 005 006 007"]`},
	} {
		t.Run(name, func(t *testing.T) {
			row.query.Index, row.query.Equal = "time", []any{"o"}
			if got := fmt.Sprintf("%q", db.pagesOf(row.query)); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
	if _, err := db.Find(t.Context(), db.schema, storage.Query{Index: "time", Limit: 1, MaxBytes: -1}); err == nil {
		t.Error("a negative bound was taken")
	}
}

// testMaxBytesLosesNothing compares pages bounded in bytes with a model: each matching record is returned once and in
// order, and no page of several records exceeds the bound.
func testMaxBytesLosesNothing(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	random := rand.New(rand.NewPCG(3, 4))
	made := maker{random}
	m := model{records: made.records(scaled(150, 60))}
	sizes := map[string]int{}
	for i := range m.records {
		m.records[i].Body = make([]byte, random.IntN(200))
		sizes[m.records[i].ID] = len(m.records[i].Body)
	}
	db.insert(m.records...)
	for range scaled(100, 40) {
		query := made.query(db.schema)
		query.MaxBytes, query.FieldsOnly = 1+random.IntN(600), false
		want := m.find(db.schema, query)
		pages := db.pages(query)
		if got := recordsOf(pages); ids(got) != ids(want) {
			t.Fatalf("%s\n got %s\nwant %s", describe(query), ids(got), ids(want))
		}
		for _, page := range pages {
			bytes := 0
			for _, one := range page.Records {
				if len(one.Body) != sizes[one.ID] {
					t.Fatalf("%s: the body of %s has %d bytes, want %d", describe(query), one.ID, len(one.Body), sizes[one.ID])
				}
				bytes += len(one.Body)
			}
			if len(page.Records) > 1 && bytes > query.MaxBytes {
				t.Fatalf("%s: %d bytes in a page", describe(query), bytes)
			}
		}
	}
}

// testCharge checks that each body is charged when it is read, and that a refused charge ends the read.
func testCharge(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	db.insert(sized(40, 30, 20, 10)...)
	refusal := errors.New("too much")
	for name, row := range map[string]struct {
		read func(context.Context) error
		want int
	}{
		"get": {func(ctx context.Context) error {
			_, err := db.Get(ctx, db.schema, "000")
			return err
		}, 40},
		"get many": {func(ctx context.Context) error {
			_, err := db.GetMany(ctx, db.schema, []string{"003", "001", "000", "absent"})
			return err
		}, 80},
		"find": {func(ctx context.Context) error {
			_, err := db.Find(ctx, db.schema, storage.Query{Index: "time", Equal: []any{"o"}, Limit: 3})
			return err
		}, 90},
		"find bounded in bytes": {func(ctx context.Context) error {
			_, err := db.Find(ctx, db.schema, storage.Query{Index: "time", Equal: []any{"o"}, Limit: 3, MaxBytes: 75})
			return err
		}, 70},
		"find with a condition": {func(ctx context.Context) error {
			where := []storage.Condition{{Field: "flag", Operator: storage.Equals, Value: true}}
			_, err := db.Find(ctx, db.schema, storage.Query{Index: "time", Equal: []any{"o"}, Limit: 3, Where: where})
			return err
		}, 60},
		"list": {func(ctx context.Context) error {
			_, err := db.List(ctx, db.schema, "", 3, 75)
			return err
		}, 70},
		"find fields only": {func(ctx context.Context) error {
			_, err := db.Find(ctx, db.schema, storage.Query{Index: "time", Equal: []any{"o"}, Limit: 3, FieldsOnly: true})
			return err
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			charged := 0
			count := func(bytes int) error {
				charged += bytes
				return nil
			}
			if err := row.read(storage.WithCharge(t.Context(), count)); err != nil || charged != row.want {
				t.Errorf("charged %d bytes, want %d: %v", charged, row.want, err)
			}
			calls := 0
			refuse := func(bytes int) error {
				if bytes == 0 {
					return nil
				}
				calls++
				return refusal
			}
			err := row.read(storage.WithCharge(t.Context(), refuse))
			if row.want > 0 && (!errors.Is(err, refusal) || calls != 1) {
				t.Errorf("after %d refused charges: %v", calls, err)
			}
		})
	}
}
