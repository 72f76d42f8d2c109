package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/s3"
	"attestry/storage/storagetest"
)

// listCounter counts the lists of an object store.
type listCounter struct {
	storage.Objects
	lists int
}

func (c *listCounter) List(ctx context.Context, after string, limit int) ([]storage.Object, error) {
	c.lists++
	return c.Objects.List(ctx, after, limit)
}

func TestObjectsAreNotListedOneByOne(t *testing.T) {
	stores := make([]*listCounter, 2)
	for i := range stores {
		objects, err := filesystem.Open(t.TempDir())
		evidencetest.Must(t, err)
		defer objects.Close()
		stores[i] = &listCounter{Objects: objects}
	}
	for i := range 20 {
		if _, err := stores[0].Put(t.Context(), "org", strings.NewReader(strings.Repeat("x", i)), -1); err != nil {
			t.Fatal(err)
		}
	}
	c := &objectCopy{from: stores[0], to: stores[1], out: t.Output(), errs: t.Output()}
	evidencetest.Must(t, c.run(t.Context()))
	// Each store is read three times, with one list for the page and one for the end.
	if from, to := stores[0].lists, stores[1].lists; from > 6 || to > 6 {
		t.Errorf("the source was listed %d times, the target %d times", from, to)
	}
}

// dyingObjects stores a number of objects, and fails to store the others after it has read them.
type dyingObjects struct {
	storage.Objects
	left int
}

func (d *dyingObjects) Put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	if d.left--; d.left < 0 {
		_, err := io.Copy(io.Discard, r)
		return storage.Object{}, errors.Join(err, storagetest.ErrKilled)
	}
	return d.Objects.Put(ctx, scope, r, size)
}

func TestInterruptedCopyOfObjectsContinues(t *testing.T) {
	folders := [2]string{t.TempDir(), t.TempDir()}
	var stores [2]*filesystem.Store
	for i, folder := range folders {
		var err error
		if stores[i], err = filesystem.Open(folder); err != nil {
			t.Fatal(err)
		}
		defer stores[i].Close()
	}
	for i := range 20 {
		if _, err := stores[0].Put(t.Context(), "org", strings.NewReader(strings.Repeat("x", i*100_000)), -1); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	c := &objectCopy{from: stores[0], to: &dyingObjects{stores[1], 7}, out: &out, errs: &errs}
	if err := c.run(t.Context()); !errors.Is(err, storagetest.ErrKilled) || out.Len() > 0 {
		t.Fatalf("%v; printed %s", err, &out)
	}
	c = &objectCopy{from: stores[0], to: stores[1], out: &out, errs: &errs}
	if err := c.run(t.Context()); err != nil || !strings.Contains(errs.String(), "13 objects copied, 7 were there already") || !strings.Contains(out.String(), "every one of 20 objects") {
		t.Errorf("%v; printed %s%s", err, &errs, &out)
	}
}

// newLockedBucket makes a bucket with object lock, which is removed at the end of the test. hold sets the legal hold of an
// object.
func newLockedBucket(t *testing.T, address string) (url string, bucket *s3.Store, hold func(key string, status minio.LegalHoldStatus)) {
	t.Helper()
	var named config.Objects
	url = fmt.Sprintf("%s-locked-%016x", strings.TrimSuffix(address, "/"), rand.Uint64())
	evidencetest.Must(t, named.UnmarshalText([]byte(url)))
	bucket, err := s3.Open(t.Context(), s3.Options{
		Endpoint: named.Endpoint, Secure: named.Secure, Bucket: named.Bucket, AccessKey: named.AccessKey, SecretKey: named.SecretKey, Retention: s3.Governance,
	})
	evidencetest.Must(t, err)
	client, err := minio.New(named.Endpoint, &minio.Options{Creds: credentials.NewStaticV4(named.AccessKey, named.SecretKey.Reveal(), ""), Secure: named.Secure})
	evidencetest.Must(t, err)
	ctx := context.WithoutCancel(t.Context())
	hold = func(key string, status minio.LegalHoldStatus) {
		evidencetest.Check(t, client.PutObjectLegalHold(ctx, named.Bucket, key, minio.PutObjectLegalHoldOptions{Status: &status}))
	}
	t.Cleanup(func() {
		for info := range client.ListObjectsIter(ctx, named.Bucket, minio.ListObjectsOptions{Recursive: true, WithVersions: true}) {
			evidencetest.Check(t, client.RemoveObject(ctx, named.Bucket, info.Key, minio.RemoveObjectOptions{VersionID: info.VersionID, GovernanceBypass: true}))
		}
		evidencetest.Check(t, client.RemoveBucket(ctx, named.Bucket))
	})
	return url, bucket, hold
}

func TestRetentionIsCopiedWithObjects(t *testing.T) {
	address := os.Getenv("ATTESTRY_TEST_S3")
	if address == "" {
		t.Skip("scripts/test --real copies between buckets")
	}
	from, source, hold := newLockedBucket(t, address)
	to, target, _ := newLockedBucket(t, address)
	var keys []string
	for _, content := range []string{"a", "b", "c"} {
		object, err := source.Put(t.Context(), "org", strings.NewReader(content), -1)
		evidencetest.Must(t, err)
		keys = append(keys, object.Key)
	}
	hour := time.Now().Truncate(time.Second).Add(time.Hour)
	retain := func(bucket *s3.Store, key string, until time.Time) {
		evidencetest.Must(t, bucket.Retain(t.Context(), key, until))
	}
	copied := func(want string, untils ...time.Time) {
		t.Helper()
		if out, _ := mustCopy(t, from, to); !strings.HasSuffix(out, "key names\n"+want) {
			t.Errorf("copy printed %s", out)
		}
		for i, until := range untils {
			if got, err := target.RetentionOf(t.Context(), keys[i]); err != nil || !got.Until.Equal(until) || got.Runs() && got.Mode != s3.Governance {
				t.Errorf("object %d has %+v, %v; want %s", i, got, err, until)
			}
		}
	}
	copied("", time.Time{}, time.Time{}, time.Time{})
	// As after an interruption, the target has the objects without their retention.
	retain(source, keys[0], hour)
	retain(source, keys[1], hour.Add(time.Hour))
	retain(target, keys[1], hour.Add(2*time.Hour))
	hold(keys[2], minio.LegalHoldEnabled)
	copied("2 objects are under retention as in the source\n1 objects are on legal hold in the source, which is not copied\n", hour, hour.Add(2*time.Hour), time.Time{})
	hold(keys[2], minio.LegalHoldDisabled)

	const without = "2 objects are under retention in the source and not in the target, which has no object lock\n"
	for _, to := range []string{newBucket(t, address), "file://" + filepath.Join(t.TempDir(), "objects")} {
		if out, _ := mustCopy(t, from, to); !strings.HasSuffix(out, without) {
			t.Errorf("copied to %s: it printed %s", to, out)
		}
	}
}
