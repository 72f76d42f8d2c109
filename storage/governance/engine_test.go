package governance_test

import (
	"path/filepath"
	"testing"

	"attestry/app/apptest"
	"attestry/storage/governance"
	"attestry/storage/sqlite/sqlitetest"
	"attestry/storage/storagetest"
)

// openEngine opens an engine whose writes may fail and whose commands are counted.
func openEngine(t *testing.T) (*storagetest.CountingDocuments, *apptest.FailingCollection) {
	t.Helper()
	failing := &apptest.FailingCollection{Documents: sqlitetest.Open(t, filepath.Join(t.TempDir(), "governance.db"), governance.Schemas())}
	return storagetest.NewCountingDocuments(failing), failing
}
