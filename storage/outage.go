package storage

import (
	"errors"
	"time"

	"attestry/evidence"
)

// ErrOutage reports that a store could not do what it was asked, through no fault of
// the request: it did not answer, it was restarting, locked, out of space, or refused
// our credentials. The same request may succeed later. A document that is missing,
// damaged, refused or too large is no outage, and neither is a deadline of the caller.
var ErrOutage = errors.New("outage of a store")

// outageRetry is when a client should come back: drivers need about as long to
// find a new primary.
const outageRetry = 2 * time.Second

// Outage marks an error of an engine as an ErrOutage and keeps its cause for the log.
// Clients are told to try again. store names what is away: the database or the object
// store.
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
