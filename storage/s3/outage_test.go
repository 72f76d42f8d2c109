package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/minio/minio-go/v7"

	"attestry/storage"
)

func TestOutagesAreDistinguishedFromOtherErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a refused connection":        {fmt.Errorf("Get: %w", syscall.ECONNREFUSED), true},
		"a server that fails":         {minio.ErrorResponse{StatusCode: http.StatusInternalServerError}, true},
		"a server that starts":        {minio.ErrorResponse{StatusCode: http.StatusServiceUnavailable}, true},
		"a full disk":                 {minio.ErrorResponse{StatusCode: http.StatusInsufficientStorage}, true},
		"a busy server":               {minio.ErrorResponse{StatusCode: http.StatusTooManyRequests}, true},
		"a key that was revoked":      {minio.ErrorResponse{StatusCode: http.StatusForbidden}, true},
		"a bucket that is gone":       {minio.ErrorResponse{StatusCode: http.StatusNotFound, Code: minio.NoSuchBucket}, true},
		"an object that is gone":      {storage.ErrNotFound, false},
		"an object that is too large": {minio.ErrorResponse{StatusCode: http.StatusBadRequest, Code: "EntityTooLarge"}, false},
		"nothing":                     {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := asOutage(t.Context(), wrapped(c.err)); errors.Is(got, storage.ErrOutage) != c.want {
				t.Errorf("got %v", got)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if got := asOutage(ended, wrapped(c.err)); errors.Is(got, storage.ErrOutage) {
				t.Errorf("with a cancelled context: %v", got)
			}
		})
	}
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("get object: %w", err)
}

func TestConnectionLostWhileReadingAnObjectIsAnOutage(t *testing.T) {
	torn := storage.ConvertErrors(iotest.ErrReader(io.ErrUnexpectedEOF), nil, func(err error) error { return asOutage(t.Context(), err) })
	if _, err := io.ReadAll(torn); !errors.Is(err, storage.ErrOutage) {
		t.Errorf("got %v", err)
	}
}

func TestUnreachableServerIsAnOutage(t *testing.T) {
	client, err := minio.New("127.0.0.1:1", &minio.Options{MaxRetries: 1, Region: "none"})
	if err != nil {
		t.Fatal(err)
	}
	store := &Store{client: minio.Core{Client: client}, bucket: "bucket"}
	key := storage.ObjectKey("org", fmt.Sprintf("%064x", 1))
	for name, run := range map[string]func() error{
		"get":    func() error { _, err := store.Get(t.Context(), key, 0, -1); return err },
		"stat":   func() error { _, err := store.Stat(t.Context(), key); return err },
		"delete": func() error { return store.Delete(t.Context(), key) },
		"ping":   func() error { return store.Ping(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(); !errors.Is(err, storage.ErrOutage) {
				t.Errorf("no outage: %v", err)
			}
		})
	}
}
