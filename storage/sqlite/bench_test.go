package sqlite

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"attestry/storage"
)

// BenchmarkInsertAndReplace makes pairs of durable writes, by 1, 16 and 64 clients.
func BenchmarkInsertAndReplace(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			schema := planSchema()
			db := openForTest(b, schema)
			var next atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for range clients {
				all.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if err := insertAndReplace(b, db, schema, i); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}

func insertAndReplace(b *testing.B, db *DB, schema *storage.Schema, i int64) error {
	record := storage.Record{
		ID: strconv.FormatInt(i, 10), Revision: 1, Body: make([]byte, 512),
		Fields: map[string]any{"org": "o", "env": "e", "time": float64(i)},
	}
	if err := db.Insert(b.Context(), schema, record); err != nil {
		return err
	}
	record.Revision = 2
	return db.Replace(b.Context(), schema, record, 1)
}

func BenchmarkGet(b *testing.B) {
	schema := planSchema()
	db := openForTest(b, schema)
	if err := db.Put(b.Context(), schema, manyRecords(1000)...); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if _, err := db.Get(b.Context(), schema, strconv.Itoa(i%1000)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFind reads pages of 20 of 1,000 entries, one of them behind a cursor.
func BenchmarkFind(b *testing.B) {
	schema := planSchema()
	db := openForTest(b, schema)
	if err := db.Put(b.Context(), schema, manyRecords(1000)...); err != nil {
		b.Fatal(err)
	}
	query := storage.Query{Index: "org_time", Equal: []any{"o"}, Descending: true, Limit: 20}
	for b.Loop() {
		page, err := db.Find(b.Context(), schema, query)
		if err != nil || len(page.Records) != 20 {
			b.Fatal(err)
		}
		query.After = page.Next
		if len(page.Next) == 0 {
			b.Fatal("no next page")
		}
		if _, err := db.Find(b.Context(), schema, query); err != nil {
			b.Fatal(err)
		}
		query.After = ""
	}
}

func manyRecords(n int) []storage.Record {
	records := make([]storage.Record, n)
	for i := range records {
		records[i] = storage.Record{
			ID: strconv.Itoa(i), Revision: 1, Body: make([]byte, 512),
			Fields: map[string]any{"org": "o", "env": "e", "time": float64(i)},
		}
	}
	return records
}
