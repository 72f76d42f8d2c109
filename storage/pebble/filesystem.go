package pebble

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"attestry/storage/pebble/wal"
)

// errFrozen is the error of file operations after a failure that could have lost a write.
var errFrozen = errors.New("nothing is written any more, as an earlier write failed")

// filesystem keeps the process alive when the files of the database cannot be written to.
//
// An operation that the operating system refuses is retried until it succeeds, and meanwhile health refuses writes. A
// sync is never retried, as the kernel may have dropped the data. A failed sync, and any other error, is permanent:
// Pebble would end the process, and recover at the next start. Instead no file is changed any more, and Pebble goes on
// reading.
//
// Pebble panics on errors of its write-ahead log and of its folder, with locks held. So these errors are hidden from
// it: the operations report success, and the committer checks health.
type filesystem struct {
	vfs.FS
	health *health
	// log is the write-ahead log that is being written.
	log atomic.Pointer[wal.File]
}

func newFilesystem(base vfs.FS, h *health) *filesystem {
	if base == nil {
		base = vfs.Default
	}
	return &filesystem{FS: base, health: h}
}

// room returns how many bytes are left on the disk.
func (f *filesystem) room() (uint64, error) {
	usage, err := f.FS.GetDiskUsage(f.health.folder)
	return usage.AvailBytes, err
}

// contains reports whether a file belongs to the database, not to a checkpoint.
func (f *filesystem) contains(name string) bool { return filepath.Dir(name) == f.health.folder }

// change runs an operation on a file of the database.
func (f *filesystem) change(name string, operation func() error) error {
	if !f.contains(name) {
		return operation()
	}
	if f.health.failed.Load() {
		// Pebble repeats a failed operation without a pause.
		f.health.pause()
		return errFrozen
	}
	return f.health.retry(operation)
}

func (f *filesystem) make(name string, operation func() (vfs.File, error)) (vfs.File, error) {
	var made vfs.File
	err := f.change(name, func() (err error) {
		made, err = operation()
		return err
	})
	switch {
	case !f.contains(name):
		// A checkpoint's log is not the database's own. If it cannot be written, the checkpoint fails and nothing else does.
		return made, err
	case err == nil && wal.Is(name):
		log := wal.NewFile(made, name)
		f.log.Store(log)
		return &file{File: log, health: f.health, hidden: true}, nil
	case err == nil:
		return &file{File: made, health: f.health}, nil
	case f.health.opened.Load() && wal.Is(name):
		// Health refuses all writes from here on, so nothing is written to this replacement of the log.
		f.health.fail(err)
		substitute, _ := vfs.NewMem().Create("log", vfs.WriteCategoryUnspecified)
		return &file{File: substitute, health: f.health, hidden: true}, nil
	}
	return made, err
}

// Create makes a file.
func (f *filesystem) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.make(name, func() (vfs.File, error) { return f.FS.Create(name, category) })
}

// Open opens a file for reading.
func (f *filesystem) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	log := f.log.Load()
	opened, err := f.FS.Open(name, options...)
	if err == nil && log != nil && log.Name == name {
		opened = log.Reader(opened)
	}
	return opened, err
}

// ReuseForWrite renames an unused write-ahead log.
func (f *filesystem) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.make(name, func() (vfs.File, error) { return f.FS.ReuseForWrite(old, name, category) })
}

// OpenDir opens a folder to sync it.
func (f *filesystem) OpenDir(name string) (vfs.File, error) {
	opened, err := f.FS.OpenDir(name)
	if err != nil || filepath.Clean(name) != f.health.folder {
		return opened, err
	}
	return &file{File: opened, health: f.health, hidden: true}, nil
}

// MkdirAll makes a folder that only its owner may read. Pebble would let everyone.
func (f *filesystem) MkdirAll(folder string, _ os.FileMode) error {
	return f.FS.MkdirAll(folder, 0o700)
}

// Rename renames a file.
func (f *filesystem) Rename(old, name string) error {
	return f.change(name, func() error { return f.FS.Rename(old, name) })
}

// Remove deletes a file. It is not repeated: a file that stays costs only room.
func (f *filesystem) Remove(name string) error {
	if f.contains(name) && f.health.failed.Load() {
		return errFrozen
	}
	return f.FS.Remove(name)
}

// Unwrap returns the wrapped file system.
func (f *filesystem) Unwrap() vfs.FS { return f.FS }

type file struct {
	vfs.File
	health *health
	// hidden means that errors are hidden from Pebble.
	hidden bool
}

// report passes an error to health instead of Pebble if it is to be hidden.
func (f *file) report(err error) error {
	if err == nil || !f.hidden || !f.health.opened.Load() {
		return err
	}
	f.health.fail(err)
	return nil
}

// Write appends to the file.
func (f *file) Write(data []byte) (int, error) {
	written := 0
	err := errFrozen
	if !f.health.failed.Load() {
		err = f.health.retry(func() error {
			n, err := f.File.Write(data[written:])
			written += n
			return err
		})
	}
	if err = f.report(err); err == nil {
		written = len(data)
	}
	return written, err
}

// sync runs an operation that makes the content durable.
func (f *file) sync(operation func() error) error {
	if f.health.failed.Load() {
		return f.report(errFrozen)
	}
	err := operation()
	if err != nil && f.health.opened.Load() {
		f.health.fail(err)
	}
	return f.report(err)
}

// Sync makes content and metadata durable.
func (f *file) Sync() error { return f.sync(f.File.Sync) }

// SyncData makes the content durable.
func (f *file) SyncData() error { return f.sync(f.File.SyncData) }

// SyncTo begins to write the content out.
func (f *file) SyncTo(length int64) (full bool, err error) {
	err = f.sync(func() error {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Close closes the file.
func (f *file) Close() error { return f.report(f.File.Close()) }
