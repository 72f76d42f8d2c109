package storage

import (
	"errors"
	"time"

	"attestry/evidence"
)

// ErrOutage reports that a store could not do what it was asked, through no fault of the request: it did not
// answer, was restarting, locked or out of space, or refused our credentials. The same request may succeed later.
// Missing, damaged, refused or too large content is no outage, nor is a deadline of the caller.
var ErrOutage = errors.New("outage of a store")

// outageRetry is when a client should try again: drivers need about as long to find a new primary.
const outageRetry = 2 * time.Second

// Outage makes an ErrOutage of an error of an engine, which goes to the log. Clients are told to try again. store
// is Database or ObjectStore.
func Outage(store string, cause error) error {
	return &classified{
		client: &evidence.Error{
			Code:       evidence.Unavailable,
			Message:    "The " + store + " cannot be reached, please try again.",
			RetryAfter: outageRetry,
		},
		class: ErrOutage,
		cause: cause,
	}
}
