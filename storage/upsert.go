package storage

import (
	"context"
	"errors"
)

// GetOrZero returns a document, with revision 0 if it does not exist.
func GetOrZero[T any](ctx context.Context, collection Collection[T], id string) (Versioned[T], error) {
	seen, err := collection.GetVersioned(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return Versioned[T]{}, nil
	}
	return seen, err
}

// Upsert updates a document, which is first made if it does not exist.
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

// Ensure returns the document of an id, made from fresh if there is none. Of several callers, one makes it and all
// get it.
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

// WithoutError makes a change for Update of one that cannot fail.
func WithoutError[T any](change func(*T)) func(*T) error {
	return func(value *T) error {
		change(value)
		return nil
	}
}
