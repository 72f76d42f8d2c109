package names

import (
	"context"

	"attestry/storage"
)

// Kind says how the things of a kind are stored, renamed and archived.
type Kind[T any] struct {
	// Name is part of the ids of names, such as "flows".
	Name string
	// Noun begins a sentence about a thing, such as "A flow".
	Noun string
	// Things holds the things by id, archived ones too.
	Things storage.Collection[T]
	// Create stores a new thing. It is repeated after a crash; storage.ErrExists means that the thing exists.
	Create func(ctx context.Context, fresh T) error
	// Describe returns what names have to do with.
	Describe func(*T) Description
	// Rename gives a thing another name; at is the time in Unix seconds.
	Rename func(thing *T, name string, at float64)
	// Archive archives a thing, unless it is archived already.
	Archive func(thing *T, at float64)
}

// Description is the part of a thing that names have to do with.
type Description struct {
	Org, ID, Name string
	// Detail never changes. It is known of a thing wherever its name is.
	Detail   string
	Archived bool
}

// current returns the name and the revision of a thing, or storage.ErrArchived.
func (k *Kind[T]) current(ctx context.Context, id string) (name string, revision int64, err error) {
	thing, err := k.Things.GetVersioned(ctx, id)
	if err != nil {
		return "", 0, err
	}
	described := k.Describe(&thing.Value)
	if described.Archived {
		return "", 0, storage.ErrArchived
	}
	return described.Name, thing.Revision, nil
}

// rename gives a thing at a revision another name, or returns storage.ErrMoved.
func (k *Kind[T]) rename(ctx context.Context, id string, revision int64, name string, at float64) error {
	thing, err := k.Things.Get(ctx, id)
	if err != nil {
		return err
	}
	k.Rename(&thing, name, at)
	_, err = k.Things.Replace(ctx, thing, revision)
	return err
}

func (k *Kind[T]) archive(ctx context.Context, id string, at float64) error {
	_, err := k.Things.Update(ctx, id, func(thing *T) error {
		k.Archive(thing, at)
		return nil
	})
	return err
}
