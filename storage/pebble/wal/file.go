package wal

import (
	"strings"

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
	written, length int64
}

// NewFile makes a File of one that is written from its beginning.
func NewFile(f vfs.File) *File {
	l := &File{File: f}
	// A log that Pebble reuses keeps its length.
	if info, err := f.Stat(); err == nil {
		l.length = info.Size()
	}
	return l
}

// Write appends to what was written.
func (l *File) Write(data []byte) (int, error) {
	if end := l.written + int64(len(data)); end > l.length && l.length >= 0 {
		if _, err := l.WriteAt(zeros[:], max(l.length, end)); err != nil {
			l.length = -1 // the disk is full, or nearly
		} else {
			l.length = max(l.length, end) + extendBytes
		}
	}
	n, err := l.File.Write(data)
	l.written += int64(n)
	return n, err
}
