// Package storage stores the documents and objects of Attestry. It declares two ports, Documents and Objects, that
// engines implement (storage/pebble, storage/mongodb, storage/filesystem, storage/s3), and holds the repositories
// built on them.
package storage

import (
	"errors"
	"strings"

	"attestry/evidence"
)

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
