package wal

import (
	"io"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Is reports whether a file is a write-ahead log.
func Is(name string) bool { return strings.HasSuffix(name, ".log") }

// extendBytes is how far a write-ahead log is filled with zeros at a time.
const extendBytes = 1 << 20

var zeros [extendBytes]byte

// File is a write-ahead log that is filled with zeros ahead of what is written. To sync
// a write that makes a file longer takes about twice as long as to sync one that does not,
// as the file system must write the new length too. Pebble reads zeros as the end of a log.
type File struct {
	vfs.File
	// Name is the path of the file.
	Name    string
	written atomic.Int64
	length  int64
}

// NewFile makes a File of one that is written from its beginning.
func NewFile(f vfs.File, name string) *File {
	l := &File{File: f, Name: name}
	// A log that Pebble reuses keeps its length.
	if info, err := f.Stat(); err == nil {
		l.length = info.Size()
	}
	return l
}

// Write appends to what was written.
func (l *File) Write(data []byte) (int, error) {
	if end := l.written.Load() + int64(len(data)); end > l.length && l.length >= 0 {
		if _, err := l.WriteAt(zeros[:], max(l.length, end)); err != nil {
			l.length = -1 // the disk is full, or nearly
		} else {
			l.length = max(l.length, end) + extendBytes
		}
	}
	n, err := l.File.Write(data)
	l.written.Add(int64(n))
	return n, err
}

// Reader makes a file that is opened for reading end where the log ends now. Who copies a log while it is written could
// otherwise read zeros, and behind them records that were written meanwhile: a damaged log.
func (l *File) Reader(opened vfs.File) vfs.File {
	return &reader{File: opened, limited: io.LimitedReader{R: opened, N: l.written.Load()}}
}

type reader struct {
	vfs.File
	limited io.LimitedReader
}

// Read reads to the end of the log.
func (r *reader) Read(into []byte) (int, error) { return r.limited.Read(into) }
