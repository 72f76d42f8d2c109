package filesystem_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/storagetest"
)

func TestObjects(t *testing.T) {
	storagetest.Objects(t, func(t *testing.T) storagetest.ObjectStore {
		dir := t.TempDir()
		return storagetest.ObjectStore{Objects: open(t, dir), Keys: func() []string { return storagetest.FileKeys(t, dir) }}
	})
}

func TestKilledProcessLeavesWholeObjectsOnly(t *testing.T) {
	storagetest.ObjectsSurviveKill(t, t.TempDir, func(_ context.Context, location string) (storagetest.ObjectStore, error) {
		store, err := filesystem.Open(location)
		return storagetest.ObjectStore{Objects: store, Keys: func() []string { return storagetest.FileKeys(t, location) }}, err
	})
}

func TestOpenMakesTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	object := put(t, open(t, dir), "content")
	if _, err := open(t, dir).Stat(t.Context(), object.Key); err != nil {
		t.Errorf("opened again: %v", err)
	}
}

func TestOpenRefusesAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	if _, err := filesystem.Open(file); err == nil {
		t.Error("Open took a file for a directory")
	}
}

func TestOldLeftoversAloneAreRemoved(t *testing.T) {
	for name, remove := range map[string]func(t *testing.T, dir string, store *filesystem.Store) error{
		"when it is opened": func(t *testing.T, dir string, _ *filesystem.Store) error { open(t, dir); return nil },
		"when it is pinged": func(t *testing.T, _ string, store *filesystem.Store) error { return store.Ping(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			store := open(t, dir)
			old, fresh := filepath.Join(dir, ".incoming", "old"), filepath.Join(dir, ".incoming", "fresh")
			write(t, old, "half")
			write(t, fresh, "half")
			past := time.Now().Add(-2 * time.Hour)
			evidencetest.Must(t, os.Chtimes(old, past, past))
			evidencetest.Check(t, remove(t, dir, store))
			if left, err := filepath.Glob(filepath.Join(dir, ".incoming", "*")); err != nil || !slices.Equal(left, []string{fresh}) {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestPutLeavesNoTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	store := open(t, dir)
	put(t, store, "content")
	if _, err := store.Put(t.Context(), "org", strings.NewReader("content"), 3); err == nil {
		t.Error("Put took more than was announced")
	}
	evidencetest.Check(t, store.Ping(t.Context()))
	entries, err := os.ReadDir(filepath.Join(dir, ".incoming"))
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestSymbolicLinksAreNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	object := put(t, open(t, outside), "content")
	evidencetest.Must(t, os.Symlink(filepath.Join(outside, "org"), filepath.Join(dir, "org")))
	if r, err := open(t, dir).Get(t.Context(), object.Key, 0, -1); err == nil {
		r.Close()
		t.Error("Get followed a link out of the directory")
	}
}

func TestPingFailsWhenTheDirectoryIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	store := open(t, dir)
	evidencetest.Must(t, os.RemoveAll(dir))
	if err := store.Ping(t.Context()); err == nil {
		t.Error("Ping says all is well")
	}
}

func open(t *testing.T, dir string) *filesystem.Store {
	t.Helper()
	store, err := filesystem.Open(dir)
	evidencetest.Must(t, err)
	t.Cleanup(func() { store.Close() })
	return store
}

func put(t *testing.T, store storage.Objects, content string) storage.Object {
	t.Helper()
	object, err := store.Put(t.Context(), "org", strings.NewReader(content), int64(len(content)))
	evidencetest.Must(t, err)
	return object
}

func write(t *testing.T, file, content string) {
	t.Helper()
	evidencetest.Must(t, os.WriteFile(file, []byte(content), 0o600))
}
