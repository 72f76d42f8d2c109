package pebble

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// setLayout creates a database with a layout version.
func setLayout(t *testing.T, folder string, version byte) {
	t.Helper()
	engine, err := pebble.Open(folder, &pebble.Options{Logger: &logger{health: newHealth(folder, nil)}})
	evidencetest.Must(t, err)
	evidencetest.Must(t, engine.Set(space{}.key(layoutName), []byte{0, 0, 0, version}, pebble.Sync))
	evidencetest.Must(t, engine.Close())
}

func TestOpenErrorsNameTheFolderAndTheRemedy(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(t *testing.T, folder string)
		want    []string
	}{
		"a file in its place": {
			func(t *testing.T, folder string) { evidencetest.Must(t, os.WriteFile(folder, []byte("text"), 0o600)) },
			[]string{"not a directory", "move the file away"},
		},
		"a database of a newer version": {
			func(t *testing.T, folder string) { setLayout(t, folder, layout+1) },
			[]string{"newer version of Attestry", fmt.Sprint("layout ", layout+1), "start that version"},
		},
		"a database that is open": {
			func(t *testing.T, folder string) { openOn(t, folder, nil) },
			[]string{"another process has opened it", "end that process"},
		},
		"a database without a table": {
			func(t *testing.T, folder string) {
				db := openOn(t, folder, nil)
				evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("a")))
				evidencetest.Must(t, db.engine.Flush())
				evidencetest.Must(t, db.Close())
				for _, table := range tablesIn(t, folder) {
					evidencetest.Must(t, os.Remove(table))
				}
			},
			[]string{"restore it from a backup"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "attestry")
			test.prepare(t, folder)
			db, err := Open(t.Context(), Options{Folder: folder}, []*storage.Schema{plainSchema()})
			if err == nil {
				_ = db.Close()
				t.Fatal("it was opened")
			}
			evidencetest.Contains(t, err.Error(), append(test.want, folder)...)
		})
	}
}

func TestOpenOnAFullDiskSaysSo(t *testing.T) {
	for _, file := range []string{".log", "MANIFEST"} {
		disk := newFaultyDisk()
		disk.fail(failing(opWrite, file, syscall.ENOSPC))
		folder := t.TempDir()
		db, err := Open(t.Context(), Options{Folder: folder, FileSystem: disk}, []*storage.Schema{plainSchema()})
		if err == nil {
			_ = db.Close()
			t.Fatalf("%s: it was opened", file)
		}
		for _, want := range []string{"no space left on device", "make room on its disk", folder} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in %q", file, want, err)
			}
		}
	}
}

// secondLocation is the environment variable that tells the second process which folder to open.
const secondLocation = "ATTESTRY_PEBBLE_SECOND"

func TestSecondProcessIsRefused(t *testing.T) {
	if folder := os.Getenv(secondLocation); folder != "" {
		_, err := Open(t.Context(), Options{Folder: folder}, nil)
		t.Fatalf("second process: %v", err)
	}
	folder := t.TempDir()
	db := openOn(t, folder, nil)
	second := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSecondProcessIsRefused$")
	second.Env = append(os.Environ(), secondLocation+"="+folder)
	output, err := second.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(output), folder+": another process has opened it") {
		t.Errorf("the second process ended with %v: %s", err, output)
	}
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("a")))
}

func TestFolderIsAccessibleOnlyToItsOwner(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "attestry")
	db := openOn(t, folder, nil)
	copied := filepath.Join(t.TempDir(), "copy")
	evidencetest.Must(t, db.Checkpoint(t.Context(), copied))
	for _, one := range []string{folder, copied} {
		if info, err := os.Stat(one); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v: %v", one, info.Mode(), err)
		}
	}
}

func TestOpenFollowsALink(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	evidencetest.Must(t, os.Symlink(folder, link))
	openOn(t, link, nil)
	if _, err := Open(t.Context(), Options{Folder: folder}, nil); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("the folder behind the link: %v", err)
	}
}

func tablesIn(t *testing.T, folder string) []string {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(folder, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("no tables in %s: %v", folder, err)
	}
	return tables
}
