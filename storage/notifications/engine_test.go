package notifications_test

import (
	"path/filepath"
	"testing"

	"attestry/storage"
	"attestry/storage/notifications"
	"attestry/storage/sqlite/sqlitetest"
)

// openEngine opens an engine whose commands are counted.
func openEngine(t *testing.T) *storage.CountingDocuments {
	t.Helper()
	return storage.NewCountingDocuments(sqlitetest.Open(t, filepath.Join(t.TempDir(), "notifications.db"), notifications.Schemas()))
}
