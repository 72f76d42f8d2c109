package apptest

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

// NewStore opens a store on the embedded engines, with a counter of its commands and its clock.
func NewStore(t *testing.T) (*app.Store, *storagetest.CountingDocuments, *evidencetest.Clock) {
	t.Helper()
	folder := t.TempDir()
	db := pebbletest.Open(t, filepath.Join(folder, "documents"), app.Schemas())
	objects, err := filesystem.Open(filepath.Join(folder, "objects"))
	if err != nil {
		t.Fatal(err)
	}
	docs, clock := storagetest.NewCountingDocuments(db), evidencetest.NewClock(time.Unix(1_800_000_000, 0))
	store := app.NewStore(docs, objects, clock.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(store.Tenancy.Close)
	return store, docs, clock
}

// Schema returns the schema of a collection.
func Schema(t testing.TB, name string) *storage.Schema {
	t.Helper()
	schema, ok := evidence.First(app.Schemas(), func(s *storage.Schema) bool { return s.Name == name })
	if !ok {
		t.Fatalf("there is no collection %s", name)
	}
	return schema
}
