package pebble_test

import (
	"path/filepath"
	"testing"

	"attestry/storage"
	"attestry/storage/pebble"
	"attestry/storage/storagetest"
)

func TestDocuments(t *testing.T) {
	storagetest.Documents(t, storagetest.DocumentsEngine{
		Locate: func(t *testing.T) string { return filepath.Join(t.TempDir(), "some folder?#%", "attestry") },
		Open: func(t *testing.T, location string, schemas ...*storage.Schema) storage.Documents {
			t.Helper()
			db, err := pebble.Open(t.Context(), pebble.Options{Folder: location}, schemas)
			if err != nil {
				t.Fatal(err)
			}
			return db
		},
	})
}
