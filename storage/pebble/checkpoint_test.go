package pebble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
)

func TestCheckpointIsACopyOfTheRunningDatabase(t *testing.T) {
	db, _ := openFaulty(t)
	must(t, db.Insert(t.Context(), plainSchema(), large("flushed")))
	must(t, db.engine.Flush())
	must(t, db.Insert(t.Context(), plainSchema(), plain("in the log")))
	stop, written := make(chan struct{}), make(chan error)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				written <- nil
				return
			default:
			}
			if err := db.Insert(context.Background(), plainSchema(), plain(fmt.Sprint("meanwhile-", i))); err != nil {
				written <- err
				return
			}
		}
	}()
	folder := filepath.Join(t.TempDir(), "backups", "first")
	must(t, db.Checkpoint(t.Context(), folder))
	close(stop)
	must(t, <-written)
	must(t, db.Insert(t.Context(), plainSchema(), plain("later")))
	if err := db.Checkpoint(t.Context(), folder); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second checkpoint in the folder: %v", err)
	}

	copied := openOn(t, folder, nil)
	for _, id := range []string{"flushed", "in the log"} {
		if _, err := copied.Get(t.Context(), plainSchema(), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := copied.Get(t.Context(), plainSchema(), "later"); err == nil {
		t.Error("what was written later is in the copy")
	}
	must(t, copied.Insert(t.Context(), plainSchema(), plain("only in the copy")))
}
