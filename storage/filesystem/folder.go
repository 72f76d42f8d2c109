package filesystem

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// makeFolder makes a folder and missing ones above it, each durable in its parent.
func makeFolder(dir string) error {
	err := os.Mkdir(dir, folderMode)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := makeFolder(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, folderMode)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	return syncAndClose(parent)
}

// sync forces a folder's entries to the disk.
func (s *Store) sync(folder string) error {
	file, err := s.root.Open(folder)
	if err != nil {
		return err
	}
	return syncAndClose(file)
}

func syncAndClose(folder *os.File) error { return errors.Join(folder.Sync(), folder.Close()) }
