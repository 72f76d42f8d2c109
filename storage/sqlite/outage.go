package sqlite

import (
	"errors"
	"slices"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"attestry/storage"
)

// outageCodes are the primary result codes of what lies with the file, the disk or
// other processes, and not with what was asked.
var outageCodes = []int{
	sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOMEM,
	sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN,
}

// asOutage marks an error that means that the database could not serve.
func asOutage(err error) error {
	var failure *sqlite.Error
	coded := errors.As(err, &failure) && slices.Contains(outageCodes, failure.Code()&0xff)
	if coded || errors.Is(err, errClosed) {
		return storage.Outage(storage.Database, err)
	}
	return err
}
