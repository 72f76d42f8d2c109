package notifications_test

import (
	"path/filepath"
	"testing"

	"attestry/storage/notifications"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

// openEngine opens an engine whose commands are counted.
func openEngine(t *testing.T) *storagetest.CountingDocuments {
	t.Helper()
	return storagetest.NewCountingDocuments(pebbletest.Open(t, filepath.Join(t.TempDir(), "notifications"), notifications.Schemas()))
}
