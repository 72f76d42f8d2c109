package s3

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/minio/minio-go/v7"

	"attestry/storage"
)

// RetentionMode says who may end the retention of an object early. This package never does.
type RetentionMode = minio.RetentionMode

const (
	// Governance is retention that users with the permission s3:BypassGovernanceRetention can end.
	Governance = minio.Governance
	// Compliance is retention that nobody can end.
	Compliance = minio.Compliance
)

// The headers by which the server describes the retention of a version.
const (
	lockModeHeader  = "X-Amz-Object-Lock-Mode"
	lockUntilHeader = "X-Amz-Object-Lock-Retain-Until-Date"
	legalHoldHeader = "X-Amz-Object-Lock-Legal-Hold"
)

// noLock is the server's error code for retention in a bucket without object lock.
const noLock = "InvalidRequest"

// ErrNoObjectLock reports a bucket without object lock, which cannot keep objects from deletion.
var ErrNoObjectLock = errors.New("the bucket has no object lock")

// ObjectRetention is the retention of one version of an object.
type ObjectRetention struct {
	Mode  RetentionMode
	Until time.Time
	// Held means a legal hold, which has no end and only an operator can set.
	Held bool
}

// Runs reports whether the retention has not ended.
func (r ObjectRetention) Runs() bool { return r.Until.After(time.Now()) }

// RetentionOf returns the retention of the newest version of an object.
func (s *Store) RetentionOf(ctx context.Context, key string) (ObjectRetention, error) {
	found, err := s.retentionOf(ctx, key, "")
	if err != nil {
		err = fmt.Errorf("read the retention of object %s: %w", key, asOutage(ctx, translate(err)))
	}
	return found, err
}

// Lock sets mode and end of the retention of an object's newest version. It never shortens it, nor weakens a running
// Compliance. ErrNoObjectLock means a bucket without object lock. Unlike Retain, it needs no mode of the store.
func (s *Store) Lock(ctx context.Context, key string, wanted ObjectRetention) error {
	present, err := s.RetentionOf(ctx, key)
	if err != nil {
		return err
	}
	if present.Mode == Compliance && present.Runs() {
		wanted.Mode = Compliance
	}
	if present.Mode == wanted.Mode && !wanted.Until.After(present.Until) {
		return nil
	}
	if present.Until.After(wanted.Until) {
		wanted.Until = present.Until
	}
	err = s.client.PutObjectRetention(ctx, s.bucket, key, minio.PutObjectRetentionOptions{Mode: &wanted.Mode, RetainUntilDate: &wanted.Until})
	if minio.ToErrorResponse(err).Code == noLock {
		return fmt.Errorf("%w: %w", ErrNoObjectLock, err)
	}
	if err != nil {
		return explainWrite(fmt.Errorf("retain object %s: %w", key, asOutage(ctx, translate(err))))
	}
	return nil
}

// Retain keeps the newest version of an object from deletion. A running retention keeps its mode: a server accepts
// another one only from users who may end it.
func (s *Store) Retain(ctx context.Context, key string, until time.Time) error {
	if _, err := storage.ParseObjectKey(key); err != nil {
		return err
	}
	present, err := s.retentionOf(ctx, key, "")
	if err != nil {
		return fmt.Errorf("retain object %s: %w", key, asOutage(ctx, translate(err)))
	}
	// Servers store whole seconds.
	until = until.Add(time.Second - time.Nanosecond).Truncate(time.Second)
	if s.retention == "" || !until.After(present.Until) {
		return nil
	}
	mode := s.retention
	if present.Runs() {
		mode = present.Mode
	}
	err = s.client.PutObjectRetention(ctx, s.bucket, key, minio.PutObjectRetentionOptions{Mode: &mode, RetainUntilDate: &until})
	if err == nil {
		return nil
	}
	if now, lockErr := s.retentionOf(ctx, key, ""); lockErr == nil && !until.After(now.Until) {
		// Another process has set a later moment meanwhile, which the server did not let us shorten.
		return nil
	}
	return explainWrite(fmt.Errorf("retain object %s: %w", key, asOutage(ctx, translate(err))))
}

// deleteVersions removes each version of an object that is not under retention, and delete markers.
func (s *Store) deleteVersions(ctx context.Context, key string) error {
	var versions []string
	err := s.each(ctx, minio.ListObjectsOptions{Prefix: key, Recursive: true, WithVersions: true}, func(info minio.ObjectInfo) bool {
		if info.Key == key {
			versions = append(versions, info.VersionID)
		}
		// Longer keys come after it.
		return info.Key == key
	})
	if err != nil {
		return fmt.Errorf("delete object %s: %w", key, err)
	}
	var retained error
	for _, version := range versions {
		err := s.deleteVersion(ctx, key, version)
		if errors.Is(err, storage.ErrRetained) {
			retained = err
		} else if err != nil {
			return explainWrite(fmt.Errorf("delete object %s: %w", key, asOutage(ctx, err)))
		}
	}
	return retained
}

// deleteVersion removes a version. Servers have different error codes for retention, so the retention is read.
func (s *Store) deleteVersion(ctx context.Context, key, version string) error {
	err := s.client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{VersionID: version})
	if err == nil {
		return nil
	}
	if present, lockErr := s.retentionOf(ctx, key, version); lockErr == nil && (present.Held || present.Runs()) {
		return fmt.Errorf("delete version %s of object %s: %w: %w", version, key, storage.ErrRetained, err)
	}
	return err
}

// retentionOf returns the retention of a version, or of the newest one if version is "".
func (s *Store) retentionOf(ctx context.Context, key, version string) (ObjectRetention, error) {
	info, err := s.client.StatObject(ctx, s.bucket, key, minio.StatObjectOptions{VersionID: version})
	if err != nil {
		return ObjectRetention{}, err
	}
	found := ObjectRetention{
		Mode: RetentionMode(info.Metadata.Get(lockModeHeader)),
		Held: info.Metadata.Get(legalHoldHeader) == string(minio.LegalHoldEnabled),
	}
	if until := info.Metadata.Get(lockUntilHeader); until != "" {
		found.Until, err = time.Parse(time.RFC3339, until)
	}
	return found, err
}
