package pebble_test

import (
	"path/filepath"
	"testing"

	"attestry/app/recording/recordingtest"
	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

func TestRecorder(t *testing.T) {
	recordingtest.Recorder(t, storagetest.DocumentsEngine{
		Locate: func(t *testing.T) string { return filepath.Join(t.TempDir(), "attestry") },
		Open: func(t *testing.T, location string, schemas ...*storage.Schema) storage.Documents {
			t.Helper()
			return pebbletest.Open(t, location, schemas)
		},
	})
}
