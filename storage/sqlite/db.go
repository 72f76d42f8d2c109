// Package sqlite keeps documents in one SQLite file: the engine of a service that
// runs on one machine. Several processes may open the same file.
//
// A write is answered once the transaction it shares with others is committed
// with synchronous=FULL; reads go to connections of their own and see every
// committed write.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	_ "modernc.org/sqlite" // registers the driver

	"attestry/goroutine"
	"attestry/storage"
)

const (
	// readers is how many reads run at once. They are short and bound by the
	// processor; each connection has a page cache of its own.
	readers = 4
	// cacheKiB is the page cache of a connection.
	cacheKiB = 8 << 10
	// readerWait is how long a connection waits for locks in the rare moments
	// when WAL has any for readers: recovery, and the last close.
	readerWait = 5000 // milliseconds
	// walLimit is what is left of the write-ahead log after a checkpoint.
	walLimit = 64 << 20
)

var errClosed = errors.New("the SQLite database is closed")

// DB implements storage.Documents.
type DB struct {
	path    string
	pool    *sql.DB
	tables  map[string]*table
	readers chan *session
	writer  *writer
	closing chan struct{}
	once    sync.Once
	closed  error
}

var _ storage.Documents = (*DB)(nil)

// Open opens the file, which is made when absent together with its folder, and
// creates the tables and indexes that are missing.
func Open(ctx context.Context, path string, schemas []*storage.Schema) (*DB, error) {
	if err := storage.CheckSchemas(schemas); err != nil {
		return nil, err
	}
	source, err := prepareFile(path)
	if err != nil {
		return nil, explainOpen(path, err)
	}
	pool, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, explainOpen(path, err)
	}
	db := &DB{
		path: path, pool: pool, tables: map[string]*table{},
		readers: make(chan *session, readers), closing: make(chan struct{}),
	}
	for _, schema := range schemas {
		db.tables[schema.Name] = newTable(schema)
	}
	if err := db.start(ctx); err != nil {
		return nil, errors.Join(explainOpen(path, err), pool.Close())
	}
	return db, nil
}

// prepareFile makes the file readable for its owner alone, before SQLite would
// make it readable for all, and returns its data source name.
func prepareFile(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	// A file that is there is not opened: closing it would release the locks that
	// another connection of this process holds on it.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case err == nil:
		err = file.Close()
	case errors.Is(err, os.ErrExist):
		err = refuseDirectory(path)
	}
	if err != nil {
		return "", err
	}
	options := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", readerWait),
		"synchronous(FULL)",
		fmt.Sprintf("cache_size(-%d)", cacheKiB),
		fmt.Sprintf("journal_size_limit(%d)", walLimit),
	}}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: options.Encode()}).String(), nil
}

func (db *DB) start(ctx context.Context) error {
	first, err := newSession(ctx, db.pool)
	if err != nil {
		return err
	}
	// The writer waits by itself, so that it can be told to stop.
	if _, err := first.exec("PRAGMA busy_timeout = 0"); err != nil {
		return err
	}
	db.writer = newWriter(first, db.closing)
	if err := db.create(ctx); err != nil {
		return err
	}
	for range readers {
		reader, err := newSession(ctx, db.pool)
		if err != nil {
			return err
		}
		if _, err := reader.exec("PRAGMA query_only = 1"); err != nil {
			return err
		}
		db.readers <- reader
	}
	goroutine.Start(func() error { db.writer.run(); return nil }, func(error) {})
	return nil
}

// create switches the file to WAL and makes tables and indexes, as one write.
// Other processes may be doing the same.
func (db *DB) create(ctx context.Context) error {
	err := db.writer.retryBusy(ctx, func() error {
		_, err := db.writer.session.exec("PRAGMA journal_mode = WAL")
		return err
	})
	if err != nil {
		return err
	}
	return db.writer.transaction(ctx, func() error {
		if err := db.writer.session.claimLayout(); err != nil {
			return err
		}
		for _, table := range db.tables {
			for _, statement := range table.create {
				if _, err := db.writer.session.exec(statement); err != nil {
					return err
				}
			}
			// SQLite opens a file that it cannot write to as well. To delete nothing
			// changes nothing, and fails then.
			if _, err := db.writer.session.exec(table.delete, "[]"); err != nil {
				return err
			}
		}
		return nil
	})
}

// table returns the statements of a collection.
func (db *DB) table(schema *storage.Schema) (*table, error) {
	if table, ok := db.tables[schema.Name]; ok {
		return table, nil
	}
	return nil, fmt.Errorf("collection %s was not declared when the database was opened", schema.Name)
}

// read lends a connection to f. Reads are bounded, so that they are not
// interrupted once they run: an interrupt could hit the connection's next user.
func (db *DB) read(ctx context.Context, f func(*session) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-db.closing:
		return asOutage(errClosed)
	default:
	}
	select {
	case reader := <-db.readers:
		defer func() { db.readers <- reader }()
		return db.explainRead(f(reader))
	case <-ctx.Done():
		return ctx.Err()
	case <-db.closing:
		return asOutage(errClosed)
	}
}

// snapshot is read with all statements of f seeing the same state.
func (db *DB) snapshot(ctx context.Context, f func(*session) error) error {
	return db.read(ctx, func(s *session) error {
		if _, err := s.exec("BEGIN"); err != nil {
			return err
		}
		err := f(s)
		_, end := s.exec("COMMIT")
		return errors.Join(err, end)
	})
}

// Ping reports whether the file can be read.
func (db *DB) Ping(ctx context.Context) error {
	return db.read(ctx, func(s *session) error {
		return s.query("SELECT count(*) FROM sqlite_schema", nil, func(*sql.Rows) error { return nil })
	})
}

// Close lets reads and the transaction under way end, answers what still waits
// with an error, and closes the file.
func (db *DB) Close() error {
	db.once.Do(func() {
		close(db.closing)
		<-db.writer.stopped
		errs := []error{db.writer.session.close()}
		for range readers {
			errs = append(errs, (<-db.readers).close())
		}
		db.closed = errors.Join(append(errs, db.pool.Close())...)
	})
	return db.closed
}
