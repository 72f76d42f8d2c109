package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"attestry/storage"
)

// List describes objects in the order of their keys, without other files. It reads the names of one folder at a time.
func (s *Store) List(ctx context.Context, after string, limit int) ([]storage.Object, error) {
	if err := storage.CheckListLimit(limit); err != nil {
		return nil, err
	}
	l := lister{store: s, after: after, limit: limit}
	if err := l.walk(ctx, "."); err != nil {
		return nil, fmt.Errorf("list the object store %s: %w", s.root.Name(), asOutage(err))
	}
	return l.objects, nil
}

type lister struct {
	store   *Store
	after   string
	limit   int
	objects []storage.Object
}

// walk collects the objects below a folder, until there are enough.
func (l *lister) walk(ctx context.Context, folder string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(l.store.root.FS(), folder)
	if folder != "." && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// The names of folders are compared with the slash that they have in keys: a-b/ comes before a/.
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(inKey(a), inKey(b)) })
	for _, entry := range entries {
		if len(l.objects) == l.limit {
			return nil
		}
		if err := l.visit(ctx, path.Join(folder, entry.Name()), entry); err != nil {
			return err
		}
	}
	return nil
}

func inKey(entry fs.DirEntry) string {
	if entry.IsDir() {
		return entry.Name() + "/"
	}
	return entry.Name()
}

func (l *lister) visit(ctx context.Context, name string, entry fs.DirEntry) error {
	if entry.IsDir() {
		prefix := name + "/"
		if !mayContainObjects(prefix) || prefix < l.after && !strings.HasPrefix(l.after, prefix) {
			return nil
		}
		return l.walk(ctx, name)
	}
	object, err := storage.ParseObjectKey(name)
	if err != nil || name <= l.after || !entry.Type().IsRegular() {
		return nil
	}
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	object.Size = info.Size()
	l.objects = append(l.objects, object)
	return nil
}

func mayContainObjects(prefix string) bool {
	scope, rest, _ := strings.Cut(prefix, "/")
	return storage.ValidScope(scope) && (strings.HasPrefix("sha256/", rest) || strings.HasPrefix(rest, "sha256/"))
}
