// Package spool buffers a stream until it can be used: the file of a form whose JSON part comes after it, or an object
// whose key depends on all its content.
package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Spool is a stream that was read to its end and can be read once more.
type Spool struct {
	// Reader is a *bytes.Reader or an *os.File.
	io.Reader
	// Closer closes the temporary file, if any, which frees its space.
	io.Closer
	// Size is how long the stream is, in bytes.
	Size int64
}

// FileError is an error of the temporary file; all others are those of the stream.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the operating system.
func (e *FileError) Unwrap() error { return e.Err }

// New reads r to its end. More than maxInMemory bytes are held in a temporary file. The caller closes the spool.
func New(r io.Reader, maxInMemory int) (*Spool, error) {
	return NewIn(new(bytes.Buffer), r, maxInMemory)
}

// NewIn is New with the memory of a buffer, which the spool uses until it is closed. Many streams can share one buffer.
func NewIn(buffer *bytes.Buffer, r io.Reader, maxInMemory int) (*Spool, error) {
	buffer.Reset()
	if _, err := buffer.ReadFrom(io.LimitReader(r, int64(maxInMemory)+1)); err != nil {
		return nil, err
	}
	head := buffer.Bytes()
	if len(head) <= maxInMemory {
		return &Spool{Reader: bytes.NewReader(head), Closer: io.NopCloser(nil), Size: int64(len(head))}, nil
	}
	file, err := os.CreateTemp("", "attestry-spool-")
	if err != nil {
		return nil, &FileError{fmt.Errorf("make a temporary file: %w", err)}
	}
	size, err := fill(file, io.MultiReader(bytes.NewReader(head), r))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Spool{Reader: file, Closer: file, Size: size}, nil
}

// fill writes a stream to a file without a name, so that a killed process leaves nothing.
func fill(file *os.File, r io.Reader) (int64, error) {
	if err := os.Remove(file.Name()); err != nil {
		return 0, &FileError{err}
	}
	size, err := io.Copy(writer{file}, r)
	if err != nil {
		return 0, err
	}
	if _, err = file.Seek(0, io.SeekStart); err != nil {
		return 0, &FileError{err}
	}
	return size, nil
}

// writer marks the errors of a file, as io.Copy does not distinguish them from those of a stream.
type writer struct{ file *os.File }

func (w writer) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	if err != nil {
		err = &FileError{err}
	}
	return n, err
}
