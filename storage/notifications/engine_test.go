package notifications_test

import (
	"path/filepath"
	"testing"

	"attestry/storage/notifications"
	"attestry/storage/sqlite/sqlitetest"
	"attestry/storage/storagetest"
)

// openEngine opens an engine whose commands are counted.
func openEngine(t *testing.T) *storagetest.CountingDocuments {
	t.Helper()
	return storagetest.NewCountingDocuments(sqlitetest.Open(t, filepath.Join(t.TempDir(), "notifications.db"), notifications.Schemas()))
}
