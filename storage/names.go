package storage

import (
	"context"
	"encoding/json"
	"errors"
)

// name is an entry of the names collection: what an organization calls one of the
// things that can be renamed. It is made before the thing itself and carries it
// until that is stored, so that a crash in between loses nothing: whoever meets a
// name that is still creating finishes it.
type name struct {
	Org  string `json:"org"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Target is the id of what is named, and Detail what of it never changes.
	Target string `json:"target"`
	Detail string `json:"detail"`
	// Entity is the thing itself while it is being created, else absent.
	Entity json.RawMessage `json:"entity,omitempty"`
}

func (n *name) creating() bool { return len(n.Entity) > 0 }

const kindEnvironment = "environments"

var nameSchema = &Schema{Name: "names"}

func nameID(org, kind, text string) string { return org + "/" + kind + "/" + text }

// names hands out names and resolves them.
type names struct {
	collection *Collection[name]
}

func newNames(docs Documents) *names {
	return &names{collection: NewCollection(docs, nameSchema,
		func(n *name) string { return nameID(n.Org, n.Kind, n.Name) }, nil)}
}

// resolve returns the entry of a name, finished by finish if need be, or
// ErrNotFound.
func (n *names) resolve(ctx context.Context, org, kind, text string, finish func(context.Context, json.RawMessage) error) (name, error) {
	entry, err := n.collection.Get(ctx, nameID(org, kind, text))
	if err != nil || !entry.creating() {
		return entry, err
	}
	return entry, n.finish(ctx, entry, finish)
}

// claim takes a name for a new entity and creates it. ErrExists tells that the
// name is taken.
func (n *names) claim(ctx context.Context, entry name, finish func(context.Context, json.RawMessage) error) error {
	if err := n.collection.Insert(ctx, entry); err != nil {
		return err
	}
	return n.finish(ctx, entry, finish)
}

// finish stores the entity that a name carries, then unloads the name.
func (n *names) finish(ctx context.Context, entry name, finish func(context.Context, json.RawMessage) error) error {
	if err := finish(ctx, entry.Entity); err != nil && !errors.Is(err, ErrExists) {
		return err
	}
	_, err := n.collection.Update(ctx, nameID(entry.Org, entry.Kind, entry.Name), func(stored *name) error {
		if stored.Target == entry.Target {
			stored.Entity = nil
		}
		return nil
	})
	return err
}
