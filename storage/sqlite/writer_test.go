package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/storagetest"
)

func plainSchema() *storage.Schema { return &storage.Schema{Name: "things"} }

func plain(id string) storage.Record {
	return storage.Record{ID: id, Revision: 1, Body: []byte(`"` + id + `"`)}
}

// holdLock opens the file as another process would, and takes its write lock until
// the returned function is called.
func holdLock(t *testing.T, path string) (release func()) {
	t.Helper()
	other, err := sql.Open("sqlite", path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback() }
}

func openFile(t *testing.T) (db *DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "test.db")
	db, err := Open(t.Context(), path, []*storage.Schema{plainSchema()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db, path
}

func TestWriteWaitsForTheLockOfAnotherProcess(t *testing.T) {
	db, path := openFile(t)
	release := holdLock(t, path)
	impatient, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := db.Insert(impatient, plainSchema(), plain("impatient")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a write behind a lock returned %v", err)
	}
	patient := make(chan error, 1)
	go func() { patient <- db.Insert(t.Context(), plainSchema(), plain("patient")) }()
	if _, err := db.Get(t.Context(), plainSchema(), "patient"); !errors.Is(err, storage.ErrNotFound) {
		t.Fatalf("a read beside a lock returned %v", err)
	}
	release()
	if err := <-patient; err != nil {
		t.Fatal(err)
	}
	if _, err := db.Get(t.Context(), plainSchema(), "impatient"); !errors.Is(err, storage.ErrNotFound) {
		t.Fatalf("a write that was given up before it began left %v", err)
	}
}

func TestCloseEndsAWriteThatWaitsForALock(t *testing.T) {
	db, path := openFile(t)
	defer holdLock(t, path)()
	failed := make(chan error, 1)
	go func() { failed <- db.Insert(context.Background(), plainSchema(), plain("a")) }()
	// The first write is with the writer once a second one is refused.
	impatient, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := db.Insert(impatient, plainSchema(), plain("b")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a second write: %v", err)
	}
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	for range 2 {
		select {
		case err := <-failed:
			if err == nil {
				t.Error("the write behind the lock succeeded")
			}
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(lockWait / 2):
			t.Fatal("close waits for the lock")
		}
	}
}

func TestCloseDuringWritesAnswersAll(t *testing.T) {
	db, path := openFile(t)
	storagetest.CloseDuringWrites(t, db, func(id string) error {
		return db.Insert(context.Background(), plainSchema(), plain(id))
	}, errClosed)
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the write-ahead log was left behind: %v", err)
	}
}

func TestFailedWriteLeavesTheOthersOfItsTransaction(t *testing.T) {
	db, _ := openFile(t)
	s, err := newSession(t.Context(), db.pool)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	table := db.tables["things"]
	broken := errors.New("broken")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	poisonous := &write{ctx: t.Context(), done: make(chan error, 1), apply: func(*session) error { panic("poison") }}
	insert := func(ctx context.Context, id string, then error) *write {
		return &write{ctx: ctx, done: make(chan error, 1), apply: func(s *session) error {
			row := newRow(plain(id))
			if n, err := row.insert(s, table.insert); err != nil || n == 0 {
				return errors.Join(err, storage.ErrExists)
			}
			return then
		}}
	}
	batch := []*write{
		insert(t.Context(), "a", nil),
		insert(t.Context(), "broken", broken),
		insert(t.Context(), "a", nil),
		insert(cancelled, "cancelled", nil),
		insert(t.Context(), "broken too", broken),
		poisonous,
		insert(t.Context(), "b", nil),
	}
	newWriter(s, nil).commit(batch)
	for i, want := range []error{nil, broken, storage.ErrExists, context.Canceled, broken, goroutine.ErrPanicked, nil} {
		if err := <-batch[i].done; !errors.Is(err, want) {
			t.Errorf("write %d: got %v, want %v", i, err, want)
		}
	}
	stored, err := db.GetMany(t.Context(), plainSchema(), []string{"a", "broken", "cancelled", "broken too", "b"})
	if err != nil || len(stored) != 2 || stored[0].ID != "a" || stored[1].ID != "b" {
		t.Fatalf("%d records are stored: %v", len(stored), err)
	}
}

func TestTwoProcessesShareAFile(t *testing.T) {
	first, path := openFile(t)
	second, err := Open(t.Context(), path, []*storage.Schema{plainSchema()})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	engines := []*DB{first, second}
	answers := make(chan error)
	for i, db := range engines {
		go func() {
			for j := range 200 {
				record := plain(time.Duration(i*1000 + j).String())
				if err := db.Insert(t.Context(), plainSchema(), record); err != nil {
					answers <- err
					return
				}
				if _, err := engines[1-i].Get(t.Context(), plainSchema(), record.ID); err != nil {
					answers <- err
					return
				}
			}
			answers <- nil
		}()
	}
	for range engines {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

func TestFileIsForItsOwnerAlone(t *testing.T) {
	db, path := openFile(t)
	if err := db.Insert(t.Context(), plainSchema(), plain("a")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-wal"} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", file, info.Mode())
		}
	}
}

func TestCommitsAreSyncedToDisk(t *testing.T) {
	db, _ := openFile(t)
	reader := <-db.readers
	defer func() { db.readers <- reader }()
	// All connections are opened alike; 2 is FULL.
	for pragma, want := range map[string]string{"PRAGMA synchronous": "2", "PRAGMA journal_mode": "wal"} {
		err := reader.query(pragma, nil, func(rows *sql.Rows) error {
			var got string
			if err := rows.Scan(&got); err != nil || got != want {
				t.Errorf("%s is %s, want %s", pragma, got, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
