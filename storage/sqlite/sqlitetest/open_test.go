package sqlitetest_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"attestry/storage/sqlite/sqlitetest"
)

func TestOnlyTheNamedDatabaseSkipsSyncs(t *testing.T) {
	skipped := filepath.Join(t.TempDir(), "skipped.db")
	sqlitetest.SkipSync(skipped)
	for _, c := range []struct{ name, path, want string }{
		{"named", skipped, "0"},
		{"other", filepath.Join(t.TempDir(), "other.db"), "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, err := sql.Open("sqlite", "file:"+c.path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var got string
			if err := db.QueryRow("PRAGMA synchronous").Scan(&got); err != nil || got != c.want {
				t.Errorf("synchronous is %q, want %q: %v", got, c.want, err)
			}
		})
	}
}
