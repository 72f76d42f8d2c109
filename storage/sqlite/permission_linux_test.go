package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attestry/storage"
	"attestry/storage/storagetest"
)

// openAsNobody opens a database without the rights of root.
func openAsNobody(t *testing.T, path string) error {
	t.Helper()
	return storagetest.AsNobody(func() error {
		db, err := Open(t.Context(), path, []*storage.Schema{plainSchema()})
		if err == nil {
			_ = db.Close()
		}
		return err
	})
}

func TestOpenWithoutPermissionSaysSo(t *testing.T) {
	// 0o777 and 0o666 let the user of openAsNobody in.
	for name, test := range map[string]struct {
		folder, file os.FileMode
		want         string
	}{
		"a file that cannot be read":         {0o777, 0, "permission denied"},
		"a file that cannot be written to":   {0o777, 0o444, "attempt to write a readonly database"},
		"a folder that cannot be written to": {0o555, 0o666, "attempt to write a readonly database"},
		"a folder that cannot be entered":    {0o444, 0o666, "permission denied"},
		"everything as it ought to be":       {0o777, 0o666, ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			must(t, os.Chmod(filepath.Dir(folder), 0o755))
			path := filepath.Join(folder, "attestry.db")
			db, err := Open(t.Context(), path, []*storage.Schema{plainSchema()})
			must(t, err)
			must(t, db.Close())
			must(t, os.Chmod(path, test.file))
			must(t, os.Chmod(folder, test.folder))
			defer os.Chmod(folder, 0o700)
			err = openAsNobody(t, path)
			if test.want == "" {
				must(t, err)
				return
			}
			if err == nil {
				t.Fatal("it was opened")
			}
			for _, want := range []string{test.want, adviceWritable, path} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %q", want, err)
				}
			}
		})
	}
}
