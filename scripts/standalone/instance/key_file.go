package instance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// KeyFile returns the file of a private key in a directory. If there is none, it makes one that only its owner can
// read; an interrupted start leaves no part of it.
func KeyFile(directory, name string, newKey func() ([]byte, error)) (string, error) {
	file := filepath.Join(directory, name)
	_, err := os.Stat(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	content, err := newKey()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return "", err
	}
	temporary, err := os.CreateTemp(directory, name+"-*") // mode 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(content)
	if err := errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return "", err
	}
	return file, os.Rename(temporary.Name(), file)
}
