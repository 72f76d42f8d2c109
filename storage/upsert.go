package storage

import (
	"context"
	"errors"
)

// GetOrZero returns a document, with revision 0 when it is not there.
func GetOrZero[T any](ctx context.Context, collection Collection[T], id string) (Versioned[T], error) {
	seen, err := collection.GetVersioned(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return Versioned[T]{}, nil
	}
	return seen, err
}

// Upsert updates a document, or makes it first where it is not there.
func Upsert[T any](ctx context.Context, collection Collection[T], id string, fresh func() T, change func(*T) error) (T, error) {
	for {
		value, err := collection.Update(ctx, id, change)
		if !errors.Is(err, ErrNotFound) {
			return value, err
		}
		value = fresh()
		if err := change(&value); err != nil {
			return value, err
		}
		err = collection.Insert(ctx, value)
		if !errors.Is(err, ErrExists) {
			return value, err
		}
	}
}

// Ensure returns the document with the id, which is made from fresh when there is
// none. Of several callers that find none, one makes it and all get that one.
func Ensure[T any](ctx context.Context, collection Collection[T], id string, fresh T) (T, error) {
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
