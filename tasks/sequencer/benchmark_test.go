package sequencer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"attestry/evidence/evidencetest"
	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/logs"
)

// storedAtOnce is how many leaves have no index when a sequencer begins.
const storedAtOnce = 10_000

// BenchmarkSequence gives indexes to stored leaves, ten for each trail, with the embedded engines. It also reports the
// bytes of tiles and bundles per entry, and the time per entry of a verifier that reads all entries.
func BenchmarkSequence(b *testing.B) {
	f := newFixture(b)
	for stored := 0; stored < b.N; stored += storedAtOnce {
		b.StopTimer()
		f.addToTrails("x", min(storedAtOnce, b.N-stored))
		b.StartTimer()
		f.sequence("x")
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "leaves/s")
	b.ReportMetric(float64(sizeOf(b, f.folder))/float64(b.N), "bytes/entry")
	start := time.Now()
	f.verify("x")
	b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(b.N), "verify-ns/entry")
}

// addToTrails stores facts with their leaves, ten for each trail.
func (f *fixture) addToTrails(org string, count int) {
	f.t.Helper()
	for count > 0 {
		var writes []storage.Write
		for range min(count, storage.MaxMany) {
			number := f.facts.Add(1)
			writes = append(writes, storage.Write{Kind: storage.WriteInsert, Schema: factSchema, Record: storage.Record{
				ID: fmt.Sprint(number), Revision: 1, Fields: map[string]any{"org": org, "trail": fmt.Sprint(number / 10)}, Body: fmt.Appendf(nil, `{"number":%d}`, number),
			}})
		}
		evidencetest.Must(f.t, logs.NewDocuments(f.docs, f.clock.Now).Write(f.t.Context(), writes...))
		count -= len(writes)
	}
}

// verify reads all entries of a log, and compares the root of their tree with the checkpoint's root.
func (f *fixture) verify(org string) {
	f.t.Helper()
	reader := logs.New(f.docs, f.objs)
	log, err := reader.Get(f.t.Context(), org)
	evidencetest.Must(f.t, err)
	var tree translog.Tree
	for from := int64(0); from < log.Signed; from += translog.Width {
		texts, err := reader.Entries(f.t.Context(), &log, from, min(from+translog.Width, log.Signed))
		evidencetest.Must(f.t, err)
		for _, text := range texts {
			tree.Append(text)
		}
	}
	checkpoint, err := translog.ParseCheckpoint(log.Checkpoint)
	evidencetest.Must(f.t, err)
	if root := tree.Root(); tree.Size != int64(f.facts.Load()) || root != tlog.Hash(checkpoint.Root) {
		f.t.Fatalf("%d entries with root %v, and a checkpoint %v of %d facts", tree.Size, root, checkpoint, f.facts.Load())
	}
}

// sizeOf returns the size in bytes of all objects in the folder of a fixture.
func sizeOf(t testing.TB, folder string) (size int64) {
	t.Helper()
	evidencetest.Must(t, filepath.WalkDir(filepath.Join(folder, "objects"), func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	}))
	return size
}
