package s3_test

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/prometheus/client_golang/prometheus"

	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/guard"
	"attestry/storage/s3"
	"attestry/storage/storagetest"
)

func TestObjects(t *testing.T) {
	storagetest.Objects(t, func(t *testing.T) storagetest.ObjectStore {
		options := newBucket(t)
		return storagetest.ObjectStore{Objects: open(t, options), Keys: func() []string { return keysIn(t, options) }}
	})
}

func TestKilledProcessLeavesWholeObjectsOnly(t *testing.T) {
	prepare := func() string { return newBucket(t).Bucket }
	storagetest.ObjectsSurviveKill(t, prepare, func(ctx context.Context, bucket string) (storagetest.ObjectStore, error) {
		options := server(t)
		options.Bucket = bucket
		store, err := s3.Open(ctx, options)
		return storagetest.ObjectStore{Objects: store, Keys: func() []string { return keysIn(t, options) }}, err
	})
}

func TestAlteredObjectIsDamaged(t *testing.T) {
	options := newBucket(t)
	store := guard.New(time.Now, slog.New(slog.DiscardHandler), prometheus.NewRegistry()).Objects(open(t, options))
	for _, size := range []int{10, 1 << 20} {
		content := strings.Repeat("x", size)
		object, err := store.Put(t.Context(), "org", strings.NewReader(content), -1)
		evidencetest.Must(t, err)
		altered := strings.NewReader(content[1:] + "y")
		if _, err := connect(t, options).PutObject(t.Context(), options.Bucket, object.Key, altered, int64(size), minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Get(t.Context(), object.Key, 0, -1); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("an altered object of %d bytes: %v", size, err)
		}
	}
}

func TestOpenMakesTheBucketOnce(t *testing.T) {
	options := newBucket(t)
	errs := make(chan error)
	for range 4 {
		go func() {
			_, err := s3.Open(t.Context(), options)
			errs <- err
		}()
	}
	for range 4 {
		evidencetest.Check(t, <-errs)
	}
}

func TestPutKeepsTheSumAsMetadataAndNothingElse(t *testing.T) {
	options := newBucket(t)
	store := open(t, options)
	client := connect(t, options)
	var want []string
	for _, content := range []string{"small", strings.Repeat("large", 1<<20)} {
		object, err := store.Put(t.Context(), "org", strings.NewReader(content), -1)
		evidencetest.Must(t, err)
		want = append(want, object.Key)
		info, err := client.StatObject(t.Context(), options.Bucket, object.Key, minio.StatObjectOptions{})
		if err != nil || info.UserMetadata["Sha256"] != object.SHA256 {
			t.Errorf("metadata of %s: %v, %v", object.Key, info.UserMetadata, err)
		}
	}
	slices.Sort(want)
	if keys := keysIn(t, options); !slices.Equal(keys, want) {
		t.Errorf("the bucket holds %q, want %q", keys, want)
	}
}

func TestPingFailsWithoutTheBucket(t *testing.T) {
	options := newBucket(t)
	store := open(t, options)
	evidencetest.Must(t, connect(t, options).RemoveBucket(t.Context(), options.Bucket))
	if err := store.Ping(t.Context()); err == nil {
		t.Error("Ping says all is well")
	}
}

func TestNowReturnsTheTimeOfTheServer(t *testing.T) {
	then := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fake := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", then.Format(http.TimeFormat))
		if r.URL.Path == "/" {
			w.WriteHeader(http.StatusForbidden) // the reply of servers to anonymous requests
		} else if r.Method == http.MethodGet {
			fmt.Fprint(w, "<LocationConstraint></LocationConstraint>")
		}
	}))
	defer fake.Close()
	authorities := x509.NewCertPool()
	authorities.AddCert(fake.Certificate())
	store, err := s3.Open(t.Context(), s3.Options{
		Endpoint: fake.Listener.Addr().String(), Secure: true, RootCAs: authorities, Bucket: "bucket", AccessKey: "a", SecretKey: "s",
	})
	evidencetest.Must(t, err)
	if now, err := store.Now(t.Context()); err != nil || !now.Equal(then) {
		t.Errorf("it is %v, %v", now, err)
	}
}

func TestErrorsShowNoSecret(t *testing.T) {
	denying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	defer denying.Close()
	for _, endpoint := range []string{denying.Listener.Addr().String(), "127.0.0.1:1"} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := s3.Open(ctx, s3.Options{
			Endpoint: endpoint, Bucket: "bucket", AccessKey: "the-access-key", SecretKey: "the-secret-key",
		})
		if err == nil {
			t.Fatalf("Open of %s succeeded", endpoint)
		}
		if strings.Contains(err.Error(), "the-secret-key") || strings.Contains(err.Error(), "the-access-key") {
			t.Errorf("a key shows in %q", err)
		}
	}
}

// server returns the options of the server to test with, or skips the test.
func server(t *testing.T) s3.Options {
	t.Helper()
	address := os.Getenv("ATTESTRY_TEST_S3")
	if address == "" {
		t.Skip("ATTESTRY_TEST_S3 is not set: no S3 server to test against")
	}
	var named config.Objects
	evidencetest.Must(t, named.UnmarshalText([]byte(address)))
	return s3.Options{
		Endpoint: named.Endpoint, Bucket: named.Bucket,
		AccessKey: named.AccessKey, SecretKey: named.SecretKey,
	}
}

// newBucket names a new bucket that is removed with its content at the end of the test. The configured bucket's name is
// its prefix.
func newBucket(t *testing.T) s3.Options {
	t.Helper()
	options := server(t)
	options.Bucket += "-" + strings.ToLower(rand.Text())
	t.Cleanup(func() {
		err := connect(t, options).RemoveBucketWithOptions(context.WithoutCancel(t.Context()), options.Bucket, minio.RemoveBucketOptions{ForceDelete: true})
		if err != nil && minio.ToErrorResponse(err).Code != minio.NoSuchBucket {
			t.Errorf("remove bucket %s: %v", options.Bucket, err)
		}
	})
	return options
}

func open(t *testing.T, options s3.Options) *s3.Store {
	t.Helper()
	store, err := s3.Open(t.Context(), options)
	evidencetest.Must(t, err)
	return store
}

// connect returns a client that accesses the bucket directly.
func connect(t *testing.T, options s3.Options) *minio.Client {
	t.Helper()
	client, err := minio.New(options.Endpoint, &minio.Options{
		Creds:  credentials.NewStaticV4(options.AccessKey, options.SecretKey.Reveal(), ""),
		Secure: options.Secure,
	})
	evidencetest.Must(t, err)
	return client
}

// keysIn lists the keys of all objects in a bucket, in order.
func keysIn(t *testing.T, options s3.Options) []string {
	t.Helper()
	var keys []string
	for info := range connect(t, options).ListObjectsIter(t.Context(), options.Bucket, minio.ListObjectsOptions{Recursive: true}) {
		if info.Err != nil {
			t.Fatal(info.Err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}
