package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"attestry/evidence/evidencetest"
	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/storagetest"
)

func (db *DB) commandFor(t *testing.T, ctx context.Context, writes ...storage.Write) *command {
	t.Helper()
	c := &command{ctx: ctx, done: make(chan struct{})}
	for i := range writes {
		writes[i].Schema = plainSchema()
		c.steps = append(c.steps, newStep(db.collections["things"], &writes[i]))
	}
	return c
}

func TestRefusedCommandDoesNotAffectItsGroup(t *testing.T) {
	db, _ := openFaulty(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	insert := func(id string) storage.Write { return storage.Write{Kind: storage.WriteInsert, Record: plain(id)} }
	remove := func(id string) storage.Write {
		return storage.Write{Kind: storage.WriteDelete, Record: storage.Record{ID: id}}
	}
	replace := func(id string, revision int64) storage.Write {
		return storage.Write{Kind: storage.WriteReplace, Record: plain(id), Revision: revision}
	}
	group := []*command{
		db.commandFor(t, t.Context(), insert("a")),
		db.commandFor(t, t.Context(), insert("undone"), remove("a"), insert("b"), insert("b")),
		db.commandFor(t, t.Context(), insert("a")),
		db.commandFor(t, ended, insert("ended")),
		db.commandFor(t, t.Context(), insert("b"), remove("b"), insert("b"), replace("b", 1)),
		db.commandFor(t, t.Context(), replace("undone", 1)),
		db.commandFor(t, t.Context(), replace("a", 1)),
	}
	newCommitter(db).commit(group)
	for i, want := range []error{nil, storage.ErrExists, storage.ErrExists, context.Canceled, nil, storage.ErrMoved, nil} {
		if <-group[i].done; !errors.Is(group[i].outcome, want) {
			t.Errorf("command %d: got %v, want %v", i, group[i].outcome, want)
		}
	}
	var refused *storage.RefusedWrite
	if !errors.As(group[1].outcome, &refused) || refused.Index != 3 {
		t.Errorf("the second command is refused with %v", group[1].outcome)
	}
	mustHave(t, db, "a", "b")
}

func TestPanickingCommandDoesNotAffectItsGroup(t *testing.T) {
	db, _ := openFaulty(t)
	insert := func(id string) *command {
		return db.commandFor(t, t.Context(), storage.Write{Kind: storage.WriteInsert, Record: plain(id)})
	}
	newCommitter(db).commit([]*command{insert("old")})
	panicking := db.commandFor(t, t.Context(), storage.Write{Kind: storage.WriteInsert, Record: plain("half")},
		storage.Write{Kind: storage.WriteReplace, Record: plain("old"), Revision: 1})
	panicking.steps[1].row.collection = nil
	group := []*command{insert("a"), panicking, insert("b")}
	newCommitter(db).commit(group)
	for i, want := range []error{nil, goroutine.ErrPanicked, nil} {
		if <-group[i].done; !errors.Is(group[i].outcome, want) {
			t.Errorf("command %d: got %v, want %v", i, group[i].outcome, want)
		}
	}
	mustHave(t, db, "a", "b", "old")
}

func TestEngineRefusesWritesAfterAPanic(t *testing.T) {
	db, err := Open(t.Context(), Options{Folder: t.TempDir()}, []*storage.Schema{plainSchema()})
	evidencetest.Must(t, err)
	insert := func(id string) error { return storagetest.Insert(t.Context(), db, plainSchema(), plain(id)) }
	evidencetest.Must(t, insert("before"))
	db.views.close()
	evidencetest.Must(t, db.engine.Close()) // Pebble panics when it is used after that
	for _, id := range []string{"a", "b"} {
		if err := insert(id); !errors.Is(err, goroutine.ErrPanicked) {
			t.Errorf("%s: got %v, want the panic", id, err)
		}
	}
	close(db.closing)
	<-db.committer.stopped
}

func TestWritesAreSyncedBeforeTheyAreAnswered(t *testing.T) {
	db, disk := openFaulty(t)
	for i := range 10 {
		before := disk.count(opSync)
		evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain(fmt.Sprint(i))))
		if disk.count(opSync) == before {
			t.Fatal("a write was answered without a sync")
		}
	}
}

// TestReadsSeeOnlySyncedWrites blocks a sync and reads meanwhile.
func TestReadsSeeOnlySyncedWrites(t *testing.T) {
	db, disk := openFaulty(t)
	syncing, proceed := make(chan struct{}), make(chan struct{})
	disk.hold(func(operation string) {
		if operation == opSync {
			close(syncing)
			<-proceed
		}
	})
	written := make(chan error)
	go func() { written <- storagetest.Insert(context.Background(), db, plainSchema(), plain("a")) }()
	<-syncing
	if _, err := db.Get(t.Context(), plainSchema(), "a"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("before the sync: %v", err)
	}
	disk.hold(nil)
	close(proceed)
	evidencetest.Must(t, <-written)
	mustHave(t, db, "a")
}

func TestCloseDuringWritesAnswersAll(t *testing.T) {
	db, _ := openFaulty(t)
	storagetest.CloseDuringWrites(t, db, func(id string) error {
		return storagetest.Insert(context.Background(), db, plainSchema(), plain(id))
	}, errClosed)
}

func TestCloseWaitsForReads(t *testing.T) {
	db, _ := openFaulty(t)
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("a")))
	reading, proceed := make(chan struct{}), make(chan struct{})
	read, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		ctx := storage.WithCharge(context.Background(), func(int) error {
			close(reading)
			<-proceed
			return nil
		})
		_, err := db.Get(ctx, plainSchema(), "a")
		read <- err
	}()
	<-reading
	go func() { closed <- db.Close() }()
	<-db.committer.stopped
	select {
	case err := <-closed:
		t.Fatalf("closed during a read: %v", err)
	default:
	}
	close(proceed)
	evidencetest.Must(t, <-read)
	evidencetest.Must(t, <-closed)
}

func TestErrorOfAChargeIsTheErrorOfTheRead(t *testing.T) {
	db, _ := openFaulty(t)
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), large("a")))
	refusal := errors.New("too much")
	ctx := storage.WithCharge(t.Context(), func(int) error { return refusal })
	if _, err := db.Get(ctx, plainSchema(), "a"); err != refusal {
		t.Errorf("got %v", err)
	}
}

// TestLargestBodiesAreWritten makes batches that do not fit into the memtable.
func TestLargestBodiesAreWritten(t *testing.T) {
	db, _ := openFaulty(t)
	body := bytes.Repeat([]byte("0123456789abcdef"), storage.MaxBody/16)
	for i := range 3 {
		record := plain(fmt.Sprint("great-", i))
		record.Body = body
		evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), record))
		evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain(fmt.Sprint("small-", i))))
		got, err := db.Get(t.Context(), plainSchema(), record.ID)
		if err != nil || !bytes.Equal(got.Body, body) {
			t.Errorf("%d bytes come back: %v", len(got.Body), err)
		}
	}
	evidencetest.Must(t, db.Close())
	mustHave(t, openOn(t, db.folder, nil), "great-0", "small-0", "great-1", "small-1", "great-2", "small-2")
}
