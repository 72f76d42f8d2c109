package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/retention"
	"attestry/storage/s3"
	"attestry/storage/storagetest"
)

// newLockedBucket names a bucket that Open creates with object lock. Cleanup deletes all versions, because the server
// removes only empty buckets with object lock.
func newLockedBucket(t *testing.T, mode s3.RetentionMode) s3.Options {
	t.Helper()
	options := newBucket(t)
	options.Retention = mode
	t.Cleanup(func() {
		client, ctx := connect(t, options), context.WithoutCancel(t.Context())
		for info := range client.ListObjectsIter(ctx, options.Bucket, minio.ListObjectsOptions{Recursive: true, WithVersions: true}) {
			removal := minio.RemoveObjectOptions{VersionID: info.VersionID, GovernanceBypass: true}
			if err := client.RemoveObject(ctx, options.Bucket, info.Key, removal); err != nil {
				t.Errorf("remove a version of %s: %v", info.Key, err)
			}
		}
		if err := client.RemoveBucket(ctx, options.Bucket); err != nil {
			t.Errorf("remove bucket %s: %v", options.Bucket, err)
		}
	})
	return options
}

func TestObjectsInABucketWithObjectLock(t *testing.T) {
	storagetest.Objects(t, func(t *testing.T) storagetest.ObjectStore {
		options := newLockedBucket(t, s3.Governance)
		return storagetest.ObjectStore{Objects: open(t, options), Keys: func() []string { return keysIn(t, options) }}
	})
}

// versionsOf lists the version ids of an object, newest first.
func versionsOf(t *testing.T, options s3.Options, key string) []string {
	t.Helper()
	var versions []string
	for info := range connect(t, options).ListObjectsIter(t.Context(), options.Bucket, minio.ListObjectsOptions{Prefix: key, Recursive: true, WithVersions: true}) {
		if info.Err != nil {
			t.Fatal(info.Err)
		}
		versions = append(versions, info.VersionID)
	}
	return versions
}

func put(t *testing.T, store *s3.Store, content string) storage.Object {
	t.Helper()
	object, err := store.Put(t.Context(), "org", strings.NewReader(content), -1)
	evidencetest.Must(t, err)
	return object
}

func requireReadable(t *testing.T, store *s3.Store, key, want string) {
	t.Helper()
	reader, err := store.Get(t.Context(), key, 0, -1)
	evidencetest.Must(t, err)
	defer reader.Close()
	if got, err := io.ReadAll(reader); err != nil || string(got) != want {
		t.Errorf("read %q, %v; want %q", got, err, want)
	}
}

func TestRetainedObjectCannotBeDeleted(t *testing.T) {
	for _, mode := range []s3.RetentionMode{s3.Governance, s3.Compliance} {
		t.Run(string(mode), func(t *testing.T) {
			options := newLockedBucket(t, mode)
			store, client := open(t, options), connect(t, options)
			object := put(t, store, "evidence")
			until := time.Now().Add(2 * time.Second)
			evidencetest.Must(t, store.Retain(t.Context(), object.Key, until))
			if mode == s3.Compliance {
				// Until then the bucket cannot be emptied.
				defer time.Sleep(time.Until(until.Add(time.Second)))
			}
			version := versionsOf(t, options, object.Key)[0]
			err := client.RemoveObject(t.Context(), options.Bucket, object.Key, minio.RemoveObjectOptions{VersionID: version})
			if err == nil {
				t.Error("the server deleted the version")
			}
			if err := store.Delete(t.Context(), object.Key); !errors.Is(err, storage.ErrRetained) || errors.Is(err, storage.ErrOutage) {
				t.Errorf("Delete returned %v", err)
			}
			if got := versionsOf(t, options, object.Key); !slices.Equal(got, []string{version}) {
				t.Errorf("the versions are %v", got)
			}
			requireReadable(t, store, object.Key, "evidence")
		})
	}
}

