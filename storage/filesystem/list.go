package filesystem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"attestry/storage"
)

// List walks the folders in which keys with the prefix can lie. Files that are no
// objects are passed over.
func (s *Store) List(ctx context.Context, prefix string, yield func(storage.Object) bool) error {
	if _, err := s.walk(ctx, ".", prefix, yield); err != nil {
		return fmt.Errorf("list objects: %w", asOutage(err))
	}
	return nil
}

// walk tells whether the listing goes on.
func (s *Store) walk(ctx context.Context, folder, prefix string, yield func(storage.Object) bool) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	entries, err := s.entries(folder)
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		name := sortName(entry)
		if folder != "." {
			name = folder + "/" + name
		}
		if !strings.HasPrefix(name, prefix) && !strings.HasPrefix(prefix, name) {
			continue
		}
		more, err := s.visit(ctx, name, entry, prefix, yield)
		if !more || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (s *Store) visit(ctx context.Context, name string, entry fs.DirEntry, prefix string, yield func(storage.Object) bool) (bool, error) {
	if entry.IsDir() {
		return s.walk(ctx, path.Clean(name), prefix, yield)
	}
	object, err := storage.ParseObjectKey(name)
	if err != nil || !entry.Type().IsRegular() || !strings.HasPrefix(name, prefix) {
		return true, nil
	}
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	object.Size = info.Size()
	return yield(object), nil
}

// entries reads a folder in the order of keys; one that has gone is empty.
func (s *Store) entries(folder string) ([]fs.DirEntry, error) {
	file, err := s.root.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	entries, err := file.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Compare(sortName(a), sortName(b))
	})
	return entries, err
}

// sortName is the name by which an entry takes its place: in keys a folder's name
// is followed by a slash, so that "a-b/" comes before "a/".
func sortName(entry fs.DirEntry) string {
	if entry.IsDir() {
		return entry.Name() + "/"
	}
	return entry.Name()
}
