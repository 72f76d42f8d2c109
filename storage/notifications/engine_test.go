package notifications_test

import (
	"path/filepath"
	"testing"

	"attestry/storage"
	"attestry/storage/notifications"
	"attestry/storage/pebble/pebbletest"
)

// openEngine opens an engine whose commands are counted.
func openEngine(t *testing.T) *storage.CountingDocuments {
	t.Helper()
	return storage.NewCountingDocuments(pebbletest.Open(t, filepath.Join(t.TempDir(), "notifications"), notifications.Schemas()))
}
