package names

import (
	"context"
	"errors"
	"fmt"

	"attestry/evidence"
	"attestry/storage"
)

func (n *registry[T]) Rename(ctx context.Context, org, name, to string, at float64) error {
	entry, err := n.Resolve(ctx, org, name)
	if err != nil {
		return err
	}
	for range Attempts {
		from, revision, err := n.kind.current(ctx, entry.Target)
		if err != nil || from == to {
			return err
		}
		next := Entry{
			Org: entry.Org, Kind: entry.Kind, Name: to, Target: entry.Target, Detail: entry.Detail,
			Change: &pendingChange{At: at, From: from, Revision: revision},
		}
		err = n.take(ctx, next)
		if errors.Is(err, storage.ErrExists) {
			err = n.yield(ctx, next)
		} else if err == nil {
			err = n.finishRename(ctx, next)
		}
		if err != nil {
			return err
		}
	}
	return ErrBusy
}

// yield looks why a name cannot be taken. It makes way when the thing of that name
// has another one by now, and is content when that is the one to be renamed.
func (n *registry[T]) yield(ctx context.Context, wanted Entry) error {
	known, err := n.get(ctx, wanted.id())
	if err != nil || known.Value.free() {
		return err
	}
	has, _, err := n.kind.current(ctx, known.Value.Target)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	switch {
	case has != wanted.Name:
		return n.demote(ctx, known.Value)
	case known.Value.Target == wanted.Target:
		return nil // an earlier request has begun it, and get has finished it
	}
	// Not a conflict, as clients try those again.
	return evidence.ValidationError(map[string]string{
		"new_name": fmt.Sprintf("%s with this name already exists [input: %s]", n.kind.Noun, wanted.Name),
	})
}

// finishRename goes on with a renaming, or ends it when the thing has changed in
// another way since it began: the name is then no more than a former one.
func (n *registry[T]) finishRename(ctx context.Context, entry Entry) error {
	has, revision, err := n.kind.current(ctx, entry.Target)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return n.endChange(ctx, entry, archived)
	case err != nil:
		return err
	case has != entry.Name && revision != entry.Change.Revision:
		return n.endChange(ctx, entry, former)
	case has != entry.Name:
		err := n.kind.rename(ctx, entry.Target, revision, entry.Name, entry.Change.At)
		if errors.Is(err, storage.ErrMoved) {
			return nil // whoever looks again sees what became of it
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

// demote makes a name a former one that its thing does not have any more. The thing
// is asked behind the entry: to be given the name again it would have to change
// the entry first.
func (n *registry[T]) demote(ctx context.Context, entry Entry) error {
	for range Attempts {
		known, err := n.entries.GetVersioned(ctx, entry.id())
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		demoted := known.Value
		if demoted.Target != entry.Target || demoted.free() || demoted.Change != nil {
			return nil
		}
		has, _, err := n.kind.current(ctx, entry.Target)
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		if has == entry.Name {
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

// endChange notes that a change is over, unless another one has begun.
func (n *registry[T]) endChange(ctx context.Context, entry Entry, to state) error {
	return n.settle(ctx, entry, func(stored *Entry) {
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
		has, _, err := n.kind.current(ctx, entry.Target)
		if err != nil {
			return err
		}
		current, err := n.get(ctx, entryID(org, n.kind.Name, has))
		if err != nil {
			return err
		}
		if current.Value.Target != entry.Target || current.Value.free() {
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

// finishArchive goes on with archiving. The names are looked through once more when
// the thing is archived, as it may have been renamed until then.
func (n *registry[T]) finishArchive(ctx context.Context, entry Entry) error {
	if err := n.archiveOthers(ctx, entry); err != nil {
		return err
	}
	if err := n.kind.archive(ctx, entry.Target, entry.Change.At); err != nil {
		return err
	}
	if err := n.archiveOthers(ctx, entry); err != nil {
		return err
	}
	return n.endChange(ctx, entry, archived)
}

func (n *registry[T]) archiveOthers(ctx context.Context, entry Entry) error {
	all, err := storage.FindAll(ctx, n.entries, storage.Query{
		Index: "target", Equal: []any{entry.Target}, Limit: storage.Unlimited,
	})
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.id() == entry.id() || other.State == archived {
			continue
		}
		err := n.settle(ctx, other, func(stored *Entry) { stored.State, stored.Change = archived, nil })
		if err != nil {
			return err
		}
	}
	return nil
}