func TestDeleteRemovesEachVersionAndMarker(t *testing.T) {
	options := newLockedBucket(t, s3.Governance)
	store, client := open(t, options), connect(t, options)
	object, other := put(t, store, "evidence"), put(t, store, "other")
	for range 2 {
		if _, err := client.PutObject(t.Context(), options.Bucket, object.Key, strings.NewReader("evidence"), 8, minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	evidencetest.Must(t, client.RemoveObject(t.Context(), options.Bucket, object.Key, minio.RemoveObjectOptions{}))
	if got := versionsOf(t, options, object.Key); len(got) != 4 {
		t.Fatalf("the versions are %v", got)
	}
	evidencetest.Must(t, store.Delete(t.Context(), object.Key))
	if got := versionsOf(t, options, object.Key); len(got) != 0 {
		t.Errorf("there are still the versions %v", got)
	}
	requireReadable(t, store, other.Key, "other")
}

func TestDeleteOfARetainedObjectRemovesItsDeleteMarkers(t *testing.T) {
	options := newLockedBucket(t, s3.Governance)
	store, client := open(t, options), connect(t, options)
	object := put(t, store, "evidence")
	evidencetest.Must(t, store.Retain(t.Context(), object.Key, time.Now().Add(time.Hour)))
	evidencetest.Must(t, client.RemoveObject(t.Context(), options.Bucket, object.Key, minio.RemoveObjectOptions{}))
	if _, err := store.Stat(t.Context(), object.Key); !errors.Is(err, storage.ErrNotFound) {
		t.Fatalf("Stat of a hidden object: %v", err)
	}
	evidencetest.Is(t, store.Delete(t.Context(), object.Key), storage.ErrRetained)
	requireReadable(t, store, object.Key, "evidence")
}

func TestSameContentIsOneVersion(t *testing.T) {
	options := newLockedBucket(t, s3.Governance)
	store := open(t, options)
	for range 3 {
		object := put(t, store, "evidence")
		evidencetest.Must(t, store.Retain(t.Context(), object.Key, time.Now().Add(time.Hour)))
		if got := versionsOf(t, options, object.Key); len(got) != 1 {
			t.Errorf("the versions are %v", got)
		}
	}
}

// holder is an S3 server that has the same content under all keys, and counts what is put.
type holder struct {
	content string
	puts    int
}

func (h *holder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Query().Has("location"):
		fmt.Fprint(w, "<LocationConstraint></LocationConstraint>")
	case r.Method == http.MethodPut:
		h.puts++
	default:
		w.Header().Set("Last-Modified", "Tue, 01 Jan 2019 00:00:00 GMT")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(h.content))
	}
}

func TestObjectWithOtherContentOfItsSizeIsStoredAgain(t *testing.T) {
	for content, puts := range map[string]int{"evidence": 0, "evidencE": 1, "evidence2": 1} {
		held := &holder{content: content}
		server := httptest.NewServer(held)
		defer server.Close()
		store, err := s3.Open(t.Context(), s3.Options{
			Endpoint: server.Listener.Addr().String(), Bucket: "bucket", AccessKey: "access", SecretKey: "secret", Retention: s3.Governance,
		})
		evidencetest.Must(t, err)
		put(t, store, "evidence")
		if held.puts != puts {
			t.Errorf("beside %q it was put %d times", content, held.puts)
		}
	}
}

func TestRetainNeverShortensAndKeepsTheMode(t *testing.T) {
	options := newLockedBucket(t, s3.Governance)
	store, client := open(t, options), connect(t, options)
	options.Retention = s3.Compliance
	stricter := open(t, options)
	object := put(t, store, "evidence")
	day := time.Now().Truncate(time.Second).Add(24 * time.Hour)
	for _, test := range []struct {
		store       *s3.Store
		until, want time.Time
	}{
		{store, day, day},
		{store, day.Add(-time.Hour), day},
		{store, time.Now().Add(-time.Hour), day},
		{store, day.Add(time.Millisecond), day.Add(time.Second)},
		{stricter, day.Add(time.Hour), day.Add(time.Hour)},
		{store, day.Add(2 * time.Hour), day.Add(2 * time.Hour)},
	} {
		if err := test.store.Retain(t.Context(), object.Key, test.until); err != nil {
			t.Errorf("Retain until %s: %v", test.until, err)
		}
		mode, until, err := client.GetObjectRetention(t.Context(), options.Bucket, object.Key, "")
		if err != nil || *mode != minio.Governance || !until.Equal(test.want) {
			t.Errorf("Retain until %s: it is kept until %s, %v", test.until, until, err)
		}
	}
}

