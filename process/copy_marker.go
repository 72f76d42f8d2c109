package process

import (
	"context"
	"errors"
	"fmt"

	"attestry/config"
	"attestry/storage"
)

// copyMarkers declares the collection that has one document while the database is the target of an incomplete copy. It
// is not copied itself.
var copyMarkers = &storage.Schema{Name: "copy_markers"}

const copyMarker = "incomplete"

// errIncompleteCopy reports a database that lacks some of its documents.
var errIncompleteCopy = errors.New("the database is an incomplete copy: run the same `scripts/admin copy` again until its exit status is 0, or name another database")

// OpenCopyTarget opens a database, even if it is an incomplete copy.
func OpenCopyTarget(ctx context.Context, database config.Database) (storage.Documents, error) {
	return openDocuments(ctx, database)
}

// BeginCopy marks a database as an incomplete copy: OpenDocuments refuses it until EndCopy.
func BeginCopy(ctx context.Context, docs storage.Documents) error {
	if err := docs.Put(ctx, copyMarkers, storage.Record{ID: copyMarker, Revision: 1, Body: []byte("{}")}); err != nil {
		return fmt.Errorf("mark the database as an incomplete copy: %w", err)
	}
	return nil
}

// EndCopy removes the mark of BeginCopy.
func EndCopy(ctx context.Context, docs storage.Documents) error {
	if err := docs.Delete(ctx, copyMarkers, copyMarker); err != nil {
		return fmt.Errorf("mark the database as complete: %w", err)
	}
	return nil
}

func refuseIncompleteCopy(ctx context.Context, docs storage.Documents) error {
	_, err := docs.Get(ctx, copyMarkers, copyMarker)
	switch {
	case err == nil:
		return errIncompleteCopy
	case errors.Is(err, storage.ErrNotFound):
		return nil
	}
	return fmt.Errorf("find out whether the database is an incomplete copy: %w", err)
}
