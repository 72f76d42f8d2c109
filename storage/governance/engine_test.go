package governance_test

import (
	"path/filepath"
	"testing"

	"attestry/app/apptest"
	"attestry/storage"
	"attestry/storage/governance"
	"attestry/storage/sqlite/sqlitetest"
)

// openEngine opens an engine whose writes may fail and whose commands are counted.
func openEngine(t *testing.T) (*storage.CountingDocuments, *apptest.FailingCollection) {
	t.Helper()
	failing := &apptest.FailingCollection{Documents: sqlitetest.Open(t, filepath.Join(t.TempDir(), "governance.db"), governance.Schemas())}
	return storage.NewCountingDocuments(failing), failing
}