func TestConcurrentRetentionsKeepTheLatest(t *testing.T) {
	options := newLockedBucket(t, s3.Governance)
	store := open(t, options)
	object := put(t, store, "evidence")
	day := time.Now().Truncate(time.Second).Add(24 * time.Hour)
	errs := make(chan error)
	for i := range 16 {
		go func() { errs <- store.Retain(t.Context(), object.Key, day.Add(time.Duration(i)*time.Second)) }()
	}
	for range 16 {
		evidencetest.Check(t, <-errs)
	}
	_, until, err := connect(t, options).GetObjectRetention(t.Context(), options.Bucket, object.Key, "")
	if err != nil || !until.Equal(day.Add(15*time.Second)) {
		t.Errorf("it is kept until %s, %v", until, err)
	}
}

func TestRetentionIsVerified(t *testing.T) {
	settings := config.Retention{Days: 1, Mode: "governance"}
	locked, unlocked := newLockedBucket(t, s3.Governance), newBucket(t)
	store := open(t, locked)
	evidencetest.Must(t, retention.New(store, settings, time.Now).Verify(t.Context()))
	errs := make(chan error)
	for range 8 {
		go func() { errs <- retention.New(store, settings, time.Now).Verify(t.Context()) }()
	}
	for range 8 {
		evidencetest.Check(t, <-errs)
	}
	keys := keysIn(t, locked)
	if len(keys) != 1 {
		t.Fatalf("the bucket holds %v", keys)
	}
	if versions := versionsOf(t, locked, keys[0]); len(versions) != 1 {
		t.Errorf("the versions are %v", versions)
	}

	open(t, unlocked)
	unlocked.Retention = s3.Governance
	err := retention.New(open(t, unlocked), settings, time.Now).Verify(t.Context())
	if err == nil || !strings.Contains(err.Error(), "created with object lock") {
		t.Errorf("without object lock: %v", err)
	}
}

func TestLockKeepsTheLaterEndAndTheStricterMode(t *testing.T) {
	options := newLockedBucket(t, s3.Governance)
	open(t, options)
	options.Retention = "" // as copies of stores open it
	store := open(t, options)
	object := put(t, store, "evidence")
	near := time.Now().Truncate(time.Second).Add(5 * time.Second)
	for _, test := range []struct{ given, want s3.ObjectRetention }{
		{s3.ObjectRetention{Mode: s3.Governance, Until: near}, s3.ObjectRetention{Mode: s3.Governance, Until: near}},
		{s3.ObjectRetention{Mode: s3.Governance, Until: near.Add(-time.Second)}, s3.ObjectRetention{Mode: s3.Governance, Until: near}},
		{s3.ObjectRetention{Mode: s3.Governance, Until: near.Add(time.Hour)}, s3.ObjectRetention{Mode: s3.Governance, Until: near.Add(time.Hour)}},
	} {
		if err := store.Lock(t.Context(), object.Key, test.given); err != nil {
			t.Errorf("%+v: %v", test.given, err)
		}
		if got, err := store.RetentionOf(t.Context(), object.Key); err != nil || got.Mode != test.want.Mode || !got.Until.Equal(test.want.Until) {
			t.Errorf("%+v: it has %+v, %v", test.given, got, err)
		}
	}
	strict := put(t, store, "strict")
	for _, mode := range []s3.RetentionMode{s3.Compliance, s3.Governance} {
		evidencetest.Check(t, store.Lock(t.Context(), strict.Key, s3.ObjectRetention{Mode: mode, Until: near}))
	}
	// Until then the bucket cannot be emptied.
	defer time.Sleep(time.Until(near.Add(time.Second)))
	if got, err := store.RetentionOf(t.Context(), strict.Key); err != nil || got.Mode != s3.Compliance || !got.Until.Equal(near) {
		t.Errorf("it has %+v, %v", got, err)
	}
	absent := storage.ObjectKey("org", strings.Repeat("ab", 32))
	if _, err := store.RetentionOf(t.Context(), absent); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the lock of an absent object: %v", err)
	}
}

func TestLockInABucketWithoutObjectLock(t *testing.T) {
	store := open(t, newBucket(t))
	object := put(t, store, "evidence")
	err := store.Lock(t.Context(), object.Key, s3.ObjectRetention{Mode: s3.Governance, Until: time.Now().Add(time.Hour)})
	if !errors.Is(err, s3.ErrNoObjectLock) || errors.Is(err, storage.ErrOutage) {
		t.Errorf("Lock returned %v", err)
	}
}

