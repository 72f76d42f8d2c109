package filesystem

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"attestry/evidence/evidencetest"
	"attestry/storage"
)

func pathError(code syscall.Errno) error { return &fs.PathError{Op: "read", Path: "x", Err: code} }

func TestErrorsOfTheDiskAreOutages(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a full disk":          {pathError(syscall.ENOSPC), true},
		"a failing disk":       {pathError(syscall.EIO), true},
		"a read-only disk":     {&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EROFS}, true},
		"missing rights":       {pathError(syscall.EACCES), true},
		"a file that is gone":  {pathError(syscall.ENOENT), false},
		"a stream that breaks": {syscall.ECONNRESET, false},
		"nothing":              {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := asOutage(c.err); errors.Is(err, storage.ErrOutage) != c.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestClosedStoreIsAnOutage(t *testing.T) {
	store, err := Open(t.TempDir())
	evidencetest.Must(t, err)
	evidencetest.Must(t, store.Close())
	key := storage.ObjectKey("org", fmt.Sprintf("%064x", 1))
	for name, run := range map[string]func() error{
		"put":    func() error { _, err := store.Put(t.Context(), "org", strings.NewReader("x"), 1); return err },
		"get":    func() error { _, err := store.Get(t.Context(), key, 0, -1); return err },
		"stat":   func() error { _, err := store.Stat(t.Context(), key); return err },
		"delete": func() error { return store.Delete(t.Context(), key) },
		"ping":   func() error { return store.Ping(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			evidencetest.Is(t, run(), storage.ErrOutage)
		})
	}
}

func TestDiskErrorWhileReadingAnObjectIsAnOutage(t *testing.T) {
	failing := storage.ConvertErrors(iotest.ErrReader(pathError(syscall.EIO)), nil, asOutage)
	if _, err := io.ReadAll(failing); !errors.Is(err, storage.ErrOutage) {
		t.Errorf("got %v", err)
	}
}
