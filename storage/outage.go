package storage

import (
	"errors"
	"fmt"
	"time"

	"attestry/evidence"
)

// Outages is implemented by engines whose database can be out of reach.
type Outages interface {
	// Outage tells whether err means that the database could not be reached.
	Outage(err error) bool
}

// outageRetry is when a client should come back: drivers need about as long to
// find a new primary.
const outageRetry = 2 * time.Second

// asOutage makes an error that clients may try again of one that an outage caused,
// and keeps the cause for the log.
func asOutage(docs Documents, err error) error {
	var ours *evidence.Error
	engine, ok := docs.(Outages)
	if !ok || errors.As(err, &ours) || !engine.Outage(err) {
		return err
	}
	return fmt.Errorf("%w %w", &evidence.Error{
		Code:       evidence.Unavailable,
		Message:    "The database cannot be reached, please try again.",
		RetryAfter: outageRetry,
	}, err)
}
