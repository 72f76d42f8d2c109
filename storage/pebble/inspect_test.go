package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/pebble/manifest"
	"attestry/storage/pebble/wal"
	"attestry/storage/storagetest"
)

// crashedWith returns a copy of a database that f has written, as a killed process leaves it.
func crashedWith(t *testing.T, f func(db *DB, tables *stoppedTables)) string {
	t.Helper()
	tables := &stoppedTables{FS: vfs.Default}
	folder := filepath.Join(scratch(t), "written")
	db := openOn(t, folder, tables)
	f(db, tables)
	copied := filepath.Join(filepath.Dir(folder), "crashed")
	copyOpen(t, folder, copied)
	tables.release()
	return copied
}

// withLogs writes records into three logs, none of which has been flushed into a table.
func withLogs(t *testing.T) func(db *DB, tables *stoppedTables) {
	return func(db *DB, tables *stoppedTables) {
		tables.stop()
		for i := range 3 {
			for j := range 5 {
				evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain(fmt.Sprint(i, "-", j))))
			}
			if i < 2 {
				_, err := db.engine.AsyncFlush()
				evidencetest.Must(t, err)
			}
		}
	}
}

// copyOpen copies a database that is open but not written to. It retries while Pebble deletes obsolete files.
func copyOpen(t *testing.T, folder, copied string) {
	t.Helper()
	err := os.CopyFS(copied, os.DirFS(folder))
	for errors.Is(err, fs.ErrNotExist) {
		evidencetest.Must(t, os.RemoveAll(copied))
		err = os.CopyFS(copied, os.DirFS(folder))
	}
	evidencetest.Must(t, err)
}

func logsIn(t *testing.T, folder string) (logs []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	evidencetest.Must(t, err)
	for _, entry := range entries {
		if wal.Is(entry.Name()) {
			logs = append(logs, filepath.Join(folder, entry.Name()))
		}
	}
	return logs
}

// mustRefuse checks that Open fails, and that its error contains texts and the folder.
func mustRefuse(t *testing.T, folder string, want ...string) {
	t.Helper()
	db, err := Open(t.Context(), Options{Folder: folder}, []*storage.Schema{plainSchema()})
	if err == nil {
		_ = db.Close()
		t.Fatal("it was opened")
	}
	evidencetest.Contains(t, err.Error(), append(want, folder)...)
}

func TestMissingLogBetweenOthersIsRefused(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"removed": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
	} {
		for _, i := range []int{0, 1} {
			t.Run(fmt.Sprint(name, i), func(t *testing.T) {
				folder := crashedWith(t, withLogs(t))
				logs := logsIn(t, folder)
				evidencetest.Must(t, harm(logs[len(logs)-3+i]))
				mustRefuse(t, folder, "acknowledged writes are missing", filepath.Base(logs[len(logs)-2+i]), "--accept-loss")
			})
		}
	}
}

func TestManifestWithoutATableIsRefused(t *testing.T) {
	var before int64
	folder := crashedWith(t, func(db *DB, tables *stoppedTables) {
		used, err := manifest.Find(db.folder)
		evidencetest.Must(t, err)
		before = used.Size
		evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("a")))
		evidencetest.Must(t, db.engine.Flush())
		// Pebble recycles the file of the log that contains a for the next log.
		tables.stop()
		evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("b")))
		_, err = db.engine.AsyncFlush()
		evidencetest.Must(t, err)
	})
	evidencetest.Must(t, os.Truncate(filepath.Join(folder, "MANIFEST-000001"), before))
	mustRefuse(t, folder, "acknowledged writes are missing", "the end of the manifest")
}

func TestManifestIsNamedIfItsDamagedPartNamesTheTables(t *testing.T) {
	var flushed manifest.Manifest
	var replaced []string
	folder := crashedWith(t, func(db *DB, _ *stoppedTables) {
		insert := func(id string) {
			evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain(id)))
			evidencetest.Must(t, db.engine.Flush())
		}
		insert("a")
		var err error
		flushed, err = manifest.Find(db.folder)
		evidencetest.Must(t, err)
		replaced, err = filepath.Glob(filepath.Join(db.folder, "*.sst"))
		evidencetest.Must(t, err)
		insert("b")
		evidencetest.Must(t, db.engine.Compact(t.Context(), []byte{0}, []byte{255}, false))
	})
	for _, table := range replaced {
		evidencetest.Must(t, os.RemoveAll(filepath.Join(folder, filepath.Base(table)))) // as Pebble does at some time
	}
	evidencetest.Must(t, (&acknowledged{Manifest: flushed.Name, ManifestBytes: flushed.Size}).write(folder))
	path := filepath.Join(folder, flushed.Name)
	content, err := os.ReadFile(path)
	evidencetest.Must(t, err)
	content[flushed.Size]++
	evidencetest.Must(t, os.WriteFile(path, content, 0o600))
	mustRefuse(t, folder, flushed.Name, fmt.Sprintf("at byte %d of %d", flushed.Size, len(content)), "restore it from a backup")
}

func TestDamagedOptionsAreRefusedWithTheirName(t *testing.T) {
	folder := crashedWith(t, withLogs(t))
	options := filepath.Join(folder, "OPTIONS-000003")
	content, err := os.ReadFile(options)
	evidencetest.Must(t, err)
	evidencetest.Must(t, os.WriteFile(options, bytes.Replace(content, []byte("comparer="), []byte("comparer=x"), 1), 0o600))
	mustRefuse(t, folder, "OPTIONS-000003", "restore it from a backup")
}

func TestAcceptedLossIsRecordedAtOnce(t *testing.T) {
	folder := crashedWith(t, withLogs(t))
	evidencetest.Must(t, (&acknowledged{Groups: 15}).write(folder))
	logs := logsIn(t, folder)
	evidencetest.Must(t, os.Remove(logs[len(logs)-1]))
	mustRefuse(t, folder, "10 of 15 groups")

	// The file of acknowledged groups cannot be written.
	blocked := filepath.Join(folder, acknowledgedName+".new")
	evidencetest.Must(t, os.MkdirAll(filepath.Join(blocked, "x"), 0o700))
	accepting := Options{Folder: folder, AcceptLoss: true}
	if _, err := Open(t.Context(), accepting, []*storage.Schema{plainSchema()}); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Fatalf("without its file: %v", err)
	}
	evidencetest.Must(t, os.RemoveAll(blocked))

	db, err := Open(t.Context(), accepting, []*storage.Schema{plainSchema()})
	evidencetest.Must(t, err)
	defer db.Close()
	killed := filepath.Join(t.TempDir(), "killed")
	copyOpen(t, folder, killed)
	again := openOn(t, killed, nil)
	mustHave(t, again, "0-0", "0-1", "0-2", "0-3", "0-4", "1-0", "1-1", "1-2", "1-3", "1-4")
	if _, err := again.Get(t.Context(), plainSchema(), "2-0"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a record whose log is gone: %v", err)
	}
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
