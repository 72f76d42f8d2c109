package pebble

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
)

// Checkpoint makes a consistent copy of the running database, with every write that was
// acknowledged before, in a folder that must not exist. Files that are never changed are
// linked if the folder is on the same file system, so that it takes little time and room.
// Open opens the copy.
func (db *DB) Checkpoint(ctx context.Context, folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	return db.read(ctx, func(*view) error {
		err := db.engine.Checkpoint(folder, pebble.WithFlushedWAL())
		if err == nil {
			err = db.health.failure()
		}
		if err != nil {
			return fmt.Errorf("copy the database to %s: %w", folder, err)
		}
		return nil
	})
}
