// Package names keeps the names of things that can be renamed: each refers to one thing, despite races and crashes.
package names

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"attestry/evidence"
	"attestry/storage"
)

// state says how a name refers to its thing.
type state string

const (
	// live is the current name of a thing.
	live state = ""
	// former is a former name of a thing. It still refers to the thing until another one takes the name.
	former state = "former"
	// archived is the name of an archived thing. It is free, and kept only for the text of the 404.
	archived state = "archived"
)

// Attempts bounds the look-ups of a name that is being changed. Two suffice unless it keeps changing.
const Attempts = 5

// ErrBusy reports that a name kept changing during a request. It may be tried again.
var ErrBusy = evidence.NewError(evidence.Conflict, "The name is being changed by another request, please try again")

// errRenamed reports that a thing was renamed or archived since it was found by its name.
var errRenamed = errors.New("the name has changed")

// Entry is a name of a thing in an organization. It is stored before the thing and contains it until that is stored. So
// a crash in between loses nothing: the next request for the name finishes the creation. Renaming and archiving are
// finished in the same way.
type Entry struct {
	Org  string `json:"org"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	// ID is that of the thing.
	ID string `json:"target"`
	// Detail never changes. Each name of a thing has it.
	Detail string `json:"detail"`
	State  state  `json:"state,omitempty"`
	// Entity is the thing itself while it is being created.
	Entity json.RawMessage `json:"entity,omitempty"`
	// Change is set while the thing is being archived, or renamed to this name; in the latter case State is live already.
	Change *pendingChange `json:"change,omitempty"`
}

// pendingChange is a renaming or archiving under way.
type pendingChange struct {
	At float64 `json:"at"` // Unix seconds
	// From is the previous name, and Revision the thing's revision with it. If that has changed, the renaming is void.
	From     string `json:"from,omitempty"`
	Revision int64  `json:"revision,omitempty"`
}

func (n *Entry) creating() bool { return len(n.Entity) > 0 }

func (n *Entry) free() bool { return n.State != live }

func (n *Entry) key() string { return entryKey(n.Org, n.Kind, n.Name) }

// Schema declares the collection of names.
var Schema = storage.NewSchema("names", storage.Index{Name: "target", Fields: []string{"target"}})

func entryKey(org, kind, text string) string { return org + "/" + kind + "/" + text }

// Registry keeps the names of things of one kind, and stores, renames and archives the things. It is an interface, so
// that its methods are compiled once, and not again in each package that uses a repository.
type Registry[T any] interface {
	// Resolve returns the entry of a name, or of a former name that no other thing has taken: one command.
	// storage.ErrNotFound means that there is none, storage.ErrArchived that its thing is archived.
	Resolve(ctx context.Context, org, name string) (Entry, error)
	// ResolveMany returns the entries of those names that refer to a thing: one command for all, and more only for
	// unfinished changes. A thing with two of the names is returned twice.
	ResolveMany(ctx context.Context, org string, names []string) ([]Entry, error)
	// Create stores a new thing under its name, which may be a former or an archived one. storage.ErrExists means that
	// the name is taken.
	Create(ctx context.Context, fresh T) error
	// Put applies a change to the thing with the name of fresh, or creates fresh. It returns the stored thing.
	Put(ctx context.Context, fresh T, change func(*T) error) (thing T, created bool, err error)
	// Rename renames the thing of a name, or of a former name; at is the time in Unix seconds.
	// storage.ErrNotFound means that there is no such thing, storage.ErrArchived that it is archived. A name of another
	// thing is evidence.Invalid.
	//
	// The new name is written first, then the thing, then the old name becomes a former one.
	Rename(ctx context.Context, org, name, to string, at float64) error
	// Archive takes the thing of a name, or of a former name, out of use; at is the time in Unix seconds. What was
	// recorded in it stays. storage.ErrNotFound means that there is no such thing, storage.ErrArchived that it is
	// archived already.
	//
	// Its name is written first, then its former names, then the thing.
	Archive(ctx context.Context, org, name string, at float64) error
}

type registry[T any] struct {
	entries storage.Collection[Entry]
	kind    Kind[T]
}

// New binds the names of a kind to an engine.
func New[T any](docs storage.Documents, kind Kind[T]) Registry[T] {
	return &registry[T]{
		kind: kind,
		entries: storage.NewCollection(docs, Schema, (*Entry).key,
			func(n *Entry) map[string]any { return map[string]any{"target": n.ID} }),
	}
}

func (n *registry[T]) Resolve(ctx context.Context, org, name string) (Entry, error) {
	entry, err := n.get(ctx, entryKey(org, n.kind.Name, name))
	if err == nil && entry.Value.State == archived {
		return Entry{}, storage.ErrArchived
	}
	return entry.Value, err
}

func (n *registry[T]) ResolveMany(ctx context.Context, org string, names []string) ([]Entry, error) {
	found, err := n.entries.GetMany(ctx, evidence.Map(names, func(name string) string { return entryKey(org, n.kind.Name, name) }))
	if err != nil {
		return nil, err
	}
	resolved := make([]Entry, 0, len(found))
	for _, entry := range found {
		if entry.creating() || entry.Change != nil {
			entry, err = n.Resolve(ctx, org, entry.Name)
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

// get returns the entry of a name. It first finishes a creation, renaming or archiving that has begun.
func (n *registry[T]) get(ctx context.Context, id string) (storage.Versioned[Entry], error) {
	for range Attempts {
		entry, err := n.entries.GetVersioned(ctx, id)
		if err != nil {
			return entry, err
		}
		switch {
		case entry.Value.creating():
			err = n.finishCreation(ctx, entry.Value)
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

func (n *registry[T]) Create(ctx context.Context, fresh T) error {
	thing, err := json.Marshal(fresh)
	if err != nil {
		return err
	}
	described := n.kind.Describe(&fresh)
	entry := Entry{
		Org: described.Org, Kind: n.kind.Name, Name: described.Name,
		ID: described.ID, Detail: described.Detail, Entity: thing,
	}
	if err := n.claim(ctx, entry); err != nil {
		return err
	}
	return n.finishCreation(ctx, entry)
}

func (n *registry[T]) Put(ctx context.Context, fresh T, change func(*T) error) (thing T, created bool, err error) {
	wanted := n.kind.Describe(&fresh)
	for range Attempts {
		entry, err := n.Resolve(ctx, wanted.Org, wanted.Name)
		if err == nil && !entry.free() {
			changed, err := n.change(ctx, entry, change)
			if !errors.Is(err, errRenamed) {
				return changed, false, err
			}
			if err := n.demote(ctx, entry); err != nil {
				return changed, false, err
			}
			continue
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return fresh, false, err
		}
		err = n.Create(ctx, fresh)
		if !errors.Is(err, storage.ErrExists) {
			return fresh, err == nil, err
		}
	}
	return fresh, false, ErrBusy
}

// change changes the thing of an entry, or returns errRenamed.
func (n *registry[T]) change(ctx context.Context, entry Entry, change func(*T) error) (T, error) {
	return n.kind.Things.Update(ctx, entry.ID, func(thing *T) error {
		if described := n.kind.Describe(thing); described.Archived || described.Name != entry.Name {
			return errRenamed
		}
		return change(thing)
	})
}

// claim writes an entry if its name is free: unknown, a former one, or archived. Else it returns storage.ErrExists.
func (n *registry[T]) claim(ctx context.Context, entry Entry) error {
	err := n.entries.Insert(ctx, entry)
	if !errors.Is(err, storage.ErrExists) {
		return err
	}
	known, err := n.get(ctx, entry.key())
	if err != nil {
		return err
	}
	if !known.Value.free() {
		return storage.ErrExists
	}
	_, err = n.entries.Replace(ctx, entry, known.Revision)
	if errors.Is(err, storage.ErrMoved) {
		return storage.ErrExists
	}
	return err
}

// finishCreation stores the thing that an entry contains, then removes it from the entry.
func (n *registry[T]) finishCreation(ctx context.Context, entry Entry) error {
	var fresh T
	if err := json.Unmarshal(entry.Entity, &fresh); err != nil {
		return fmt.Errorf("decode %s that is being created: %w", strings.ToLower(n.kind.Noun), err)
	}
	if err := n.kind.Create(ctx, fresh); err != nil && !errors.Is(err, storage.ErrExists) {
		return err
	}
	return n.update(ctx, entry, func(stored *Entry) { stored.Entity = nil })
}

// update changes an entry if its name still refers to the same thing.
func (n *registry[T]) update(ctx context.Context, entry Entry, change func(*Entry)) error {
	_, err := n.entries.Update(ctx, entry.key(), func(stored *Entry) error {
		if stored.ID == entry.ID {
			change(stored)
		}
		return nil
	})
	return err
}

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
	// Describe returns the part of a thing that this package needs.
	Describe func(*T) Description
	// Rename sets the name of a thing; at is the time in Unix seconds.
	Rename func(thing *T, name string, at float64)
	// Archive archives a thing, unless it is archived already.
	Archive func(thing *T, at float64)
}

// Description is the part of a thing that this package needs.
type Description struct {
	Org, ID, Name string
	// Detail never changes. Each entry of the thing has it.
	Detail   string
	Archived bool
}

// current returns a thing and its name, or storage.ErrArchived.
func (k *Kind[T]) current(ctx context.Context, id string) (thing storage.Versioned[T], name string, err error) {
	thing, err = k.Things.GetVersioned(ctx, id)
	if err != nil {
		return thing, "", err
	}
	described := k.Describe(&thing.Value)
	if described.Archived {
		return thing, "", storage.ErrArchived
	}
	return thing, described.Name, nil
}
