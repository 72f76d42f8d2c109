package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"attestry/evidence/evidencetest"
	"attestry/storage/storagetest"
)

func TestCheckpointIsACopyOfTheRunningDatabase(t *testing.T) {
	db, _ := openFaulty(t)
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), large("flushed")))
	evidencetest.Must(t, db.engine.Flush())
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("in the log")))
	stop, written := make(chan struct{}), make(chan error)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				written <- nil
				return
			default:
			}
			if err := storagetest.Insert(context.Background(), db, plainSchema(), plain(fmt.Sprint("meanwhile-", i))); err != nil {
				written <- err
				return
			}
		}
	}()
	folder := filepath.Join(t.TempDir(), "backups", "first")
	evidencetest.Must(t, db.Checkpoint(t.Context(), folder))
	close(stop)
	evidencetest.Must(t, <-written)
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("later")))
	evidencetest.Is(t, db.Checkpoint(t.Context(), folder), fs.ErrExist)

	copied := openOn(t, folder, nil)
	for _, id := range []string{"flushed", "in the log"} {
		if _, err := copied.Get(t.Context(), plainSchema(), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := copied.Get(t.Context(), plainSchema(), "later"); err == nil {
		t.Error("what was written later is in the copy")
	}
	evidencetest.Must(t, storagetest.Insert(t.Context(), copied, plainSchema(), plain("only in the copy")))
}

// TestCheckpointHasNoPartOfWhatIsWrittenWhileItsLogIsCopied writes several blocks of the log between two reads of it.
func TestCheckpointHasNoPartOfWhatIsWrittenWhileItsLogIsCopied(t *testing.T) {
	db, disk := openFaulty(t)
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("before")))
	folder := filepath.Join(t.TempDir(), "copy")
	disk.hold(func(operation string) {
		copied, _ := filepath.Glob(filepath.Join(folder, "*.log"))
		if operation != opWrite || len(copied) == 0 {
			return
		}
		disk.hold(nil)
		for i := range 5 {
			record := plain(fmt.Sprint("meanwhile-", i))
			for range 8000 { // bytes that cannot be compressed
				record.Body = binary.LittleEndian.AppendUint64(record.Body, rand.Uint64())
			}
			if err := storagetest.Insert(context.Background(), db, plainSchema(), record); err != nil {
				t.Error(err)
			}
		}
	})
	evidencetest.Must(t, db.Checkpoint(t.Context(), folder))
	copied := openOn(t, folder, nil)
	if _, err := copied.Get(t.Context(), plainSchema(), "before"); err != nil {
		t.Error(err)
	}
	_, err := db.Get(t.Context(), plainSchema(), "meanwhile-4")
	evidencetest.Must(t, err)
	if _, err := copied.Get(t.Context(), plainSchema(), "meanwhile-4"); err == nil {
		t.Error("what was written meanwhile is in the copy")
	}
}

// TestCheckpointFolderIsPrivateFromTheBeginning checks the mode of the folder whenever a file is created.
func TestCheckpointFolderIsPrivateFromTheBeginning(t *testing.T) {
	db, disk := openFaulty(t)
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("a")))
	folder := filepath.Join(t.TempDir(), "copy")
	var mu sync.Mutex
	var modes []fs.FileMode
	disk.hold(func(operation string) {
		info, err := os.Stat(folder)
		if operation != opCreate || err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		modes = append(modes, info.Mode().Perm())
	})
	evidencetest.Must(t, db.Checkpoint(t.Context(), folder))
	disk.hold(nil)
	mu.Lock()
	defer mu.Unlock()
	if len(modes) == 0 {
		t.Error("no file was made")
	}
	for _, mode := range modes {
		if mode != 0o700 {
			t.Errorf("a file was made while the folder had mode %v", mode)
		}
	}
}

// TestFailedCheckpointDoesNotAffectTheDatabase fails operations on files of the copy, as a full disk does. Writes to
// the database must go on.
func TestFailedCheckpointDoesNotAffectTheDatabase(t *testing.T) {
	for name, refused := range map[string]struct{ operation, suffix string }{
		"its log is not made":       {opCreate, ".log"},
		"its log is not written":    {opWrite, ".log"},
		"its log is not synced":     {opSync, ".log"},
		"its manifest is not made":  {opCreate, "MANIFEST-000001"},
		"no file of it is written":  {opWrite, ""},
		"no file of it can be made": {opCreate, ""},
	} {
		t.Run(name, func(t *testing.T) {
			db, disk := openFaulty(t)
			evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("a")))
			folder := filepath.Join(t.TempDir(), "copy")
			disk.fail(func(operation, file string) error {
				if operation == refused.operation && strings.HasPrefix(file, folder) && strings.HasSuffix(file, refused.suffix) {
					return syscall.ENOSPC
				}
				return nil
			})
			evidencetest.Is(t, db.Checkpoint(t.Context(), folder), syscall.ENOSPC)
			if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a part of it was left: %v", err)
			}
			evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("b")))
			disk.fail(nil)
			evidencetest.Must(t, db.Checkpoint(t.Context(), folder))
		})
	}
}
