package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"attestry/storage"
)

// codeOf returns SQLite's primary result code of an error, or SQLITE_OK for an
// error that is not SQLite's.
func codeOf(err error) int {
	var failure *sqlite.Error
	if !errors.As(err, &failure) {
		return sqlite3.SQLITE_OK
	}
	return failure.Code() & 0xff
}

// explainRead adds the file to an error of SQLite. It makes a storage.ErrDamaged of one
// that tells of a damaged file, and marks outages.
func (db *DB) explainRead(err error) error {
	switch codeOf(err) {
	case sqlite3.SQLITE_OK:
		return asOutage(err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return storage.Damaged("The database is damaged", db.named(err))
	default:
		return asOutage(db.named(err))
	}
}

// explainWrite is explainRead for writes: refused ones become a
// storage.ErrWriteRefused.
func (db *DB) explainWrite(err error) error {
	if reason := refusals[codeOf(err)]; reason != "" {
		return storage.RefuseWrite(storage.Database, reason, db.named(err))
	}
	return db.explainRead(err)
}

// refusals are the result codes by which SQLite refuses writes. It reports a quota
// that is used up, or a full disk under its shared memory, as an I/O error.
var refusals = map[int]string{
	sqlite3.SQLITE_FULL:     storage.DiskFull,
	sqlite3.SQLITE_IOERR:    storage.DiskFails,
	sqlite3.SQLITE_READONLY: storage.ReadOnly,
	sqlite3.SQLITE_PERM:     storage.PermissionDenied,
	sqlite3.SQLITE_CANTOPEN: "its file cannot be opened",
}

func (db *DB) named(err error) error { return fmt.Errorf("database file %s: %w", db.path, err) }
