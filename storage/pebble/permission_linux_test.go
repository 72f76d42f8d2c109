package pebble

import (
	"os"
	"path/filepath"
	"testing"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// openAsNobody opens a database without the rights of root.
func openAsNobody(t *testing.T, folder string) error {
	t.Helper()
	return storagetest.AsNobody(func() error {
		db, err := Open(t.Context(), Options{Folder: folder}, []*storage.Schema{plainSchema()})
		if err == nil {
			_ = db.Close()
		}
		return err
	})
}

func TestOpenWithoutPermissionSaysSo(t *testing.T) {
	for name, mode := range map[string]os.FileMode{
		"a folder that cannot be written to": 0o555,
		"a folder that cannot be entered":    0o444,
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			evidencetest.Must(t, os.Chmod(filepath.Dir(parent), 0o755))
			folder := filepath.Join(parent, "attestry")
			evidencetest.Must(t, openOn(t, folder, nil).Close())
			evidencetest.Must(t, os.Chmod(parent, 0o755))
			evidencetest.Must(t, os.Chmod(folder, mode))
			defer func() { evidencetest.Must(t, os.Chmod(folder, 0o700)) }()
			err := openAsNobody(t, folder)
			if err == nil {
				t.Fatal("it was opened")
			}
			evidencetest.Contains(t, err.Error(), "permission denied", "must be able to write to the folder", folder)
		})
	}
}
