package pebble

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// isLog reports whether a file is a write-ahead log.
func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// extendBytes is how far a write-ahead log is filled with zeros at a time.
const extendBytes = 1 << 20

var zeros [extendBytes]byte

// logFile is a write-ahead log that is filled with zeros ahead of what is written. To sync
// a write that makes a file longer takes about twice as long as to sync one that does not,
// as the file system must write the new length too. Pebble reads zeros as the end of a log.
type logFile struct {
	vfs.File
	written, length int64
}

func newLogFile(f vfs.File) *logFile {
	l := &logFile{File: f}
	// A log that Pebble uses again is longer than what is written first.
	if info, err := f.Stat(); err == nil {
		l.length = info.Size()
	}
	return l
}

// Write appends to what was written.
func (l *logFile) Write(data []byte) (int, error) {
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

// lostFile stands for a write-ahead log that could not be made. It takes everything and
// keeps nothing.
type lostFile struct{ vfs.File }

func (lostFile) Write(data []byte) (int, error) { return len(data), nil }
func (lostFile) Sync() error                    { return nil }
func (lostFile) SyncData() error                { return nil }
func (lostFile) SyncTo(int64) (bool, error)     { return true, nil }
func (lostFile) Preallocate(int64, int64) error { return nil }
func (lostFile) Close() error                   { return nil }
func (lostFile) Fd() uintptr                    { return vfs.InvalidFd }
func (lostFile) Stat() (vfs.FileInfo, error)    { return lostInfo{}, nil }

type lostInfo struct{ vfs.FileInfo }

func (lostInfo) Size() int64 { return 0 }
