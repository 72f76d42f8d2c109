// Package names keeps what an organization calls the things that can be renamed: each
// name leads to one thing, whatever happens at the same time or breaks off.
package names

import (
	"context"
	"encoding/json"
	"errors"

	"attestry/evidence"
	"attestry/storage"
)

// state says what a name stands for.
type state string

const (
	// live is the name that a thing has.
	live state = ""
	// former is one that it had: it leads there until another thing takes it.
	former state = "former"
	// archived is free, and remembered for the text of the 404 alone.
	archived state = "archived"
)

// Attempts bounds how often a claimed name is looked at again: twice is
// enough unless names come and go at the same time.
const Attempts = 5

// Entry is an entry of the names collection: what an organization calls one of the
// things that can be renamed. It is made before the thing itself and carries it
// until that is stored, so that a crash in between loses nothing: whoever meets a
// name that is still creating finishes it. The same goes for renaming and
// archiving.
type Entry struct {
	Org  string `json:"org"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Target is the id of what is named, and Detail what of it never changes.
	Target string `json:"target"`
	Detail string `json:"detail"`
	State  state  `json:"state,omitempty"`
	// Entity is the thing itself while it is being created, else absent.
	Entity json.RawMessage `json:"entity,omitempty"`
	// Change is there while the thing is being given this name (then it is live) or
	// archived.
	Change *pendingChange `json:"change,omitempty"`
}

// pendingChange is a renaming or archiving under way.
type pendingChange struct {
	At float64 `json:"at"` // Unix seconds
	// From is the name before, and Revision that of the thing when it still had it:
	// once the thing has changed in any other way, the renaming is void.
	From     string `json:"from,omitempty"`
	Revision int64  `json:"revision,omitempty"`
}

func (n *Entry) creating() bool { return len(n.Entity) > 0 }

func (n *Entry) free() bool { return n.State != live }

func (n *Entry) id() string { return entryID(n.Org, n.Kind, n.Name) }

// Schema declares the collection of names.
var Schema = &storage.Schema{
	Name:    "names",
	Fields:  []string{"target"},
	Indexes: []storage.Index{{Name: "target", Fields: []string{"target"}}},
}

func entryID(org, kind, text string) string { return org + "/" + kind + "/" + text }

// CreateFunc stores the thing that a name carries while it is being created; storage.ErrExists
// tells that it is there already.
type CreateFunc func(ctx context.Context, entity json.RawMessage) error

// Renamable is the repository of a kind of things that can be renamed and archived.
type Renamable interface {
	// CurrentName returns the name that a thing has and the revision it is at, or
	// storage.ErrNotFound when it is archived.
	CurrentName(ctx context.Context, id string) (name string, revision int64, err error)
	// SetName gives a thing a name, or returns storage.ErrMoved when it is not at the
	// revision any more.
	SetName(ctx context.Context, id string, revision int64, to string, at float64) error
	// MarkArchived archives a thing, unless it is archived already.
	MarkArchived(ctx context.Context, id string, at float64) error
}

// Names hands out names and resolves them.
type Names struct {
	collection *storage.Collection[Entry]
	kinds      map[string]Renamable
}

// New binds the repository to an engine.
func New(docs storage.Documents) *Names {
	return &Names{
		kinds: map[string]Renamable{},
		collection: storage.NewCollection(docs, Schema,
			(*Entry).id,
			func(n *Entry) map[string]any { return map[string]any{"target": n.Target} }),
	}
}

// Register says who renames the things of a kind. It is called before all else.
func (n *Names) Register(kind string, things Renamable) { n.kinds[kind] = things }

// Resolve returns the entry of a name, finished by finish if need be. storage.ErrNotFound
// tells that there is none, storage.ErrArchived that it leads nowhere.
func (n *Names) Resolve(ctx context.Context, org, kind, text string, finish CreateFunc) (Entry, error) {
	entry, err := n.get(ctx, entryID(org, kind, text), finish)
	if err == nil && entry.Value.State == archived {
		err = storage.ErrArchived
	}
	return entry.Value, err
}

// ResolveMany returns the entries of those names that lead somewhere: one command
// for all, and more only for what is under way.
func (n *Names) ResolveMany(ctx context.Context, org, kind string, texts []string, finish CreateFunc) ([]Entry, error) {
	ids := make([]string, 0, len(texts))
	for _, text := range texts {
		ids = append(ids, entryID(org, kind, text))
	}
	found, err := n.collection.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	resolved := make([]Entry, 0, len(found))
	for _, entry := range found {
		if entry.creating() || entry.Change != nil {
			entry, err = n.Resolve(ctx, org, kind, entry.Name, finish)
		}
		if errors.Is(err, storage.ErrNotFound) || entry.State == archived {
			err = nil
			continue
		}
		if err != nil {
			return nil, err
		}
		resolved = append(resolved, entry)
	}
	return resolved, nil
}

// get returns the entry of a name with nothing under way.
func (n *Names) get(ctx context.Context, id string, finish CreateFunc) (storage.Versioned[Entry], error) {
	for range Attempts {
		entry, err := n.collection.GetVersioned(ctx, id)
		if err != nil {
			return entry, err
		}
		switch {
		case entry.Value.creating():
			err = n.finish(ctx, entry.Value, finish)
		case entry.Value.Change == nil:
			return entry, nil
		case entry.Value.State == archived:
			err = n.finishArchive(ctx, entry.Value)
		default:
			err = n.finishRename(ctx, entry.Value)
		}
		if err != nil {
			return entry, err
		}
	}
	return storage.Versioned[Entry]{}, ErrBusy
}

// ErrBusy is answered when a name is changed over and over under the hands of
// a request. It may be tried again.
var ErrBusy = evidence.NewError(evidence.Conflict, "The name is being changed by another request, please try again")

// Claim takes a name for a new entity and creates it. storage.ErrExists tells that the
// name is taken.
func (n *Names) Claim(ctx context.Context, entry Entry, finish CreateFunc) error {
	if err := n.take(ctx, entry, finish); err != nil {
		return err
	}
	return n.finish(ctx, entry, finish)
}

// ErrNotNamed reports that a thing does not have the name any more by which it was
// found.
var ErrNotNamed = errors.New("the name has changed")

// Put applies a change to the thing that has a name, given by its id, or creates the
// entity of fresh under it: former names, and those of what is archived, are free.
// apply returns errNotNamed when the thing has another name by now. put tells whether
// it created.
func (n *Names) Put(ctx context.Context, fresh Entry, finish CreateFunc, apply func(target string) error) (created bool, err error) {
	for range Attempts {
		entry, err := n.Resolve(ctx, fresh.Org, fresh.Kind, fresh.Name, finish)
		if err == nil && !entry.free() {
			err = apply(entry.Target)
			if !errors.Is(err, ErrNotNamed) {
				return false, err
			}
			if err = n.demote(ctx, entry); err != nil {
				return false, err
			}
			continue
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return false, err
		}
		err = n.Claim(ctx, fresh, finish)
		if !errors.Is(err, storage.ErrExists) {
			return err == nil, err
		}
	}
	return false, ErrBusy
}

// take writes an entry if its name is free: unknown, a former one, or archived.
func (n *Names) take(ctx context.Context, entry Entry, finish CreateFunc) error {
	err := n.collection.Insert(ctx, entry)
	if !errors.Is(err, storage.ErrExists) {
		return err
	}
	known, err := n.get(ctx, entry.id(), finish)
	if err != nil {
		return err
	}
	if !known.Value.free() {
		return storage.ErrExists
	}
	_, err = n.collection.Replace(ctx, entry, known.Revision)
	if errors.Is(err, storage.ErrMoved) {
		return storage.ErrExists
	}
	return err
}

// finish stores the entity that a name carries, then unloads the name.
func (n *Names) finish(ctx context.Context, entry Entry, finish CreateFunc) error {
	if err := finish(ctx, entry.Entity); err != nil && !errors.Is(err, storage.ErrExists) {
		return err
	}
	return n.settle(ctx, entry, func(stored *Entry) { stored.Entity = nil })
}

// settle changes an entry, as long as its name still stands for the same thing.
func (n *Names) settle(ctx context.Context, entry Entry, change func(*Entry)) error {
	_, err := n.collection.Update(ctx, entry.id(), func(stored *Entry) error {
		if stored.Target == entry.Target {
			change(stored)
		}
		return nil
	})
	return err
}
