package apptest

import (
	"context"
	"errors"

	"attestry/storage"
)

// ErrWrite is the error of a write to a collection that fails.
var ErrWrite = errors.New("the write failed")

// FailingCollection fails the inserts and replacements of one collection, as long as it is named.
type FailingCollection struct {
	storage.Documents
	Name string
}

// Insert fails with ErrWrite in the named collection.
func (c *FailingCollection) Insert(ctx context.Context, schema *storage.Schema, record storage.Record) error {
	if schema.Name == c.Name {
		return ErrWrite
	}
	return c.Documents.Insert(ctx, schema, record)
}

// Replace fails with ErrWrite in the named collection.
func (c *FailingCollection) Replace(ctx context.Context, schema *storage.Schema, record storage.Record, revision int64) error {
	if schema.Name == c.Name {
		return ErrWrite
	}
	return c.Documents.Replace(ctx, schema, record, revision)
}

// Write fails with ErrWrite if the named collection is among those written to.
func (c *FailingCollection) Write(ctx context.Context, writes ...storage.Write) error {
	for _, write := range writes {
		if write.Schema.Name == c.Name {
			return ErrWrite
		}
	}
	return c.Documents.Write(ctx, writes...)
}
