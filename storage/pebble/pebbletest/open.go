// Package pebbletest opens Pebble databases for tests that test neither durability nor Open.
package pebbletest

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"attestry/storage"
	"attestry/storage/pebble"
)

// cacheBytes is enough for tests, which open many databases.
const cacheBytes = 8 << 20

// Open opens the database in a folder and closes it at the end of the test. It does not sync files, because a sync
// takes most of the time of a small write: a killed process loses nothing; only a crash of the machine loses writes.
func Open(t testing.TB, folder string, schemas []*storage.Schema) *pebble.DB {
	t.Helper()
	options := pebble.Options{Folder: folder, CacheBytes: cacheBytes, FileSystem: unsynced{vfs.Default}}
	db, err := pebble.Open(t.Context(), options, schemas)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// unsynced is a file system whose files are not synced.
type unsynced struct{ vfs.FS }

func (u unsynced) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return wrap(u.FS.Create(name, category))
}

func (u unsynced) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return wrap(u.FS.ReuseForWrite(old, name, category))
}

func (u unsynced) OpenDir(name string) (vfs.File, error) { return wrap(u.FS.OpenDir(name)) }

func (u unsynced) Unwrap() vfs.FS { return u.FS }

func wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

type file struct{ vfs.File }

func (file) Sync() error                { return nil }
func (file) SyncData() error            { return nil }
func (file) SyncTo(int64) (bool, error) { return true, nil }
