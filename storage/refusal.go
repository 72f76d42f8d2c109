package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"attestry/evidence"
)

// ErrWriteRefused reports that a store takes no writes until the operator has mended it: its disk is full or
// read-only, or permission is denied. It is an ErrOutage: the same request may succeed later.
var ErrWriteRefused = fmt.Errorf("%w: the store refuses writes", ErrOutage)

// ProbeSchema is the collection in which a document is written and deleted to test whether a database takes writes
// again.
var ProbeSchema = &Schema{Name: "probes"}

// refusalRetry is when a client should try a refused write again. It is long, as an operator is needed.
const refusalRetry = 10 * time.Second

// The stores, as clients read of them.
const (
	Database    = "database"
	ObjectStore = "object store"
)

// The reasons for which stores refuse writes, as clients read them.
const (
	DiskFull         = "the disk is full"
	QuotaUsedUp      = "its quota is used up"
	ReadOnly         = "it is read-only"
	PermissionDenied = "permission is denied"
	DiskFails        = "the disk reports an error"
	WritesBlocked    = "its administrator has blocked writes"
)

// RefuseWrite makes an ErrWriteRefused of a cause, which goes to the log only.
func RefuseWrite(store, reason string, cause error) error {
	return &classified{
		client: &evidence.Error{
			Code:       evidence.Unavailable,
			Message:    "The " + store + " cannot be written to: " + reason + ".",
			RetryAfter: refusalRetry,
		},
		class: ErrWriteRefused,
		cause: cause,
	}
}

// RefusalOf returns why the operating system refused to write a file, or "" for other errors.
func RefusalOf(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return DiskFull
	case errors.Is(err, syscall.EDQUOT):
		return QuotaUsedUp
	case errors.Is(err, syscall.EROFS):
		return ReadOnly
	case errors.Is(err, fs.ErrPermission):
		return PermissionDenied
	case errors.Is(err, syscall.EIO):
		return DiskFails
	default:
		return ""
	}
}
