package names

import (
	"context"
	"errors"

	"attestry/evidence"
	"attestry/storage"
)

func (n *registry[T]) Rename(ctx context.Context, org, name, to string, at float64) error {
	entry, err := n.Resolve(ctx, org, name)
	if err != nil {
		return err
	}
	for range Attempts {
		thing, from, err := n.kind.current(ctx, entry.ID)
		if err != nil || from == to {
			return err
		}
		next := Entry{
			Org: entry.Org, Kind: entry.Kind, Name: to, ID: entry.ID, Detail: entry.Detail,
			Change: &pendingChange{At: at, From: from, Revision: thing.Revision},
		}
		err = n.claim(ctx, next)
		if errors.Is(err, storage.ErrExists) {
			err = n.resolveConflict(ctx, next)
		} else if err == nil {
			err = n.finishRename(ctx, next)
		}
		if err != nil {
			return err
		}
	}
	return ErrBusy
}

// resolveConflict handles a name that cannot be claimed. If its thing has another name by now, it becomes a former
// name. If it is already the name of the thing to be renamed, there is nothing to do. Else the name is taken, an error.
func (n *registry[T]) resolveConflict(ctx context.Context, wanted Entry) error {
	known, err := n.get(ctx, wanted.key())
	if err != nil || known.Value.free() {
		return err
	}
	_, name, err := n.kind.current(ctx, known.Value.ID)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	switch {
	case name != wanted.Name:
		return n.demote(ctx, known.Value)
	case known.Value.ID == wanted.ID:
		return nil // an earlier request has begun it, and get has finished it
	}
	// Not a conflict, as clients retry those.
	return evidence.FieldError("new_name", "%s with this name already exists [input: %s]", n.kind.Noun, wanted.Name)
}

// finishRename finishes a renaming. If the thing has changed in another way since, the name becomes a former one.
func (n *registry[T]) finishRename(ctx context.Context, entry Entry) error {
	thing, name, err := n.kind.current(ctx, entry.ID)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return n.endChange(ctx, entry, archived)
	case err != nil:
		return err
	case name != entry.Name && thing.Revision != entry.Change.Revision:
		return n.endChange(ctx, entry, former)
	case name != entry.Name:
		n.kind.Rename(&thing.Value, entry.Name, entry.Change.At)
		_, err := n.kind.Things.Replace(ctx, thing.Value, thing.Revision)
		if errors.Is(err, storage.ErrMoved) {
			return nil // the caller reads the entry again and continues from its new state
		}
		if err != nil {
			return err
		}
	}
	before := entry
	before.Name = entry.Change.From
	if err := n.demote(ctx, before); err != nil {
		return err
	}
	return n.endChange(ctx, entry, live)
}

// demote makes a name a former one if its thing has another name, or none. It reads the entry before the thing: whoever
// gives the thing its name back changes the entry first, so that Replace is refused.
func (n *registry[T]) demote(ctx context.Context, entry Entry) error {
	for range Attempts {
		known, err := n.entries.GetVersioned(ctx, entry.key())
		if err != nil {
			return storage.IgnoreMissing(err)
		}
		demoted := known.Value
		if demoted.ID != entry.ID || demoted.free() || demoted.Change != nil {
			return nil
		}
		_, name, err := n.kind.current(ctx, entry.ID)
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		if name == entry.Name {
			return nil
		}
		demoted.State = former
		_, err = n.entries.Replace(ctx, demoted, known.Revision)
		if !errors.Is(err, storage.ErrMoved) {
			return err
		}
	}
	return ErrBusy
}

// endChange ends a change, unless another one has begun.
func (n *registry[T]) endChange(ctx context.Context, entry Entry, to state) error {
	return n.update(ctx, entry, func(stored *Entry) {
		if stored.Change != nil && *stored.Change == *entry.Change {
			stored.State, stored.Change = to, nil
		}
	})
}

func (n *registry[T]) Archive(ctx context.Context, org, name string, at float64) error {
	entry, err := n.Resolve(ctx, org, name)
	if err != nil {
		return err
	}
	for range Attempts {
		_, name, err := n.kind.current(ctx, entry.ID)
		if err != nil {
			return err
		}
		current, err := n.get(ctx, entryKey(org, n.kind.Name, name))
		if err != nil {
			return err
		}
		if current.Value.ID != entry.ID || current.Value.free() {
			continue // renamed meanwhile
		}
		next := current.Value
		next.State, next.Change = archived, &pendingChange{At: at}
		_, err = n.entries.Replace(ctx, next, current.Revision)
		if errors.Is(err, storage.ErrMoved) {
			continue
		}
		if err != nil {
			return err
		}
		return n.finishArchive(ctx, next)
	}
	return ErrBusy
}

// finishArchive finishes archiving. It archives other names before and after the thing, as a rename may have added one.
func (n *registry[T]) finishArchive(ctx context.Context, entry Entry) error {
	if err := n.archiveOthers(ctx, entry); err != nil {
		return err
	}
	archive := storage.WithoutError(func(thing *T) { n.kind.Archive(thing, entry.Change.At) })
	if _, err := n.kind.Things.Update(ctx, entry.ID, archive); err != nil {
		return err
	}
	if err := n.archiveOthers(ctx, entry); err != nil {
		return err
	}
	return n.endChange(ctx, entry, archived)
}

func (n *registry[T]) archiveOthers(ctx context.Context, entry Entry) error {
	all, err := storage.FindAll(ctx, n.entries, storage.Query{
		Index: "target", Equal: []any{entry.ID}, Limit: storage.Unlimited,
	})
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.key() == entry.key() || other.State == archived {
			continue
		}
		err := n.update(ctx, other, func(stored *Entry) { stored.State, stored.Change = archived, nil })
		if err != nil {
			return err
		}
	}
	return nil
}
