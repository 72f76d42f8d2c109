package pebble_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"attestry/storage"
	"attestry/storage/pebble"
)

// facts is a collection as that of attestations, with eight indexes; documents have none.
var (
	facts = &storage.Schema{
		Name:   "facts",
		Fields: []string{"org", "flow", "trail", "type", "name", "fingerprint", "commit", "control", "time"},
		Indexes: []storage.Index{
			{Name: "time", Fields: []string{"org", "time"}},
			{Name: "flow", Fields: []string{"org", "flow", "time"}},
			{Name: "type", Fields: []string{"org", "type", "time"}},
			{Name: "name", Fields: []string{"org", "name", "time"}},
			{Name: "trail", Fields: []string{"org", "trail", "name", "time"}},
			{Name: "fingerprint", Fields: []string{"org", "flow", "fingerprint", "name", "time"}},
			{Name: "commit", Fields: []string{"org", "commit", "time"}},
			{Name: "control", Fields: []string{"org", "control", "time"}},
		},
	}
	heads  = &storage.Schema{Name: "heads", Fields: []string{"org"}, Indexes: []storage.Index{{Name: "org", Fields: []string{"org"}}}}
	events = &storage.Schema{Name: "events", Fields: []string{"org"}}
)

func openBench(b *testing.B) storage.Documents {
	db, err := pebble.Open(b.Context(), pebble.Options{Folder: b.TempDir()}, []*storage.Schema{facts, heads, events})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return db
}

// BenchmarkBatches makes durable batches as recording an attestation does, by 1, 16 and 64
// clients: the insertion of a fact, the replacement of two documents, and the insertion of
// an event.
func BenchmarkBatches(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			benchBatches(b, openBench(b), clients)
		})
	}
}

func benchBatches(b *testing.B, db storage.Documents, clients int) {
	for client := range clients {
		for _, kind := range []string{"trail", "slot"} {
			if err := db.Put(b.Context(), heads, benchHead(kind, client, 1)); err != nil {
				b.Fatal(err)
			}
		}
	}
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for client := range clients {
		all.Go(func() {
			revision := int64(1)
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := writeBenchBatch(b.Context(), db, client, revision, i); err != nil {
					b.Error(err)
					return
				}
				revision++
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "batches/s")
}

func writeBenchBatch(ctx context.Context, db storage.Documents, client int, revision, i int64) error {
	return db.Write(ctx,
		storage.Write{Kind: storage.WriteInsert, Schema: facts, Record: benchFact(client, i)},
		storage.Write{Kind: storage.WriteReplace, Schema: heads, Record: benchHead("trail", client, revision+1), Revision: revision},
		storage.Write{Kind: storage.WriteReplace, Schema: heads, Record: benchHead("slot", client, revision+1), Revision: revision},
		storage.Write{Kind: storage.WriteInsert, Schema: events, Record: storage.Record{
			ID: fmt.Sprintf("trail-%d/%016x", client, i), Revision: 1, Body: benchBody(300), Fields: map[string]any{"org": "organization"},
		}},
	)
}

func benchFact(client int, i int64) storage.Record {
	return storage.Record{
		ID: fmt.Sprintf("%016x-%016x", i*0x9e3779b97f4a7c, i), Revision: 1, Body: benchBody(700),
		Fields: map[string]any{
			"org": "organization", "flow": "flow-" + strconv.Itoa(client%8), "trail": "trail-" + strconv.Itoa(client),
			"type": "junit", "name": "unit-tests", "fingerprint": fmt.Sprintf("%064x", uint64(i)*0x9e3779b97f4a7c15),
			"commit": fmt.Sprintf("%040x", uint64(i)*0x9e3779b97f4a7c15), "control": "control", "time": 1763712345.5 + float64(i)/1000,
		},
	}
}

func benchHead(kind string, client int, revision int64) storage.Record {
	return storage.Record{
		ID: kind + "-" + strconv.Itoa(client), Revision: revision, Body: benchBody(1500),
		Fields: map[string]any{"org": "organization"},
	}
}

// benchText compresses about as JSON does.
var benchText = func() []byte {
	var text []byte
	for i := range uint64(100) {
		text = fmt.Appendf(text, `{"name":"value-%d","fingerprint":"%x"},`, i, i*0x9e3779b97f4a7c15)
	}
	return text
}()

func benchBody(size int) []byte { return benchText[:size] }

// fillBench writes 10,000 facts.
func fillBench(b *testing.B, db storage.Documents) {
	for i := 0; i < 10_000; i += storage.MaxMany {
		records := make([]storage.Record, storage.MaxMany)
		for j := range records {
			records[j] = benchFact(0, int64(i+j))
		}
		if err := db.Put(b.Context(), facts, records...); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
}

func BenchmarkGet(b *testing.B) {
	db := openBench(b)
	fillBench(b, db)
	for i := int64(0); b.Loop(); i++ {
		if _, err := db.Get(b.Context(), facts, benchFact(0, i%10_000).ID); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFind reads pages of 20 of 10,000 entries, one of them behind a cursor.
func BenchmarkFind(b *testing.B) {
	db := openBench(b)
	fillBench(b, db)
	query := storage.Query{Index: "time", Equal: []any{"organization"}, Descending: true, Limit: 20}
	for b.Loop() {
		page, err := db.Find(b.Context(), facts, query)
		if err != nil || len(page.Records) != 20 || page.Next == "" {
			b.Fatal(err)
		}
		next := query
		next.After = page.Next
		if _, err := db.Find(b.Context(), facts, next); err != nil {
			b.Fatal(err)
		}
	}
}
