package apptest

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"attestry/app"
	"attestry/evidence/evidencetest"
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
