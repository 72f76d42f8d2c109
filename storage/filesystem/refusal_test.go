package filesystem_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/storagetest"
)

// wantRefusal checks the error of a refused write: the message for clients, and that it names the directory.
func wantRefusal(t *testing.T, err error, reason, dir string) {
	t.Helper()
	var client *evidence.Error
	if !errors.As(err, &client) || client.Code != evidence.Unavailable ||
		client.Message != "The object store cannot be written to: "+reason+"." || !errors.Is(err, storage.ErrWriteRefused) {
		t.Errorf("clients read %+v of %v", client, err)
	}
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("the directory is not named in %v", err)
	}
}

func TestFullDiskRefusesObjectsAndKeepsNoPartOfThem(t *testing.T) {
	disk := storagetest.NewDisk(t, 4<<20)
	store := open(t, disk.Path)
	before := put(t, store, "content")
	disk.Fill()
	_, err := store.Put(t.Context(), "org", strings.NewReader(strings.Repeat("x", 1<<20)), -1)
	wantRefusal(t, err, "the disk is full", disk.Path)
	if left, err := os.ReadDir(filepath.Join(disk.Path, ".incoming")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if keys := storagetest.FileKeys(t, disk.Path); len(keys) != 1 || keys[0] != before.Key {
		t.Errorf("the store holds %q", keys)
	}
	disk.Empty()
	put(t, store, strings.Repeat("x", 1<<20))
}

func TestReadOnlyDiskRefusesObjects(t *testing.T) {
	disk := storagetest.NewDisk(t, 4<<20)
	store := open(t, disk.Path)
	object := put(t, store, "content")
	disk.MakeReadOnly()
	_, err := store.Put(t.Context(), "org", strings.NewReader("more"), -1)
	wantRefusal(t, err, "it is read-only", disk.Path)
	wantRefusal(t, store.Ping(t.Context()), "it is read-only", disk.Path)
	wantRefusal(t, store.Delete(t.Context(), object.Key), "it is read-only", disk.Path)
	if _, err := filesystem.Open(disk.Path); err == nil || !strings.Contains(err.Error(), disk.Path) {
		t.Errorf("Open says %v", err)
	}
	disk.MakeWritable()
	if err := store.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFolderWithoutPermissionRefusesObjects(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("permission is never denied to root")
	}
	dir := t.TempDir()
	store := open(t, dir)
	if err := os.Chmod(filepath.Join(dir, ".incoming"), 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := store.Put(t.Context(), "org", strings.NewReader("content"), -1)
	wantRefusal(t, err, "permission is denied", dir)
}
