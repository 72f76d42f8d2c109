// Package filesystem keeps objects as files below one directory: the embedded engine of storage.Objects.
package filesystem

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"attestry/storage"
)

const (
	// incoming contains unfinished files. No key is in it, as no scope begins with a dot.
	incoming = ".incoming"
	// leftoverAge is the age at which a file in incoming is deleted as one of a killed process. Younger ones may be in
	// use by other processes.
	leftoverAge = time.Hour

	folderMode = 0o700
	fileMode   = 0o600
)

// Store is a directory of objects. Several processes may share it.
type Store struct {
	// root confines every path to the directory, symbolic links included.
	root *os.Root
}

// Open makes an absent directory, checks that it can be written to, and removes unfinished files of killed processes.
func Open(dir string) (*Store, error) {
	if err := makeFolder(dir); err != nil {
		return nil, fmt.Errorf("open the object store %s: %w", dir, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the object store %s: %w", dir, err)
	}
	store := &Store{root: root}
	if err := store.prepare(); err != nil {
		root.Close()
		return nil, fmt.Errorf("open the object store %s: %w", dir, err)
	}
	return store, nil
}

// Close closes the directory. Readers that Get returned stay usable.
func (s *Store) Close() error { return s.root.Close() }

// Ping reports whether files can be written to the directory, and removes unfinished files of killed processes.
func (s *Store) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.prepare(); err != nil {
		return s.refused(fmt.Errorf("write a file: %w", asOutage(err)))
	}
	return nil
}

// Get opens length bytes of an object from offset on. A range beyond the end of the object is shortened.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if offset < 0 || length < -1 {
		return nil, fmt.Errorf("get object %s: invalid range (%d, %d)", key, offset, length)
	}
	if _, err := storage.ParseObjectKey(key); err != nil {
		return nil, err
	}
	file, err := s.root.Open(key)
	if err != nil {
		return nil, fmt.Errorf("get object %s: %w", key, translate(err))
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("get object %s: %w", key, asOutage(err))
	}
	rest := max(info.Size()-offset, 0)
	if length < 0 || length > rest {
		length = rest
	}
	return storage.ConvertErrors(io.NewSectionReader(file, offset, length), file, asOutage), nil
}

// Stat describes an object.
func (s *Store) Stat(ctx context.Context, key string) (storage.Object, error) {
	if err := ctx.Err(); err != nil {
		return storage.Object{}, err
	}
	object, err := storage.ParseObjectKey(key)
	if err != nil {
		return storage.Object{}, err
	}
	info, err := s.root.Stat(key)
	if err != nil {
		return storage.Object{}, fmt.Errorf("stat object %s: %w", key, translate(err))
	}
	object.Size = info.Size()
	return object, nil
}

// Retain only checks that the object exists, as a user that can write to a folder can always delete its files.
func (s *Store) Retain(ctx context.Context, key string, _ time.Time) error {
	_, err := s.Stat(ctx, key)
	return err
}

// Delete removes an object durably: it does not reappear after a crash.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := storage.ParseObjectKey(key); err != nil {
		return err
	}
	err := s.root.Remove(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = s.sync(path.Dir(key))
	}
	if err != nil {
		return s.refused(fmt.Errorf("delete object %s: %w", key, asOutage(err)))
	}
	return nil
}

func (s *Store) prepare() error {
	if err := s.root.Mkdir(incoming, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	now, err := s.probe()
	if err != nil {
		return err
	}
	return s.removeLeftovers(now)
}

// probe writes an empty file and returns its time on the clock of the file system, to which leftovers are compared.
func (s *Store) probe() (time.Time, error) {
	file, name, err := s.create()
	if err != nil {
		return time.Time{}, err
	}
	defer s.root.Remove(name)
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func (s *Store) removeLeftovers(now time.Time) error {
	entries, err := fs.ReadDir(s.root.FS(), incoming)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || now.Sub(info.ModTime()) < leftoverAge {
			continue
		}
		if err := s.root.Remove(path.Join(incoming, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// create opens a new file in incoming and returns its name below the root.
func (s *Store) create() (*os.File, string, error) {
	name := path.Join(incoming, rand.Text())
	file, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	return file, name, err
}

// refused returns a storage.ErrWriteRefused if the operating system refused a write. It adds the name of the directory.
func (s *Store) refused(err error) error {
	err = fmt.Errorf("object store %s: %w", s.root.Name(), err)
	if reason := storage.RefusalOf(err); reason != "" {
		return storage.RefuseWrite(storage.ObjectStore, reason, err)
	}
	return err
}

func translate(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return storage.ErrNotFound
	}
	return asOutage(err)
}

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
	return SyncFolder(filepath.Dir(dir))
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(folder string) error { return syncOpened(os.Open(folder)) }

func (s *Store) sync(folder string) error { return syncOpened(s.root.Open(folder)) }

// syncOpened syncs and closes a folder, unless it could not be opened.
func syncOpened(folder *os.File, err error) error {
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// asOutage marks an error of the file system itself: a full or failing disk, missing rights, too many open files. A
// missing file is none, nor is an error of a stream that is to be stored.
func asOutage(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	if !errors.As(err, &path) && !errors.As(err, &link) {
		return err
	}
	var code syscall.Errno
	if errors.Is(err, os.ErrClosed) || errors.As(err, &code) && code != syscall.ENOENT && code != syscall.ENAMETOOLONG {
		return storage.Outage(storage.ObjectStore, err)
	}
	return err
}
