package governance_test

import (
	"path/filepath"
	"testing"

	"attestry/storage/governance"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

// openEngine opens an engine whose writes may fail and whose commands are counted.
func openEngine(t *testing.T) (*storagetest.CountingDocuments, *storagetest.FailingCollection) {
	t.Helper()
	failing := storagetest.NewFailingCollection(pebbletest.Open(t, filepath.Join(t.TempDir(), "governance"), governance.Schemas()))
	return storagetest.NewCountingDocuments(failing), failing
}
