package pebble

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"attestry/storage"
	"attestry/storage/pebble/manifest"
	"attestry/storage/pebble/ordered"
	"attestry/storage/pebble/wal"
)

var errClosed = errors.New("the Pebble database is closed")

// damaged are the errors of this package that mean damaged content.
var damaged = []error{errValue, ordered.ErrMalformed, errCatalog, errNoRecord, manifest.ErrMissing, errDamagedFile, errAcknowledged, wal.ErrDamaged}

// explain returns damage as storage.ErrDamaged, and any other error of Pebble as an outage.
func explain(folder string, err error) error {
	switch {
	case err == nil:
		return nil
	case isDamage(err):
		return storage.Damaged("The database is damaged", named(folder, err))
	}
	return storage.Outage(storage.Database, named(folder, err))
}

func (db *DB) closedError() error {
	return storage.Outage(storage.Database, named(db.folder, errClosed))
}

func isDamage(err error) bool {
	// Pebble opens only files that must exist, so a missing one is damage.
	return isOwnDamage(err) || pebble.IsCorruptionError(err) || errors.Is(err, fs.ErrNotExist)
}

// isOwnDamage reports whether an error is damage found by this package, not by Pebble.
func isOwnDamage(err error) bool {
	return slices.ContainsFunc(damaged, func(damage error) bool { return errors.Is(err, damage) })
}

func named(folder string, err error) error { return fmt.Errorf("database folder %s: %w", folder, err) }
