package s3

import (
	"context"
	"io"

	"attestry/storage"
)

// PutInParts puts an object by a store that sends at most limit bytes in one request.
func PutInParts(ctx context.Context, s *Store, scope string, r io.Reader, limit int64) (storage.Object, error) {
	limited := *s
	limited.maxSinglePut = limit
	return limited.Put(ctx, scope, r, -1)
}
