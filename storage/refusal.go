package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"attestry/evidence"
)

// ErrWriteRefused reports that a store accepts no writes until the operator has repaired it: its disk is full or
// read-only, or permission is denied. It is an ErrOutage: the same request may succeed later.
var ErrWriteRefused = fmt.Errorf("%w: the store refuses writes", ErrOutage)

// ProbeSchema is the collection in which a document is written and deleted to test whether a database accepts writes.
var ProbeSchema = &Schema{Name: "probes"}

// refusalRetry is when a client should try a refused write again. It is long, as an operator is needed.
const refusalRetry = 10 * time.Second

// The names of the stores in messages to clients.
const (
	Database    = "database"
	ObjectStore = "object store"
)

// The reasons for which stores refuse writes, in messages to clients.
const (
	DiskFull         = "the disk is full"
	QuotaUsedUp      = "its quota is used up"
	ReadOnly         = "it is read-only"
	PermissionDenied = "permission is denied"
	DiskFails        = "the disk reports an error"
	WritesBlocked    = "its administrator has blocked writes"
)

// IgnoreMissing returns an error, nil if it is ErrNotFound.
func IgnoreMissing(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// RefuseWrite returns an ErrWriteRefused with a cause, which is only logged.
func RefuseWrite(store, reason string, cause error) error {
	return unavailable("The "+store+" cannot be written to: "+reason+".", refusalRetry, ErrWriteRefused, cause)
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

// ErrOutage reports that a store could not serve a request, through no fault of the request: it did not answer, was
// restarting, locked or out of space, or refused our credentials. The same request may succeed later.
// Missing, damaged, refused or too large content is no outage, nor is a deadline of the caller.
var ErrOutage = errors.New("outage of a store")

// outageRetry is when a client should try again: drivers need about as long to find a new primary.
const outageRetry = 2 * time.Second

// Outage returns an ErrOutage with the error of an engine, which is only logged. Its message asks clients to try again.
// store is Database or ObjectStore.
func Outage(store string, cause error) error {
	return unavailable("The "+store+" cannot be reached, please try again.", outageRetry, ErrOutage, cause)
}

func unavailable(sentence string, retry time.Duration, class, cause error) error {
	client := &evidence.Error{Code: evidence.Unavailable, Message: sentence, RetryAfter: retry}
	return &classified{client: client, class: class, cause: cause}
}

// Damaged returns an ErrDamaged with a sentence for clients that says what is damaged or lost. Only the text of the
// cause is kept, for the log: a wrapped ErrNotFound would make lost content look like content that never existed.
func Damaged(sentence string, cause error) error {
	return &classified{
		client: evidence.NewError(evidence.Damaged, sentence),
		class:  ErrDamaged,
		cause:  errors.New(cause.Error()),
	}
}

// classified is an error with a sentence for clients and a class for callers.
type classified struct {
	client *evidence.Error
	class  error
	cause  error
}

// Error is for the log: the sentence and the cause.
func (e *classified) Error() string {
	return strings.TrimSuffix(e.client.Message, ".") + ": " + e.cause.Error()
}

// Unwrap returns the sentence first, since the cause may have one of its own.
func (e *classified) Unwrap() []error { return []error{e.client, e.class, e.cause} }
