package s3

import (
	"errors"
	"net/http"

	"github.com/minio/minio-go/v7"

	"attestry/storage"
	"attestry/storage/spool"
)

// spoolFolder is what clients read of the folder that uploads pass through.
const spoolFolder = "folder for temporary files"

// refusals are the server's codes by which it refuses writes until its operator has mended something.
var refusals = map[string]string{
	minio.AccessDenied:               storage.PermissionDenied,
	minio.AllAccessDisabled:          storage.PermissionDenied,
	"QuotaExceeded":                  storage.QuotaUsedUp, // Ceph
	"XMinioAdminBucketQuotaExceeded": storage.QuotaUsedUp,
	"XMinioStorageFull":              storage.DiskFull,
}

// explainWrite makes a storage.ErrWriteRefused of an error by which the server refuses a write.
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

// explainSpool makes a storage.ErrWriteRefused of an error by which the operating system refuses a temporary file.
func explainSpool(err error) error {
	var file *spool.FileError
	if errors.As(err, &file) {
		if reason := storage.RefusalOf(err); reason != "" {
			return storage.RefuseWrite(spoolFolder, reason, err)
		}
	}
	return err
}
