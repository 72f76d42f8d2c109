package filesystem

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"

	"attestry/storage"
)

// Put writes the stream to a temporary file, syncs it, and then renames it. So no reader gets a part of an object.
func (s *Store) Put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	if !storage.ValidScope(scope) {
		return storage.Object{}, fmt.Errorf("invalid object scope %q", scope)
	}
	if err := ctx.Err(); err != nil {
		return storage.Object{}, err
	}
	object, err := s.put(ctx, scope, r, size)
	if err != nil {
		return storage.Object{}, s.refused(fmt.Errorf("put an object of %s: %w", scope, asOutage(err)))
	}
	return object, nil
}

func (s *Store) put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	file, name, err := s.create()
	if err != nil {
		return storage.Object{}, err
	}
	// After the rename, no file has this name.
	defer s.root.Remove(name)
	defer file.Close()

	object, err := fill(ctx, file, r, size)
	if err != nil {
		return storage.Object{}, err
	}
	object.Key = storage.ObjectKey(scope, object.SHA256)
	return object, s.publish(name, object.Key)
}

// fill copies the stream into the file and syncs it.
func fill(ctx context.Context, file *os.File, r io.Reader, size int64) (storage.Object, error) {
	if size >= 0 {
		// One byte more than announced shows that there are too many.
		r = io.LimitReader(r, size+1)
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, hash), contextReader{ctx, r})
	if err != nil {
		return storage.Object{}, err
	}
	if size >= 0 && n != size {
		return storage.Object{}, fmt.Errorf("the stream is not of the %d bytes announced", size)
	}
	if err := file.Sync(); err != nil {
		return storage.Object{}, err
	}
	return storage.Object{Size: n, SHA256: hex.EncodeToString(hash.Sum(nil))}, file.Close()
}

// publish renames a file to its key and syncs all folders above it: another process may not have synced older ones yet.
func (s *Store) publish(name, key string) error {
	if err := s.root.MkdirAll(path.Dir(key), folderMode); err != nil {
		return err
	}
	if err := s.root.Rename(name, key); err != nil {
		return err
	}
	for folder := key; folder != "."; {
		folder = path.Dir(folder)
		if err := s.sync(folder); err != nil {
			return err
		}
	}
	return nil
}

// contextReader fails as soon as its context has ended.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
