package pebble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/pebble/compaction"
	"attestry/storage/pebble/wal"
)

// prepareFolder makes the folder, readable only by its owner, and returns its absolute path.
func prepareFolder(folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	// Symbolic links are resolved because Pebble checks by the path whether this process has locked the folder.
	return filepath.EvalSymlinks(folder)
}

// explainOpen names the folder that cannot be opened and says what to do about it.
func explainOpen(folder string, err error) error {
	if isLocked(err) {
		return fmt.Errorf("open the database %s: another process has opened it; end that process or name another folder", folder)
	}
	if advice := adviceFor(err); advice != "" {
		return fmt.Errorf("open the database %s: %w; %s", folder, err, advice)
	}
	return fmt.Errorf("open the database %s: %w", folder, err)
}

// isLocked reports whether this or another process has the lock of the folder.
func isLocked(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || strings.Contains(err.Error(), "lock held by current process")
}

func adviceFor(err error) string {
	switch {
	case errors.Is(err, errNewer), strings.Contains(err.Error(), "unknown format"):
		return "start that version, or restore a backup made by this one"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return "a folder is needed there: move the file away or name another folder"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "the user that runs Attestry must be able to write to the folder and its files"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, storage.ErrWriteRefused):
		return "make room on its disk"
	case errors.Is(err, syscall.EIO):
		return "check that its disk works"
	case errors.Is(err, errLost), errors.Is(err, wal.ErrGap):
		return "restore it from a backup, or start standalone once with --accept-loss to go on without them"
	case isDamage(err), strings.Contains(err.Error(), "object size mismatch"), strings.Contains(err.Error(), "is not pristine"):
		return "restore it from a backup"
	}
	return ""
}

// checkRoomToOpen refuses to open a database whose disk has no room for the data that are only in its logs: Pebble
// writes them to tables while it opens, and repeats refused writes forever. Obsolete files do not count as room, as
// Pebble deletes them later.
func checkRoomToOpen(files *filesystem, logged uint64) error {
	room, err := files.room()
	if err != nil || room >= logged {
		return nil // unknown room is no reason to refuse
	}
	cause := fmt.Errorf("to open it takes %d bytes on its disk, %d are available", logged, room)
	return storage.RefuseWrite(storage.Database, storage.DiskFull, cause)
}

// openEngine opens the files. If ctx ends first, Pebble goes on in the background, so the process must end.
func openEngine(ctx context.Context, folder string, settings *pebble.Options) (*pebble.DB, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	type result struct {
		engine *pebble.DB
		err    error
	}
	opened := make(chan result, 1)
	goroutine.Start(func() error {
		engine, err := pebble.Open(folder, settings)
		if scheduler, ok := settings.Experimental.CompactionScheduler.(*compaction.Scheduler); ok && err == nil {
			scheduler.Opened()
		}
		opened <- result{engine, err}
		return nil
	}, func(err error) {
		if err != nil {
			opened <- result{err: err}
		}
	})
	select {
	case r := <-opened:
		return r.engine, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

const (
	// format is the version of Pebble's files. It is fixed, so that other versions of the library can open them.
	format = pebble.FormatValueSeparation
	// memTableBytes is the size at which a memtable is flushed. Pebble begins with 256 KiB and doubles that.
	memTableBytes = 16 << 20
	// memTables is how many of them may wait to be written before writes wait.
	memTables = 4
	// reservedBytes is the part of the cache that Pebble takes for the memtable in use and the one being flushed.
	// Without it, nothing would be left for the cache, and each look-up would read its filters from the disk.
	reservedBytes = 2 * memTableBytes
	// filterBits is the size of the Bloom filters per key. With 10 bits, a look-up reads 1 table in 100 in vain.
	filterBits = 10
	// compactionFiles is how many sorted files may overlap before they are merged. Merging costs the most, and filters
	// make overlapping files cheap to read.
	compactionFiles = 4
	// stopFiles is how many may overlap before writes wait.
	stopFiles = 64
	// openFiles bounds how many tables are open at once.
	openFiles = 512
)

func settings(options Options, files *filesystem, reports *logger) *pebble.Options {
	compactions := compaction.NewScheduler(compaction.Pause)
	s := &pebble.Options{
		FS:                          files,
		Logger:                      reports,
		EventListener:               reports.listener(compactions),
		FormatMajorVersion:          format,
		CacheSize:                   cmp.Or(options.CacheBytes, DefaultCacheBytes) + reservedBytes,
		MemTableSize:                memTableBytes,
		MemTableStopWritesThreshold: memTables,
		L0CompactionThreshold:       compactionFiles,
		L0StopWritesThreshold:       stopFiles,
		MaxOpenFiles:                openFiles,
		// One compaction leaves the other of two processors to the service.
		CompactionConcurrencyRange: func() (lower, upper int) { return 1, 2 },
	}
	s.Experimental.CompactionScheduler = compactions
	for i := range s.Levels {
		s.Levels[i].FilterPolicy = bloom.FilterPolicy(filterBits)
	}
	return s
}
