package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/minio/minio-go/v7"

	"attestry/storage"
)

const (
	// maxInMemory is the greatest object that is hashed in memory and then put
	// under its key by one request.
	maxInMemory = 1 << 20
	// maxSpooled is the greatest object that passes through a file, to be put under
	// its key by one request as well. Without a file, a part of it would have to be
	// held in memory, to be sent again.
	maxSpooled = 64 << 20
	// partSize is what a greater one holds in memory at a time. With the 10,000
	// parts that S3 admits it bounds a stream of unknown size to 156 GiB.
	partSize = 16 << 20
	// minPartSize is the smallest part S3 admits, enough for a small stream.
	minPartSize = 5 << 20
	// maxCopySize is the greatest object S3 copies by one request.
	maxCopySize = 5 << 30
	// cleanupTimeout bounds the removal of an upload whose context has ended.
	cleanupTimeout = 10 * time.Second

	// incoming is where streams go whose key is not known yet. No scope begins
	// with an underscore, so no key leads there.
	incoming = "_incoming/"
	// sumMetadata keeps the SHA-256 beside the object, for whoever looks at the
	// bucket with other tools (x-amz-meta-sha256).
	sumMetadata = "Sha256"
)

// Put sends an object straight to its key, once that is known: a small one from
// memory, a greater one from a file. A very great one goes to a name of its own,
// and the server copies it to its key.
func (s *Store) Put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	if !storage.ValidScope(scope) {
		return storage.Object{}, fmt.Errorf("invalid object scope %q", scope)
	}
	if size >= 0 {
		// One byte more than announced is enough to know that there are too many.
		r = io.LimitReader(r, size+1)
	}
	object, err := s.put(ctx, scope, &countingReader{r: r, hash: sha256.New()}, size)
	if err != nil {
		return storage.Object{}, explainWrite(fmt.Errorf("put an object of %s: %w", scope, err))
	}
	return object, nil
}

func (s *Store) put(ctx context.Context, scope string, r *countingReader, size int64) (storage.Object, error) {
	head, err := io.ReadAll(io.LimitReader(r, maxInMemory+1))
	if err != nil {
		return storage.Object{}, err
	}
	if len(head) > maxInMemory {
		return s.putSpooled(ctx, scope, head, r, size)
	}
	return s.putWhole(ctx, scope, bytes.NewReader(head), r, size)
}

// putWhole sends content, all that was read of r, to its key.
func (s *Store) putWhole(ctx context.Context, scope string, content io.ReadSeeker, r *countingReader, size int64) (storage.Object, error) {
	object, err := r.object(scope, size)
	if err != nil {
		return storage.Object{}, err
	}
	options := minio.PutObjectOptions{
		PartSize: maxSpooled, SendContentMd5: true, UserMetadata: map[string]string{sumMetadata: object.SHA256},
	}
	_, err = s.client.Client.PutObject(ctx, s.bucket, object.Key, content, object.Size, options)
	return object, asOutage(ctx, err)
}

// putSpooled keeps head and what follows it in r in a file until the key is known.
func (s *Store) putSpooled(ctx context.Context, scope string, head []byte, r *countingReader, size int64) (object storage.Object, err error) {
	spool, err := os.CreateTemp("", "attestry-upload-")
	if err != nil {
		return storage.Object{}, explainSpool(fmt.Errorf("make a temporary file: %w", err))
	}
	defer func() { err = errors.Join(err, spool.Close()) }()
	// Nobody needs its name, and so nothing is left behind by a killed process.
	if err := os.Remove(spool.Name()); err != nil {
		return storage.Object{}, explainSpool(err)
	}
	if _, err := spool.Write(head); err != nil {
		return storage.Object{}, explainSpool(err)
	}
	if _, err := io.Copy(spool, io.LimitReader(r, maxSpooled-int64(len(head)))); err != nil {
		if r.failed {
			return storage.Object{}, err
		}
		return storage.Object{}, explainSpool(err)
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return storage.Object{}, err
	}
	if beyond := make([]byte, 1); !r.ended {
		if n, err := io.ReadFull(r, beyond); n > 0 {
			return s.putStream(ctx, scope, io.MultiReader(spool, bytes.NewReader(beyond), r), r, size)
		} else if !errors.Is(err, io.EOF) {
			return storage.Object{}, err
		}
	}
	return s.putWhole(ctx, scope, spool, r, size)
}

