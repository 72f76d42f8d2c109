package sqlite

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attestry/storage"
)

func TestOpenSaysWhichFileIsWrongAndWhatToDo(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		want    []string
	}{
		"a directory in its place": {
			func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) },
			[]string{"is a directory", "move the directory away"},
		},
		"a file of another kind": {
			func(t *testing.T, path string) {
				must(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 100)), 0o600))
			},
			[]string{"file is not a database", "move the file away"},
		},
		"a damaged database": {damageFile, []string{"malformed", "restore it from a backup"}},
		"a database of a newer version": {
			func(t *testing.T, path string) {
				db, err := sql.Open("sqlite", path)
				must(t, err)
				_, err = db.Exec("PRAGMA user_version = 2")
				must(t, err)
				must(t, db.Close())
			},
			[]string{"newer version of Attestry", "start that version"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "attestry.db")
			test.prepare(t, path)
			db, err := Open(t.Context(), path, []*storage.Schema{plainSchema()})
			if err == nil {
				db.Close()
				t.Fatal("it was opened")
			}
			for _, want := range append(test.want, path) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %q", want, err)
				}
			}
		})
	}
}

// damageFile makes a database and overwrites its schema behind the header.
func damageFile(t *testing.T, path string) {
	t.Helper()
	db, err := Open(t.Context(), path, []*storage.Schema{plainSchema()})
	must(t, err)
	must(t, db.Close())
	content, err := os.ReadFile(path)
	must(t, err)
	copy(content[100:], bytes.Repeat([]byte{0xff}, 3000))
	must(t, os.WriteFile(path, content, 0o600))
}

func TestOpenFollowsALinkToAFileThatIsNotThereYet(t *testing.T) {
	folder := t.TempDir()
	link, file := filepath.Join(folder, "link.db"), filepath.Join(folder, "attestry.db")
	must(t, os.Symlink(file, link))
	db, err := Open(t.Context(), link, []*storage.Schema{plainSchema()})
	must(t, err)
	must(t, db.Insert(t.Context(), plainSchema(), plain("a")))
	must(t, db.Close())
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestOpenMarksTheLayoutOnce(t *testing.T) {
	db, path := openFile(t)
	must(t, db.Close())
	before, err := os.ReadFile(path)
	must(t, err)
	again, err := Open(t.Context(), path, []*storage.Schema{plainSchema()})
	must(t, err)
	must(t, again.Close())
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("opening the file again changed it: %v", err)
	}
	if layout := before[63]; layout != 1 {
		t.Errorf("user_version is %d", layout)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
