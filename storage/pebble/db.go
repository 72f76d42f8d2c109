// Package pebble keeps documents in a folder, in a log-structured merge-tree of Pebble: the
// engine of a service that runs as one process on one machine.
//
// Writes that arrive together share one batch of Pebble, which is synced to the disk before
// they are answered. Reads see the state after the last batch that was synced: every
// acknowledged write, and none that a loss of power could undo.
//
// While the disk is full, or the operating system refuses to write for another reason, writes are answered with a
// storage.ErrWriteRefused at once, and reads go on. Pebble's file operations are retried, so no restart is needed. A
// write that waits for one is answered with the error, but may still be applied later. If a sync fails, or the state of
// the files is unknown, writes are refused until Attestry is restarted; reads go on.
package pebble

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"attestry/goroutine"
	"attestry/storage"
)

// Options describe a database.
type Options struct {
	// Folder contains the database. It is created if it does not exist.
	Folder string
	// CacheBytes bounds the cache of what was read; 0 is DefaultCacheBytes.
	CacheBytes int64
	// AcceptLoss opens a database with what is left although files are damaged or missing.
	AcceptLoss bool
	// FileSystem contains the folder; nil means that of the operating system.
	FileSystem vfs.FS
}

// DefaultCacheBytes holds the indexes and documents in use on a small machine. The kernel caches files too.
const DefaultCacheBytes = 32 << 20

// DB implements storage.Documents.
type DB struct {
	folder    string
	engine    *pebble.DB
	files     *filesystem
	health    *health
	views     *views
	committer *committer
	// acknowledged is how many groups of commands are durable.
	acknowledged atomic.Uint64
	// stopRecording stops the job of recordAcknowledged.
	stopRecording func()
	collections   map[string]*collection
	reports       *logger
	acceptedLoss  string
	closing       chan struct{}
	once          sync.Once
	closed        error
}

var _ storage.Documents = (*DB)(nil)

// Open opens or makes a database, builds missing indexes and deletes those no longer declared. It refuses a folder that
// is open already.
func Open(ctx context.Context, options Options, schemas []*storage.Schema) (*DB, error) {
	folder, err := prepareFolder(options.Folder)
	if err != nil {
		return nil, explainOpen(options.Folder, err)
	}
	db := &DB{folder: folder, collections: map[string]*collection{}, closing: make(chan struct{})}
	db.health = newHealth(folder, db.closing)
	db.files = newFilesystem(options.FileSystem, db.health)
	db.reports = &logger{health: db.health}
	for _, schema := range schemas {
		db.collections[schema.Name] = newCollection(schema)
	}
	if err := checkFiles(folder, db.files, func() *pebble.Options { return settings(options, db.files, db.reports) }); err != nil {
		if !options.AcceptLoss || errors.Is(err, storage.ErrWriteRefused) {
			return nil, explainOpen(folder, err)
		}
		db.acceptedLoss = err.Error()
		slog.WarnContext(ctx, "the database is opened although data is missing, as the loss was accepted", "folder", folder, "error", err.Error())
	}
	if db.engine, err = openEngine(ctx, folder, settings(options, db.files, db.reports)); err != nil {
		return nil, explainOpen(folder, err)
	}
	err = db.prepare(ctx)
	if err == nil && db.acceptedLoss != "" {
		// Otherwise the loss would have to be accepted again at the next start after a crash.
		err = db.record(false)
	}
	if err == nil {
		err = db.health.failure()
	}
	if err != nil {
		return nil, errors.Join(explainOpen(folder, err), db.engine.Close())
	}
	db.health.opened.Store(true)
	db.views = newViews(db.engine, folder)
	db.committer = newCommitter(db)
	_, db.stopRecording = goroutine.Every(context.WithoutCancel(ctx), acknowledgedInterval, db.recordAcknowledged())
	goroutine.Start(func() error { db.committer.run(); return nil }, func(error) {})
	return db, nil
}

func (db *DB) collection(schema *storage.Schema) (*collection, error) {
	if c, ok := db.collections[schema.Name]; ok {
		return c, nil
	}
	return nil, fmt.Errorf("collection %s was not declared when the database was opened", schema.Name)
}

// read calls f with the last durable state, and returns damage that f finds as storage.ErrDamaged.
func (db *DB) read(ctx context.Context, f func(*view) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v := db.views.acquire()
	if v == nil {
		return db.closedError()
	}
	defer db.views.done(v)
	err := f(v)
	if err != nil && isOwnDamage(err) {
		return explain(v.folder, err)
	}
	return err
}

// Ping reports whether the database can be read.
func (db *DB) Ping(ctx context.Context) error {
	return db.read(ctx, func(v *view) error {
		_, err := v.get(space{}.key(layoutName), func([]byte) error { return nil })
		return err
	})
}

// Damage names the files that are known to be damaged, "" if none is. Reads of them fail; everything else works.
func (db *DB) Damage() string { return db.reports.damage() }

// AcceptedLoss says what is missing of a database opened with Options.AcceptLoss; "" if nothing is.
func (db *DB) AcceptedLoss() string { return db.acceptedLoss }

// Size returns how much the database takes up on its disk, in bytes.
func (db *DB) Size() int64 { return int64(db.engine.Metrics().DiskSpaceUsage()) }

// Room returns how much is free on the disk of a folder, in bytes.
func Room(folder string) (int64, error) {
	usage, err := vfs.Default.GetDiskUsage(folder)
	if err != nil {
		err = fmt.Errorf("the room in %s: %w", folder, err)
	}
	return int64(usage.AvailBytes), err
}

// Close waits for reads and the current batch, refuses waiting commands, and closes the files.
func (db *DB) Close() error {
	db.once.Do(func() {
		close(db.closing)
		<-db.committer.stopped
		db.views.close()
		db.stopRecording()
		db.closed = db.engine.Close()
		if db.closed == nil && db.health.failure() == nil {
			_ = db.record(true) // if it fails, the file keeps its earlier content
		}
		if db.closed != nil {
			db.closed = named(db.folder, db.closed)
		}
	})
	return db.closed
}

// Checkpoint makes a consistent copy of the running database, with all acknowledged writes, in a folder that must not
// exist. Files that never change are linked on the same file system, which takes little time and room. Open opens the
// copy.
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
