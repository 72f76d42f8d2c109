package s3

import (
	"context"
	"errors"
	"net/http"

	"github.com/minio/minio-go/v7"

	"attestry/storage"
	"attestry/storage/spool"
)

// spoolFolder is the name of the folder for spooled uploads in messages to clients.
const spoolFolder = "folder for temporary files"

// refusals are the server's error codes for writes that it refuses until its operator repairs something.
var refusals = map[string]string{
	minio.AccessDenied:               storage.PermissionDenied,
	minio.AllAccessDisabled:          storage.PermissionDenied,
	"QuotaExceeded":                  storage.QuotaUsedUp, // Ceph
	"XMinioAdminBucketQuotaExceeded": storage.QuotaUsedUp,
	"XMinioStorageFull":              storage.DiskFull,
}

// explainWrite returns a storage.ErrWriteRefused if the server refused a write.
func explainWrite(err error) error {
	var failure minio.ErrorResponse
	if !errors.As(err, &failure) {
		return err
	}
	reason := refusals[failure.Code]
	if failure.StatusCode == http.StatusInsufficientStorage {
		reason = storage.DiskFull
	}
	if reason == "" {
		return err
	}
	return storage.RefuseWrite(storage.ObjectStore, reason, err)
}

// explainSpool returns a storage.ErrWriteRefused if the operating system refused a temporary file.
func explainSpool(err error) error {
	if _, ok := errors.AsType[*spool.FileError](err); ok {
		if reason := storage.RefusalOf(err); reason != "" {
			return storage.RefuseWrite(spoolFolder, reason, err)
		}
	}
	return err
}

// asOutage marks an error that means that the server could not be reached, or could not serve: it failed, is too busy,
// or no longer has our bucket or accepts our key. The caller's deadline is no outage.
func asOutage(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, storage.ErrNotFound) {
		return err
	}
	if response, ok := errors.AsType[minio.ErrorResponse](err); ok && !serverFault(response) {
		return err
	}
	return storage.Outage(storage.ObjectStore, err)
}

func serverFault(response minio.ErrorResponse) bool {
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return response.StatusCode >= http.StatusInternalServerError || response.Code == minio.NoSuchBucket
}
