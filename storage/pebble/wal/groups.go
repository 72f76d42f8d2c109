package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrGap reports that groups of writes are in no file, although later ones are.
var ErrGap = errors.New("acknowledged writes are missing")

// CheckGroups refuses logs that are damaged, or that do not continue the groups of writes which are in
// the tables. A group has its number as the value of key.
func CheckGroups(folder string, logs []string, key string, flushed uint64) error {
	for _, name := range logs {
		err := Read(filepath.Join(folder, name), func(record []byte) error {
			group, ok, err := groupOf(record, key)
			if err != nil || !ok {
				return err
			}
			if group > flushed+1 {
				return fmt.Errorf("%w: group %d of writes in %s comes behind group %d, so a log (*.log) or the end of the manifest is gone", ErrGap, group, name, flushed)
			}
			flushed = max(flushed, group)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// groupOf returns the number of the group in a record. The first batches of a database are no groups.
func groupOf(record []byte, name string) (group uint64, ok bool, err error) {
	batch := batchrepr.Read(record)
	for {
		_, key, value, more, err := batch.Next()
		if err != nil || !more {
			return group, ok, err
		}
		if string(key) == name && len(value) == 8 {
			group, ok = binary.BigEndian.Uint64(value), true
		}
	}
}

// ReadFS is the file system of a database that is opened for reading.
type ReadFS struct {
	vfs.FS
	// HideLogs hides the logs, so that only tables are read.
	HideLogs bool
	// Logs are those that were read, in order. All data of other logs are in tables.
	Logs []string
}

// List returns the names of the files.
func (f *ReadFS) List(folder string) ([]string, error) {
	names, err := f.FS.List(folder)
	if f.HideLogs {
		names = slices.DeleteFunc(names, Is)
	}
	return names, err
}

// Open opens a file for reading.
func (f *ReadFS) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	if Is(name) {
		f.Logs = append(f.Logs, filepath.Base(name))
	}
	return f.FS.Open(name, options...)
}

// Unwrap returns the wrapped file system.
func (f *ReadFS) Unwrap() vfs.FS { return f.FS }
