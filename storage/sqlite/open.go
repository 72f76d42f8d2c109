package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"
)

// layout is the version of the tables' form, kept as user_version in the file. It is
// raised when an older version of this package could not work with the file.
const layout = 1

// errNewer reports a file that a newer version has written.
var errNewer = errors.New("it was written by a newer version of Attestry")

// claimLayout refuses a file of a newer layout and marks one that has no mark yet.
func (s *session) claimLayout() error {
	found := 0
	err := s.query("PRAGMA user_version", nil, func(rows *sql.Rows) error { return rows.Scan(&found) })
	switch {
	case err != nil:
		return err
	case found > layout:
		return fmt.Errorf("%w (layout %d, this version knows %d)", errNewer, found, layout)
	case found == layout:
		return nil
	}
	_, err = s.exec(fmt.Sprintf("PRAGMA user_version = %d", layout))
	return err
}

// refuseDirectory returns an error when there is a directory in the file's place. A
// symbolic link may lead to a file that SQLite is yet to make.
func refuseDirectory(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	return err
}

// explainOpen names the file that cannot be opened and says what to do about it.
func explainOpen(path string, err error) error {
	if codeOf(err) == sqlite3.SQLITE_CANTOPEN {
		err = causeOfCantOpen(path, err)
	}
	if advice := adviceFor(err); advice != "" {
		return fmt.Errorf("open the database %s: %w; %s", path, err, advice)
	}
	return fmt.Errorf("open the database %s: %w", path, err)
}

// causeOfCantOpen returns the operating system's reason for which the file cannot be
// opened, or err if there is none: SQLite tells of every reason alike, as "out of
// memory".
func causeOfCantOpen(path string, err error) error {
	file, cause := os.OpenFile(path, os.O_RDWR, 0)
	if cause != nil {
		return cause
	}
	file.Close()
	return err
}

func adviceFor(err error) string {
	switch {
	case errors.Is(err, errNewer):
		return "start that version, or restore a backup made by this one"
	case errors.Is(err, syscall.EISDIR):
		return "a file is needed there: move the directory away or name another file"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return adviceWritable
	case errors.Is(err, syscall.ENOSPC):
		return adviceRoom
	}
	return openAdvice[codeOf(err)]
}

const (
	adviceWritable = "the user that runs Attestry must be able to write to the file and its folder"
	adviceRoom     = "make room on its disk"
)

// openAdvice says what to do about a result code of SQLite.
var openAdvice = map[int]string{
	sqlite3.SQLITE_BUSY:     "end the other process that has locked it",
	sqlite3.SQLITE_CANTOPEN: adviceWritable,
	sqlite3.SQLITE_CORRUPT:  "restore it from a backup",
	sqlite3.SQLITE_FULL:     adviceRoom,
	sqlite3.SQLITE_IOERR:    "check that its disk works and has room",
	sqlite3.SQLITE_NOTADB:   "move the file away or name another file",
	sqlite3.SQLITE_PERM:     adviceWritable,
	sqlite3.SQLITE_READONLY: adviceWritable,
}
