package sqlite

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"attestry/goroutine"
	"attestry/storage"
)

const (
	// maxBatch and maxBatchBytes end a transaction that many share, so that the
	// first of them does not wait too long for the last.
	maxBatch      = 256
	maxBatchBytes = 16 << 20
	// lockWait is how long a transaction waits for another process that writes.
	lockWait = 10 * time.Second
	// lockPause is the mean pause between two attempts. SQLite's own waiting
	// backs off to 100 ms, and loses every time to a process that writes without
	// pause.
	lockPause = 2 * time.Millisecond
)

// write is what one caller wants written.
type write struct {
	ctx   context.Context
	bytes int
	// apply does it. ErrExists and ErrMoved are outcomes like success: they must
	// have changed nothing. Any other error, as that of a refused batch, undoes the
	// transaction.
	apply func(*session) error
	done  chan error
}

// writer is the only goroutine that writes. Writes that arrive while it is busy
// share its next transaction.
type writer struct {
	session *session
	queue   chan *write
	closing <-chan struct{}
	stopped chan struct{}
}

func newWriter(s *session, closing <-chan struct{}) *writer {
	return &writer{session: s, queue: make(chan *write), closing: closing, stopped: make(chan struct{})}
}

// do has a write done and waits until it is durable. The queue has no buffer: a
// write is either taken by the writer, and then answered, or not taken at all.
func (w *writer) do(ctx context.Context, bytes int, apply func(*session) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	mine := &write{ctx: ctx, bytes: bytes, apply: apply, done: make(chan error, 1)}
	select {
	case w.queue <- mine:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
	select {
	case err := <-mine.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *writer) run() {
	defer close(w.stopped)
	for {
		select {
		case <-w.closing:
			return
		case first := <-w.queue:
			w.commit(w.gather(first))
		}
	}
}

// gather adds to the first write what waits already.
func (w *writer) gather(first *write) []*write {
	batch := []*write{first}
	for bytes := first.bytes; len(batch) < maxBatch && bytes < maxBatchBytes; {
		select {
		case next := <-w.queue:
			batch = append(batch, next)
			bytes += next.bytes
		default:
			return batch
		}
	}
	return batch
}

// commit writes a batch and answers everyone. A write that fails is answered with
// its error, and the others are done again without it.
func (w *writer) commit(batch []*write) {
	for len(batch) > 0 {
		outcomes := make([]error, len(batch))
		failed := -1
		err := w.transaction(context.Background(), func() error {
			for i, one := range batch {
				outcomes[i] = w.apply(one)
				if outcomes[i] != nil && !isOutcome(outcomes[i]) {
					failed = i
					return outcomes[i]
				}
			}
			return nil
		})
		if failed < 0 {
			answer(batch, outcomes, err)
			return
		}
		batch[failed].done <- outcomes[failed]
		batch = append(batch[:failed:failed], batch[failed+1:]...)
	}
}

func (w *writer) apply(one *write) error {
	if err := one.ctx.Err(); err != nil {
		return err
	}
	return goroutine.Recovered(func() error { return one.apply(w.session) })
}

// isOutcome tells errors that left the transaction as it was.
func isOutcome(err error) bool {
	var refused *storage.RefusedWrite
	if errors.As(err, &refused) {
		return refused.Index == 0
	}
	return errors.Is(err, storage.ErrExists) || errors.Is(err, storage.ErrMoved) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// answer gives each write its outcome, or all of them the error of the commit:
// even that an id exists may have been true only in the lost transaction.
func answer(batch []*write, outcomes []error, err error) {
	for i, one := range batch {
		if err != nil {
			one.done <- err
			continue
		}
		one.done <- outcomes[i]
	}
}

// transaction runs f between BEGIN IMMEDIATE and COMMIT.
func (w *writer) transaction(ctx context.Context, f func() error) error {
	err := w.retryBusy(ctx, func() error {
		_, err := w.session.exec("BEGIN IMMEDIATE")
		return err
	})
	if err != nil {
		return err
	}
	if err = f(); err == nil {
		_, err = w.session.exec("COMMIT")
	}
	if err != nil {
		// Fails when SQLite has rolled back by itself, which is as good.
		_, _ = w.session.exec("ROLLBACK")
	}
	return err
}

// retryBusy repeats f while another process holds the lock.
func (w *writer) retryBusy(ctx context.Context, f func() error) error {
	deadline := time.Now().Add(lockWait)
	for {
		err := f()
		if !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-w.closing:
			return errClosed
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause/2 + rand.N(lockPause)):
		}
	}
}

func isBusy(err error) bool {
	var failure *sqlite.Error
	return errors.As(err, &failure) && failure.Code()&0xff == sqlite3.SQLITE_BUSY
}
