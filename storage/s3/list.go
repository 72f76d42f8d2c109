package s3

import (
	"context"
	"fmt"

	"github.com/minio/minio-go/v7"

	"attestry/storage"
)

// List describes objects in the order of their keys. What has no key of an object is passed
// over: a bucket may hold other things as well.
func (s *Store) List(ctx context.Context, after string, limit int) ([]storage.Object, error) {
	if err := storage.CheckListLimit(limit); err != nil {
		return nil, err
	}
	fetchOwner := false
	options := minio.ListObjectsOptions{Recursive: true, StartAfter: after, MaxKeys: limit, FetchOwner: &fetchOwner}
	var objects []storage.Object
	for info := range s.client.ListObjectsIter(ctx, s.bucket, options) {
		if info.Err != nil {
			return nil, fmt.Errorf("list bucket %s: %w", s.bucket, asOutage(ctx, info.Err))
		}
		object, err := storage.ParseObjectKey(info.Key)
		if err != nil {
			continue
		}
		object.Size = info.Size
		if objects = append(objects, object); len(objects) == limit {
			break
		}
	}
	// The iterator ends without an error when the context does.
	return objects, ctx.Err()
}
