package s3_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/s3"
	"attestry/storage/storagetest"
)

// fakeServer returns a store on an S3 server with an empty bucket that refuses all changes.
func fakeServer(t *testing.T, status int, code string) *s3.Store {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut || r.Method == http.MethodDelete || r.Method == http.MethodPost:
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>refused</Message></Error>", code)
		case r.URL.Query().Has("location"):
			fmt.Fprint(w, "<LocationConstraint></LocationConstraint>")
		}
	}))
	t.Cleanup(server.Close)
	store, err := s3.Open(t.Context(), s3.Options{
		Endpoint: server.Listener.Addr().String(), Bucket: "bucket", AccessKey: "access", SecretKey: "secret",
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestServerThatRefusesWritesIsUnavailableWithItsReason(t *testing.T) {
	for code, test := range map[string]struct {
		status int
		want   string
	}{
		"XMinioStorageFull":              {507, "the disk is full"},
		"InsufficientStorage":            {507, "the disk is full"},
		"XMinioAdminBucketQuotaExceeded": {400, "its quota is used up"},
		"QuotaExceeded":                  {403, "its quota is used up"},
		"AccessDenied":                   {403, "permission is denied"},
	} {
		t.Run(code, func(t *testing.T) {
			store := fakeServer(t, test.status, code)
			_, small := store.Put(t.Context(), "org", strings.NewReader("content"), -1)
			_, spooled := store.Put(t.Context(), "org", strings.NewReader(strings.Repeat("x", 2<<20)), -1)
			deleted := store.Delete(t.Context(), storage.ObjectKey("org", strings.Repeat("ab", 32)))
			for name, err := range map[string]error{"a small object": small, "a spooled one": spooled, "a deletion": deleted} {
				var client *evidence.Error
				if !errors.As(err, &client) || client.Code != evidence.Unavailable ||
					client.Message != "The object store cannot be written to: "+test.want+"." || !errors.Is(err, storage.ErrWriteRefused) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestUploadDistinguishesAFullFolderFromABrokenStream(t *testing.T) {
	disk := storagetest.NewDisk(t, 4<<20)
	t.Setenv("TMPDIR", disk.Path)
	store := fakeServer(t, http.StatusOK, "")
	long := strings.Repeat("x", 2<<20)
	broken := io.MultiReader(strings.NewReader(long), iotest.ErrReader(os.ErrPermission))
	if _, err := store.Put(t.Context(), "org", broken, -1); !errors.Is(err, os.ErrPermission) || errors.Is(err, storage.ErrWriteRefused) {
		t.Errorf("a stream that breaks: %v", err)
	}
	disk.Fill()
	_, err := store.Put(t.Context(), "org", strings.NewReader(long), -1)
	var client *evidence.Error
	if !errors.As(err, &client) || client.Message != "The folder for temporary files cannot be written to: the disk is full." {
		t.Errorf("a full folder: %v", err)
	}
}
