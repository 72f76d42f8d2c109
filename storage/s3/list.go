package s3

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"

	"attestry/storage"
)

// List describes objects in the order of their keys, without other keys in the bucket. Each scope is listed separately,
// as MinIO leaves out objects after a key of the scope a if there are the scopes a-b or a.b.
func (s *Store) List(ctx context.Context, after string, limit int) ([]storage.Object, error) {
	if err := storage.CheckListLimit(limit); err != nil {
		return nil, err
	}
	var objects []storage.Object
	scope, _, inside := strings.Cut(after, "/")
	if inside && storage.ValidScope(scope) {
		found, err := s.listScope(ctx, scope+"/", after, limit)
		if err != nil || len(found) == limit {
			return found, err
		}
		objects = found
	}
	prefixes, err := s.scopes(ctx)
	if err != nil {
		return nil, err
	}
	for _, prefix := range prefixes {
		if len(objects) == limit {
			break
		}
		if prefix <= after || strings.HasPrefix(after, prefix) {
			continue
		}
		found, err := s.listScope(ctx, prefix, "", limit-len(objects))
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// scopes returns the scopes of the bucket in order, each with a slash.
func (s *Store) scopes(ctx context.Context) ([]string, error) {
	var prefixes []string
	err := s.each(ctx, minio.ListObjectsOptions{}, func(info minio.ObjectInfo) bool {
		if scope, isFolder := strings.CutSuffix(info.Key, "/"); isFolder && storage.ValidScope(scope) {
			prefixes = append(prefixes, info.Key)
		}
		return true
	})
	slices.Sort(prefixes)
	return prefixes, err
}

func (s *Store) listScope(ctx context.Context, prefix, after string, limit int) ([]storage.Object, error) {
	var objects []storage.Object
	options := minio.ListObjectsOptions{Recursive: true, Prefix: prefix, StartAfter: after, MaxKeys: limit}
	err := s.each(ctx, options, func(info minio.ObjectInfo) bool {
		object, err := storage.ParseObjectKey(info.Key)
		if err == nil {
			object.Size = info.Size
			objects = append(objects, object)
		}
		return len(objects) < limit
	})
	return objects, err
}

func (s *Store) each(ctx context.Context, options minio.ListObjectsOptions, yield func(minio.ObjectInfo) bool) error {
	options.FetchOwner = new(false)
	for info := range s.client.ListObjectsIter(ctx, s.bucket, options) {
		if info.Err != nil {
			return fmt.Errorf("list bucket %s: %w", s.bucket, asOutage(ctx, info.Err))
		}
		if !yield(info) {
			break
		}
	}
	// The iterator ends without an error when the context does.
	return ctx.Err()
}
