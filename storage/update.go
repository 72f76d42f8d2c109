package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"attestry/evidence"
	"attestry/goroutine"
)

const (
	// updateAttempts bounds the attempts of a conflicting write. Only other processes compete, as writes are combined.
	updateAttempts = 10
	// updateBackoff is the first pause; each further one is twice as long, up to maxUpdateBackoff.
	updateBackoff    = 2 * time.Millisecond
	maxUpdateBackoff = 250 * time.Millisecond
)

// update is an update of a document. Concurrent ones in this process are combined: it is read and written once for all.
type update[T any] struct {
	change func(*T) error
	// seen is the document if the caller has just read it.
	seen  *Record
	value T
	err   error
}

func (c *collection[T]) combine(ctx context.Context, id string, seen *Record, change func(*T) error) (T, error) {
	request := &update[T]{change: change, seen: seen}
	if err := c.updates.Do(ctx, id, request); err != nil {
		var zero T
		return zero, err
	}
	return request.value, request.err
}

// updateAll does updates of a document. An error of the database is that of all of them.
func (c *collection[T]) updateAll(ctx context.Context, id string, batch []*update[T]) {
	if err := c.tryUpdate(ctx, id, batch); err != nil {
		for _, one := range batch {
			one.err = err
		}
	}
}

func (c *collection[T]) tryUpdate(ctx context.Context, id string, batch []*update[T]) error {
	for try := range updateAttempts {
		seen := try == 0 && len(batch) == 1 && batch[0].seen != nil
		var record Record
		var err error
		if seen {
			record = *batch[0].seen
		} else if record, err = c.docs.Get(ctx, c.schema, id); err != nil {
			return c.Wrap("get", id, err)
		}
		err = c.attempt(ctx, record, batch, seen)
		if !errors.Is(err, ErrMoved) {
			return err
		}
		if seen {
			continue // without a pause: the document was only read too early
		}
		if err := BackOff(ctx, try); err != nil {
			return err
		}
	}
	return evidence.Busy("The resource is being changed by many requests at once, please try again.")
}

// BackOff pauses after a try, counted from 0, of a write that conflicted with another one.
func BackOff(ctx context.Context, try int) error {
	return Pause(ctx, min(updateBackoff<<try, maxUpdateBackoff))
}

// Pause waits for a random time around mean, so that competing requests do not collide again.
func Pause(ctx context.Context, mean time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(mean/2 + rand.N(mean)):
		return nil
	}
}

// attempt applies the batch to the document and writes the result if it differs. A change that fails has no effect.
// Only a write shows whether a document that a caller has read is current. Without a write, it returns ErrMoved.
func (c *collection[T]) attempt(ctx context.Context, record Record, batch []*update[T], seen bool) error {
	body := record.Body
	for _, one := range batch {
		one.value, one.err = c.decode(Record{ID: record.ID, Body: body})
		if one.err != nil {
			continue
		}
		if one.err = goroutine.Recovered(func() error { return one.change(&one.value) }); one.err != nil {
			continue
		}
		changed, err := json.Marshal(&one.value)
		if err != nil {
			one.err = err
			continue
		}
		body = changed
	}
	if bytes.Equal(body, record.Body) {
		if seen {
			return ErrMoved
		}
		return nil
	}
	value, err := c.decode(Record{ID: record.ID, Body: body})
	if err != nil {
		return err
	}
	_, err = c.Replace(ctx, value, record.Revision)
	return err
}

// Upsert updates the document with the id of fresh. If there is none, it changes fresh and stores it.
func Upsert[T any](ctx context.Context, collection Collection[T], fresh T, change func(*T) error) (T, error) {
	for {
		value, err := collection.Update(ctx, collection.IDOf(&fresh), change)
		if !errors.Is(err, ErrNotFound) {
			return value, err
		}
		value = fresh
		if err := change(&value); err != nil {
			return value, err
		}
		err = collection.Insert(ctx, value)
		if !errors.Is(err, ErrExists) {
			return value, err
		}
	}
}

// Ensure returns the document with the id of fresh. If there is none, it stores fresh. Concurrent callers get the same
// document.
func Ensure[T any](ctx context.Context, collection Collection[T], fresh T) (T, error) {
	id := collection.IDOf(&fresh)
	stored, err := collection.Get(ctx, id)
	if !errors.Is(err, ErrNotFound) {
		return stored, err
	}
	err = collection.Insert(ctx, fresh)
	if errors.Is(err, ErrExists) {
		return collection.Get(ctx, id)
	}
	return fresh, err
}

// WithoutError adapts a change that cannot fail for Update.
func WithoutError[T any](change func(*T)) func(*T) error {
	return func(value *T) error {
		change(value)
		return nil
	}
}
