package pebble

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"attestry/storage"
	"attestry/storage/pebble/manifest"
	"attestry/storage/pebble/wal"
)

// crashedWith returns a folder as a kill leaves it, of a database that f has written.
func crashedWith(t *testing.T, f func(db *DB, tables *stoppedTables)) string {
	t.Helper()
	tables := &stoppedTables{FS: vfs.Default}
	folder := filepath.Join(scratch(t), "written")
	db := openOn(t, folder, tables)
	f(db, tables)
	copied := filepath.Join(filepath.Dir(folder), "crashed")
	must(t, os.CopyFS(copied, os.DirFS(folder)))
	tables.release()
	return copied
}

// withLogs writes records into three logs, none of which is in a table.
func withLogs(t *testing.T) func(db *DB, tables *stoppedTables) {
	return func(db *DB, tables *stoppedTables) {
		tables.stop()
		for i := range 3 {
			for j := range 5 {
				must(t, db.Insert(t.Context(), plainSchema(), plain(fmt.Sprint(i, "-", j))))
			}
			if i < 2 {
				_, err := db.engine.AsyncFlush()
				must(t, err)
			}
		}
	}
}

func logsIn(t *testing.T, folder string) (logs []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	must(t, err)
	for _, entry := range entries {
		if wal.Is(entry.Name()) {
			logs = append(logs, filepath.Join(folder, entry.Name()))
		}
	}
	return logs
}

// mustRefuse checks that a folder is not opened, and what is said.
func mustRefuse(t *testing.T, folder string, want ...string) {
	t.Helper()
	db, err := Open(t.Context(), Options{Folder: folder}, []*storage.Schema{plainSchema()})
	if err == nil {
		_ = db.Close()
		t.Fatal("it was opened")
	}
	for _, one := range append(want, folder) {
		if !strings.Contains(err.Error(), one) {
			t.Errorf("%q is not in %q", one, err)
		}
	}
}

func TestLogThatIsGoneBetweenOthersIsRefused(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"removed": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
	} {
		for _, i := range []int{0, 1} {
			t.Run(fmt.Sprint(name, i), func(t *testing.T) {
				folder := crashedWith(t, withLogs(t))
				logs := logsIn(t, folder)
				must(t, harm(logs[len(logs)-3+i]))
				mustRefuse(t, folder, "acknowledged writes are missing", filepath.Base(logs[len(logs)-2+i]), "--accept-loss")
			})
		}
	}
}

func TestDamageNearTheEndOfTheNewestLogIsRefused(t *testing.T) {
	folder := crashedWith(t, withLogs(t))
	logs := logsIn(t, folder)
	newest := logs[len(logs)-1]
	content, err := os.ReadFile(newest)
	must(t, err)
	content[100] ^= 1
	must(t, os.WriteFile(newest, content, 0o600))
	mustRefuse(t, folder, filepath.Base(newest), "restore it from a backup")
}

func TestManifestWithoutATableIsRefused(t *testing.T) {
	var before int64
	folder := crashedWith(t, func(db *DB, tables *stoppedTables) {
		used, err := manifest.Find(db.folder)
		must(t, err)
		before = used.Size
		must(t, db.Insert(t.Context(), plainSchema(), plain("a")))
		must(t, db.engine.Flush())
		// The file of the log that has a becomes the next log.
		tables.stop()
		must(t, db.Insert(t.Context(), plainSchema(), plain("b")))
		_, err = db.engine.AsyncFlush()
		must(t, err)
	})
	must(t, os.Truncate(filepath.Join(folder, "MANIFEST-000001"), before))
	mustRefuse(t, folder, "acknowledged writes are missing", "the end of the manifest")
}

func TestDamagedOptionsAreRefusedWithTheirName(t *testing.T) {
	folder := crashedWith(t, withLogs(t))
	options := filepath.Join(folder, "OPTIONS-000003")
	content, err := os.ReadFile(options)
	must(t, err)
	must(t, os.WriteFile(options, bytes.Replace(content, []byte("comparer="), []byte("comparer=x"), 1), 0o600))
	mustRefuse(t, folder, "OPTIONS-000003", "restore it from a backup")
}

func TestFilesAreOrderedByTheirNumbers(t *testing.T) {
	ordered := []string{"", "MANIFEST-000001", "MANIFEST-000010", "MANIFEST-999999", "MANIFEST-1000000"}
	for i, one := range ordered {
		for j, other := range ordered {
			if older(one, other) != (i < j) {
				t.Errorf("%q older than %q: %v", one, other, older(one, other))
			}
		}
	}
}