// putStream uploads content, of which r is the end, in parts that can be sent
// again.
func (s *Store) putStream(ctx context.Context, scope string, content io.Reader, r *countingReader, size int64) (storage.Object, error) {
	name := incoming + uuid.NewString()
	options := minio.PutObjectOptions{PartSize: partSizeFor(size), SendContentMd5: true}
	// The size is not told, since the client would then cut a longer stream there.
	info, err := s.client.Client.PutObject(ctx, s.bucket, name, content, -1, options)
	if err != nil && !r.failed {
		err = asOutage(ctx, err)
	}
	if err != nil {
		return storage.Object{}, err
	}
	defer s.discard(ctx, name)

	object, err := r.object(scope, size)
	if err != nil {
		return storage.Object{}, err
	}
	if info.Size != object.Size {
		return storage.Object{}, fmt.Errorf("the server took %d of %d bytes", info.Size, object.Size)
	}
	return object, s.copy(ctx, name, object)
}

func (s *Store) copy(ctx context.Context, name string, object storage.Object) error {
	to := minio.CopyDestOptions{
		Bucket:          s.bucket,
		Object:          object.Key,
		ReplaceMetadata: true,
		UserMetadata:    map[string]string{sumMetadata: object.SHA256},
	}
	from := minio.CopySrcOptions{Bucket: s.bucket, Object: name}
	if object.Size > maxCopySize {
		_, err := s.client.ComposeObject(ctx, to, from)
		return asOutage(ctx, err)
	}
	_, err := s.client.Client.CopyObject(ctx, to, from)
	return asOutage(ctx, err)
}

// discard removes an upload, also when the caller has given up. What it fails to
// remove, a later Open does.
func (s *Store) discard(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	_ = s.client.RemoveObject(ctx, s.bucket, name, minio.RemoveObjectOptions{})
}

// removeLeftovers removes uploads begun before limit, also those that never came
// to an end.
func (s *Store) removeLeftovers(ctx context.Context, limit time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for info := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: incoming, Recursive: true}) {
		if info.Err != nil {
			return info.Err
		}
		if info.LastModified.Before(limit) {
			s.discard(ctx, info.Key)
		}
	}
	for upload := range s.client.ListIncompleteUploads(ctx, s.bucket, incoming, true) {
		if upload.Err != nil {
			return upload.Err
		}
		if !upload.Initiated.Before(limit) {
			continue
		}
		if err := s.client.AbortMultipartUpload(ctx, s.bucket, upload.Key, upload.UploadID); err != nil {
			return err
		}
	}
	return nil
}

// partSizeFor spares a stream that is known to be small the memory of a full part.
func partSizeFor(size int64) uint64 {
	if size < 0 {
		return partSize
	}
	return uint64(min(max(size, minPartSize), partSize))
}

// countingReader counts and hashes what is read through it.
type countingReader struct {
	r     io.Reader
	hash  hash.Hash
	n     int64
	ended bool
	// failed tells that the stream broke, which is no fault of the server.
	failed bool
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.hash.Write(p[:n])
	c.n += int64(n)
	switch {
	case err == io.EOF:
		c.ended = true
	case err != nil:
		c.failed = true
		// Wrapped, because the client takes a bare io.ErrUnexpectedEOF, which a
		// broken request body gives, for the end of the stream.
		err = fmt.Errorf("read the stream: %w", err)
	}
	return n, err
}

// object describes what was read, provided that it was all and of the given size
// (-1 for any).
func (c *countingReader) object(scope string, size int64) (storage.Object, error) {
	if !c.ended {
		return storage.Object{}, errors.New("the stream is longer than the store admits")
	}
	if size >= 0 && c.n != size {
		return storage.Object{}, fmt.Errorf("the stream is not of the %d bytes announced", size)
	}
	sum := hex.EncodeToString(c.hash.Sum(nil))
	return storage.Object{Key: storage.ObjectKey(scope, sum), Size: c.n, SHA256: sum}, nil
}