// lockingServer is an S3 server with two versions of each object. Like AWS, it refuses to delete a retained version
// with the same code as without permission.
type lockingServer struct {
	retained map[string]string // end of retention by version
	denied   bool              // no deletion is permitted
	deleted  []string
}

func (l *lockingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query, version := r.URL.Query(), r.URL.Query().Get("versionId")
	switch {
	case query.Has("location"):
		fmt.Fprint(w, "<LocationConstraint></LocationConstraint>")
	case query.Has("versions"):
		fmt.Fprintf(w, `<ListVersionsResult>
			<Version><Key>%[1]s</Key><VersionId>new</VersionId></Version><Version><Key>%[1]s</Key><VersionId>old</VersionId></Version>
			<Version><Key>%[1]s0</Key><VersionId>other</VersionId></Version></ListVersionsResult>`, query.Get("prefix"))
	case r.Method == http.MethodDelete && (l.denied || l.retained[version] != ""):
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
	case r.Method == http.MethodDelete:
		l.deleted = append(l.deleted, version)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodHead && l.retained[version] != "":
		w.Header().Set("Last-Modified", "Tue, 01 Jan 2019 00:00:00 GMT")
		w.Header().Set("x-amz-object-lock-mode", "GOVERNANCE")
		w.Header().Set("x-amz-object-lock-retain-until-date", l.retained[version])
	}
}

func TestRefusalByRetentionIsDistinguishedFromAMissingPermission(t *testing.T) {
	for name, test := range map[string]struct {
		server  lockingServer
		want    error
		deleted []string
	}{
		"no retention":              {lockingServer{}, nil, []string{"new", "old"}},
		"an old version":            {lockingServer{retained: map[string]string{"old": "2999-01-01T00:00:00Z"}}, storage.ErrRetained, []string{"new"}},
		"the newest, with fraction": {lockingServer{retained: map[string]string{"new": "2999-01-01T00:00:00.000Z"}}, storage.ErrRetained, []string{"old"}},
		"a retention that is over":  {lockingServer{retained: map[string]string{"new": "2001-01-01T00:00:00Z"}}, storage.ErrWriteRefused, nil},
		"a missing permission":      {lockingServer{denied: true}, storage.ErrWriteRefused, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(&test.server)
			defer server.Close()
			store, err := s3.Open(t.Context(), s3.Options{
				Endpoint: server.Listener.Addr().String(), Bucket: "bucket", AccessKey: "access", SecretKey: "secret", Retention: s3.Governance,
			})
			evidencetest.Must(t, err)
			err = store.Delete(t.Context(), storage.ObjectKey("org", strings.Repeat("ab", 32)))
			if !errors.Is(err, test.want) || errors.Is(err, storage.ErrOutage) != (test.want == storage.ErrWriteRefused) {
				t.Errorf("Delete returned %v", err)
			}
			if !slices.Equal(test.server.deleted, test.deleted) {
				t.Errorf("the server deleted %v", test.server.deleted)
			}
		})
	}
}

func TestRetainFailsInABucketWithoutObjectLock(t *testing.T) {
	options := newBucket(t)
	object := put(t, open(t, options), "evidence")
	options.Retention = s3.Governance
	store := open(t, options)
	if err := store.Retain(t.Context(), object.Key, time.Now().Add(time.Hour)); err == nil || errors.Is(err, storage.ErrOutage) {
		t.Errorf("Retain returned %v", err)
	}
	evidencetest.Check(t, store.Delete(t.Context(), object.Key))
	if keys := keysIn(t, options); len(keys) != 0 {
		t.Errorf("the bucket holds %v", keys)
	}
}

func TestObjectInPartsIsRead(t *testing.T) {
	options := newBucket(t)
	store := open(t, options)
	content := strings.Repeat("0123456789abcdef", 17<<16)
	object, err := s3.PutInParts(t.Context(), store, "org", strings.NewReader(content), 16<<20)
	evidencetest.Must(t, err)
	info, err := connect(t, options).StatObject(t.Context(), options.Bucket, object.Key, minio.StatObjectOptions{})
	if err != nil || !strings.HasSuffix(info.ETag, "-2") || info.Size != int64(len(content)) || info.UserMetadata["Sha256"] != object.SHA256 {
		t.Errorf("it is stored as %+v, %v", info, err)
	}
	requireReadable(t, store, object.Key, content)
}
