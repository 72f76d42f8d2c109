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

// explain makes a storage.ErrDamaged of damage, and an outage of any other error of Pebble.
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
	// Nothing is looked for in the folder that is not known to be there.
	return isOwnDamage(err) || pebble.IsCorruptionError(err) || errors.Is(err, fs.ErrNotExist)
}

// isOwnDamage reports whether this package has found the damage, and not Pebble.
func isOwnDamage(err error) bool {
	return slices.ContainsFunc(damaged, func(damage error) bool { return errors.Is(err, damage) })
}

func named(folder string, err error) error { return fmt.Errorf("database folder %s: %w", folder, err) }
