// Package spool holds a stream until it can be used: the file of a form whose data
// come behind it.
package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxInMemory is the greatest stream that is held in memory, in bytes. Greater ones
// are held in a temporary file.
const maxInMemory = 64 << 10

// Spool is a stream that has been read to its end and can be read once more.
type Spool struct {
	io.Reader
	file *os.File // nil when the stream is in memory
}

// New reads r to its end. The caller closes the spool.
func New(r io.Reader) (*Spool, error) {
	head, err := io.ReadAll(io.LimitReader(r, maxInMemory+1))
	if err != nil {
		return nil, err
	}
	if len(head) <= maxInMemory {
		return &Spool{Reader: bytes.NewReader(head)}, nil
	}
	file, err := os.CreateTemp("", "attestry-spool-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	if err := fill(file, io.MultiReader(bytes.NewReader(head), r)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Spool{Reader: file, file: file}, nil
}

// fill writes a stream to a file without a name, so that a killed process leaves
// nothing behind.
func fill(file *os.File, r io.Reader) error {
	if err := os.Remove(file.Name()); err != nil {
		return err
	}
	if _, err := io.Copy(file, r); err != nil {
		return err
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// Close frees what the spool holds.
func (s *Spool) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
