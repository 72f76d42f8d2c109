package pebble

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// wantRefused checks the error of a refused write: the message for clients, and that it names the folder.
func wantRefused(t *testing.T, err error, reason, folder string) {
	t.Helper()
	var client *evidence.Error
	sentence := "The database cannot be written to: " + reason + "."
	if !errors.Is(err, storage.ErrWriteRefused) || !errors.As(err, &client) || client.Message != sentence {
		t.Fatalf("got %v, want %q", err, sentence)
	}
	if !strings.Contains(err.Error(), folder) {
		t.Errorf("the folder is not named in %v", err)
	}
}

// failing returns a fault of an operation on files whose names contain a text.
func failing(operation, text string, cause error) func(operation, name string) error {
	return func(o, name string) error {
		if o == operation && strings.Contains(filepath.Base(name), text) {
			return &fs.PathError{Op: o, Path: name, Err: cause}
		}
		return nil
	}
}

// insertUntilRefused writes until a write is refused, and returns the ids before it.
func insertUntilRefused(t *testing.T, db *DB) (ids []string, refused error) {
	t.Helper()
	for i := range 2000 {
		id := fmt.Sprintf("large-%04d", i)
		if err := storagetest.Insert(t.Context(), db, plainSchema(), bulky(id)); err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	t.Fatal("no write was refused")
	return nil, nil
}

// insertOnceAccepted retries a write until it is not refused.
func insertOnceAccepted(t *testing.T, db *DB, id string) {
	t.Helper()
	for {
		err := storagetest.Insert(t.Context(), db, plainSchema(), plain(id))
		if err == nil {
			return
		}
		if !errors.Is(err, storage.ErrWriteRefused) {
			t.Fatal(err)
		}
	}
}

func TestWritesAreRefusedWhileTheLogCannotBeWritten(t *testing.T) {
	for reason, cause := range map[string]error{
		storage.DiskFull:         syscall.ENOSPC,
		storage.QuotaUsedUp:      syscall.EDQUOT,
		storage.ReadOnly:         syscall.EROFS,
		storage.PermissionDenied: syscall.EACCES,
		storage.DiskFails:        syscall.EIO,
	} {
		t.Run(reason, func(t *testing.T) {
			db, disk := openFaulty(t)
			evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("before")))
			disk.fail(failing(opWrite, ".log", cause))
			wantRefused(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("pending")), reason, db.folder)
			wantRefused(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("refused")), reason, db.folder)
			mustHave(t, db, "before")
			<-disk.fail(nil)
			insertOnceAccepted(t, db, "after")
			mustHave(t, db, "before", "pending", "after")
			evidencetest.Must(t, db.Close())
			mustHave(t, openOn(t, db.folder, nil), "before", "pending", "after")
		})
	}
}

func TestWritesAreRefusedWhileNoTableCanBeMade(t *testing.T) {
	db, disk := openFaulty(t)
	disk.fail(failing(opCreate, ".sst", syscall.EACCES))
	ids, refused := insertUntilRefused(t, db)
	wantRefused(t, refused, storage.PermissionDenied, db.folder)
	if _, err := db.Get(t.Context(), plainSchema(), ids[len(ids)-1]); err != nil {
		t.Errorf("a read: %v", err)
	}
	<-disk.fail(nil)
	insertOnceAccepted(t, db, "after")
}

func TestWritesAreRefusedForGoodAfterAFailure(t *testing.T) {
	broken := errors.New("broken")
	for name, row := range map[string]struct {
		operation, file string
		cause           error
		reason          string
	}{
		"sync of the log":       {opSync, ".log", syscall.EIO, storage.DiskFails},
		"log without a reason":  {opWrite, ".log", broken, "a write to its files failed"},
		"next log":              {opCreate, ".log", broken, "a write to its files failed"},
		"sync of a table":       {opSync, ".sst", syscall.EIO, storage.DiskFails},
		"sync of the manifest":  {opSync, "MANIFEST", syscall.EIO, storage.DiskFails},
		"write of the manifest": {opWrite, "MANIFEST", broken, "a write to its files failed"},
	} {
		t.Run(name, func(t *testing.T) {
			db, disk := openFaulty(t)
			evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("before")))
			disk.fail(failing(row.operation, row.file, row.cause))
			ids, refused := insertUntilRefused(t, db)
			wantRefused(t, refused, row.reason, db.folder)
			disk.fail(nil)
			wantRefused(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("later")), row.reason, db.folder)
			ids = append(ids, "before")
			mustHaveAtLeast(t, db, 1, ids...) // the write before the failure may be stored
			_ = db.Close()
			again := openOn(t, db.folder, nil)
			for _, id := range ids {
				if _, err := again.Get(t.Context(), plainSchema(), id); err != nil {
					t.Errorf("%s was acknowledged: %v", id, err)
				}
			}
			evidencetest.Must(t, storagetest.Insert(t.Context(), again, plainSchema(), plain("after the restart")))
		})
	}
}

func TestFullDiskRefusesWritesUntilThereIsRoom(t *testing.T) {
	disk := storagetest.NewDisk(t, 128<<20)
	db := openOn(t, filepath.Join(disk.Path, "attestry"), nil)
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("before")))
	disk.Fill()
	for _, id := range []string{"refused", "refused too"} {
		wantRefused(t, storagetest.Insert(t.Context(), db, plainSchema(), plain(id)), storage.DiskFull, db.folder)
	}
	mustHave(t, db, "before")
	disk.Empty()
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("after")))
	mustHave(t, db, "before", "after")
	evidencetest.Must(t, db.Close())
	mustHave(t, openOn(t, db.folder, nil), "before", "after")
}

func TestDiskThatFillsUpLosesNoAcknowledgedWrite(t *testing.T) {
	disk := storagetest.NewDisk(t, 64<<20)
	db := openOn(t, filepath.Join(disk.Path, "attestry"), nil)
	ids, refused := insertUntilRefused(t, db)
	wantRefused(t, refused, storage.DiskFull, db.folder)
	for _, id := range ids {
		if got, err := db.Get(t.Context(), plainSchema(), id); err != nil || len(got.Body) != len(bulky(id).Body) {
			t.Fatalf("%s: %v", id, err)
		}
	}
}

func TestCloseEndsWritesThatWaitForTheDisk(t *testing.T) {
	db, disk := openFaulty(t)
	disk.fail(failing(opWrite, ".log", syscall.ENOSPC))
	wantRefused(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("pending")), storage.DiskFull, db.folder)
	_ = db.Close()
	disk.fail(nil)
	evidencetest.Must(t, storagetest.Insert(t.Context(), openOn(t, db.folder, nil), plainSchema(), plain("after")))
}

func TestClosedDatabaseIsAnOutage(t *testing.T) {
	db, _ := openFaulty(t)
	evidencetest.Must(t, db.Close())
	if _, err := db.Get(t.Context(), plainSchema(), "a"); !errors.Is(err, storage.ErrOutage) {
		t.Errorf("read: %v", err)
	}
	evidencetest.Is(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("a")), storage.ErrOutage)
	evidencetest.Is(t, db.Checkpoint(t.Context(), filepath.Join(t.TempDir(), "copy")), storage.ErrOutage)
}
