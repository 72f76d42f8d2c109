// Package s3 keeps objects in a bucket of an S3-compatible server. It is the production engine of storage.Objects.
package s3

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"attestry/evidence"
	"attestry/storage"
)

// maxAttempts is how often a request is tried. With pauses of up to a second, it bridges the restart of a server.
const maxAttempts = 5

// Options say where a bucket is, and with which key it is opened.
type Options struct {
	// Endpoint is the host of the server, with its port unless that is the usual one.
	Endpoint string
	// Secure means TLS. RootCAs are the authorities that sign the certificate of the server, nil for the system's.
	Secure  bool
	RootCAs *x509.CertPool
	// Bucket is made by Open if it is absent, with object lock if there is a retention. LeaveBucket makes that an error.
	Bucket      string
	LeaveBucket bool
	AccessKey   string
	SecretKey   evidence.Secret
	// Retention is how Retain keeps objects from deletion, "" for not at all. It needs a bucket with object lock.
	Retention RetentionMode
}

// Store is a bucket of objects.
type Store struct {
	client minio.Core
	// transport is that of the client.
	transport http.RoundTripper
	bucket    string
	// maxSinglePut is the largest object that is sent by one request, in bytes.
	maxSinglePut int64
	retention    RetentionMode
}

// Open connects to the server and makes an absent bucket. It fails if the server does not answer.
func Open(ctx context.Context, options Options) (*Store, error) {
	transport, err := minio.DefaultTransport(options.Secure)
	if err != nil {
		return nil, fmt.Errorf("open the object store: %w", err)
	}
	if options.Secure && options.RootCAs != nil {
		transport.TLSClientConfig.RootCAs = options.RootCAs
	}
	client, err := minio.New(options.Endpoint, &minio.Options{
		Creds:      credentials.NewStaticV4(options.AccessKey, options.SecretKey.Reveal(), ""),
		Secure:     options.Secure,
		Transport:  transport,
		MaxRetries: maxAttempts,
	})
	if err != nil {
		return nil, fmt.Errorf("open the object store: %w", err)
	}
	store := &Store{
		client: minio.Core{Client: client}, transport: transport, bucket: options.Bucket,
		maxSinglePut: maxSinglePut, retention: options.Retention,
	}
	if err := store.makeBucket(ctx, options.LeaveBucket); err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", options.Bucket, err)
	}
	return store, nil
}

// Ping reports whether the bucket can be reached.
func (s *Store) Ping(ctx context.Context) error {
	found, err := s.client.BucketExists(ctx, s.bucket)
	if err != nil {
		return fmt.Errorf("reach bucket %s: %w", s.bucket, asOutage(ctx, err))
	}
	if !found {
		return fmt.Errorf("bucket %s does not exist", s.bucket)
	}
	return nil
}

// Now returns the time on the clock of the server, in whole seconds.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, s.client.EndpointURL().String(), http.NoBody)
	if err != nil {
		return time.Time{}, err
	}
	response, err := s.transport.RoundTrip(request)
	if err != nil {
		return time.Time{}, err
	}
	response.Body.Close()
	return http.ParseTime(response.Header.Get("Date"))
}

// Get opens length bytes of an object from offset on. A range beyond the end of the object is shortened.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if offset < 0 || length < -1 {
		return nil, fmt.Errorf("get object %s: invalid range (%d, %d)", key, offset, length)
	}
	if _, err := storage.ParseObjectKey(key); err != nil {
		return nil, err
	}
	if length == 0 {
		return s.emptyRange(ctx, key)
	}
	options := minio.GetObjectOptions{}
	if offset > 0 || length > 0 {
		options.Set("Range", byteRange(offset, length))
	}
	content, _, _, err := s.client.GetObject(ctx, s.bucket, key, options)
	if minio.ToErrorResponse(err).Code == minio.InvalidRange {
		return s.emptyRange(ctx, key)
	}
	if err != nil {
		return nil, fmt.Errorf("get object %s: %w", key, asOutage(ctx, translate(err)))
	}
	// A connection may end within the object.
	return storage.ConvertErrors(content, content, func(err error) error { return asOutage(ctx, err) }), nil
}

// Stat describes an object.
func (s *Store) Stat(ctx context.Context, key string) (storage.Object, error) {
	object, err := storage.ParseObjectKey(key)
	if err != nil {
		return storage.Object{}, err
	}
	info, err := s.client.StatObject(ctx, s.bucket, key, minio.StatObjectOptions{})
	if err != nil {
		return storage.Object{}, fmt.Errorf("stat object %s: %w", key, asOutage(ctx, translate(err)))
	}
	object.Size = info.Size
	return object, nil
}

// Delete removes an object. With a retention it removes all versions, which would otherwise take up storage for ever.
func (s *Store) Delete(ctx context.Context, key string) error {
	if _, err := storage.ParseObjectKey(key); err != nil {
		return err
	}
	if s.retention != "" {
		return s.deleteVersions(ctx, key)
	}
	if err := s.client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{}); err != nil {
		return explainWrite(fmt.Errorf("delete object %s: %w", key, asOutage(ctx, err)))
	}
	return nil
}

// emptyRange returns an empty range of an object, which must exist.
func (s *Store) emptyRange(ctx context.Context, key string) (io.ReadCloser, error) {
	if _, err := s.Stat(ctx, key); err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(nil)), nil
}

func (s *Store) makeBucket(ctx context.Context, leave bool) error {
	found, err := s.client.BucketExists(ctx, s.bucket)
	if err != nil || found {
		return err
	}
	if leave {
		return errors.New("it does not exist")
	}
	err = s.client.MakeBucket(ctx, s.bucket, minio.MakeBucketOptions{ObjectLocking: s.retention != ""})
	if minio.ToErrorResponse(err).Code == minio.BucketAlreadyOwnedByYou {
		// Another process has made it meanwhile.
		return nil
	}
	return err
}

// byteRange is the Range header for length bytes from offset on, -1 for all.
func byteRange(offset, length int64) string {
	if length < 0 {
		return fmt.Sprintf("bytes=%d-", offset)
	}
	return fmt.Sprintf("bytes=%d-%d", offset, offset+length-1)
}

func translate(err error) error {
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return storage.ErrNotFound
	}
	return err
}
