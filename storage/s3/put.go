package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"

	"attestry/storage"
	"attestry/storage/spool"
	"attestry/storage/transfer"
)

const (
	// maxInMemory is the largest object held in memory until its key is known; larger ones are in a temporary file.
	maxInMemory = 1 << 20
	// maxSinglePut is the largest object of one request to S3.
	maxSinglePut = 5 << 30
	// sumMetadata keeps the SHA-256 beside the object, for other tools (x-amz-meta-sha256).
	sumMetadata = "Sha256"
)

// Put reads the whole stream, as its SHA-256 is part of the key, and then sends it: by one request, or in parts if it
// is too large for one.
func (s *Store) Put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	if !storage.ValidScope(scope) {
		return storage.Object{}, fmt.Errorf("invalid object scope %q", scope)
	}
	if size >= 0 {
		// One byte more than announced is enough to detect a longer stream.
		r = io.LimitReader(r, size+1)
	}
	object, err := s.put(ctx, scope, r, size)
	if err != nil {
		return storage.Object{}, explainWrite(fmt.Errorf("put an object of %s: %w", scope, err))
	}
	return object, nil
}

func (s *Store) put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	hash := sha256.New()
	content, err := spool.New(io.TeeReader(r, hash), maxInMemory)
	if err != nil {
		return storage.Object{}, explainSpool(err)
	}
	defer content.Close()
	if size >= 0 && content.Size != size {
		return storage.Object{}, fmt.Errorf("the stream is not of the %d bytes announced", size)
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	object := storage.Object{Key: storage.ObjectKey(scope, sum), Size: content.Size, SHA256: sum}
	if stored, err := s.stored(ctx, object); stored || err != nil {
		return object, err
	}
	// The client streams a file if it sends one request, and holds one part in memory if it sends parts. It would read
	// any other kind of reader as a whole.
	_, err = s.client.Client.PutObject(ctx, s.bucket, object.Key, content.Reader, object.Size, minio.PutObjectOptions{
		DisableMultipart: object.Size <= s.maxSinglePut, SendContentMd5: true, UserMetadata: map[string]string{sumMetadata: sum},
	})
	return object, asOutage(ctx, err)
}

// stored reports whether a bucket that keeps all versions has the object, unaltered: another version would take up
// storage, perhaps for years. Other buckets replace it.
func (s *Store) stored(ctx context.Context, object storage.Object) (bool, error) {
	if s.retention == "" {
		return false, nil
	}
	err := transfer.WriteObject(ctx, s, &object, io.Discard)
	if errors.Is(err, transfer.ErrContent) {
		return false, nil
	}
	return err == nil, storage.IgnoreMissing(err)
}
