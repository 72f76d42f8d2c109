package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/minio/minio-go/v7"

	"attestry/storage"
)

const (
	// maxInMemory is the greatest object that is held in memory until its key is
	// known. A greater one is held in a temporary file.
	maxInMemory = 1 << 20
	// sumMetadata keeps the SHA-256 beside the object, for whoever looks at the
	// bucket with other tools (x-amz-meta-sha256).
	sumMetadata = "Sha256"
)

// Put reads the whole stream, as its SHA-256 is part of the key, and then sends it by
// one request. S3 takes 5 GiB by one request, more than any object has.
func (s *Store) Put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	if !storage.ValidScope(scope) {
		return storage.Object{}, fmt.Errorf("invalid object scope %q", scope)
	}
	if size >= 0 {
		// One byte more than announced is enough to know that there are too many.
		r = io.LimitReader(r, size+1)
	}
	object, err := s.put(ctx, scope, r, size)
	if err != nil {
		return storage.Object{}, explainWrite(fmt.Errorf("put an object of %s: %w", scope, err))
	}
	return object, nil
}

func (s *Store) put(ctx context.Context, scope string, r io.Reader, size int64) (object storage.Object, err error) {
	hash := sha256.New()
	r = io.TeeReader(r, hash)
	head, err := io.ReadAll(io.LimitReader(r, maxInMemory+1))
	if err != nil {
		return storage.Object{}, fmt.Errorf("read the stream: %w", err)
	}
	var content io.Reader = bytes.NewReader(head)
	object.Size = int64(len(head))
	if len(head) > maxInMemory {
		file, n, err := spool(io.MultiReader(content, r))
		if err != nil {
			return storage.Object{}, err
		}
		defer file.Close()
		content, object.Size = file, n
	}
	if size >= 0 && object.Size != size {
		return storage.Object{}, fmt.Errorf("the stream is not of the %d bytes announced", size)
	}
	object.SHA256 = hex.EncodeToString(hash.Sum(nil))
	object.Key = storage.ObjectKey(scope, object.SHA256)
	_, err = s.client.Client.PutObject(ctx, s.bucket, object.Key, content, object.Size, minio.PutObjectOptions{
		DisableMultipart: true, SendContentMd5: true, UserMetadata: map[string]string{sumMetadata: object.SHA256},
	})
	return object, asOutage(ctx, err)
}

// spool copies a stream to a temporary file, and returns the file, to be read from its
// beginning, and its size. The file has no name, so that a killed process leaves
// nothing behind.
func spool(r io.Reader) (*os.File, int64, error) {
	file, err := os.CreateTemp("", "attestry-upload-")
	if err != nil {
		return nil, 0, explainSpool(fmt.Errorf("make a temporary file: %w", err))
	}
	n, err := int64(0), explainSpool(os.Remove(file.Name()))
	if err == nil {
		n, err = io.Copy(spoolWriter{file}, r)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, n, nil
}

// spoolWriter explains the errors of a temporary file, which io.Copy does not tell from
// those of the stream.
type spoolWriter struct{ file *os.File }

func (w spoolWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	return n, explainSpool(err)
}
