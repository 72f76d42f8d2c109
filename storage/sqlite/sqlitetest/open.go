// Package sqlitetest opens SQLite databases for tests that test neither durability nor
// how a database is opened.
package sqlitetest

import (
	"context"
	"net/url"
	"sync"
	"testing"

	driver "modernc.org/sqlite"

	"attestry/storage"
	"attestry/storage/sqlite"
)

// unsynced holds the paths of the databases that SkipSync was called for.
var unsynced sync.Map

func init() {
	driver.RegisterConnectionHook(func(conn driver.ExecQuerierContext, source string) error {
		location, err := url.Parse(source)
		if err != nil {
			return err
		}
		if _, ok := unsynced.Load(location.Path); !ok {
			return nil
		}
		_, err = conn.ExecContext(context.Background(), "PRAGMA synchronous = OFF", nil)
		return err
	})
}

// SkipSync makes commits to the database at an absolute path return before they are on
// the disk, which takes most of the time of a small write. It applies to connections
// that this process opens later. A process that is killed loses nothing; only a crash of
// the machine does.
func SkipSync(path string) { unsynced.Store(path, true) }

// Open opens the database at an absolute path without syncing it. It is closed at the end
// of the test.
func Open(t testing.TB, path string, schemas []*storage.Schema) *sqlite.DB {
	t.Helper()
	SkipSync(path)
	db, err := sqlite.Open(t.Context(), path, schemas)
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
