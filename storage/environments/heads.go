package environments

import (
	"context"
	"errors"

	"attestry/evidence/snapshot"
	"attestry/storage"
)

var headSchema = &storage.Schema{Name: "heads"}

// Heads keeps the hot part of environments, by the environment's id.
type Heads struct {
	collection storage.Collection[snapshot.Head]
}

// NewHeads binds the repository to an engine.
func NewHeads(docs storage.Documents) *Heads {
	return &Heads{collection: storage.NewCollection(docs, headSchema,
		func(h *snapshot.Head) string { return h.Environment }, nil)}
}

// insert stores the head of a new environment; one that exists is left alone.
func (h *Heads) insert(ctx context.Context, head snapshot.Head) error {
	err := h.collection.Insert(ctx, head)
	if errors.Is(err, storage.ErrExists) {
		return nil
	}
	return err
}

// Get returns an environment's head.
func (h *Heads) Get(ctx context.Context, environment string) (snapshot.Head, error) {
	return h.collection.Get(ctx, environment)
}

// GetVersioned returns an environment's head with its revision.
func (h *Heads) GetVersioned(ctx context.Context, environment string) (storage.Versioned[snapshot.Head], error) {
	return h.collection.GetVersioned(ctx, environment)
}

// GetMany returns the heads of environments, by id.
func (h *Heads) GetMany(ctx context.Context, environments []string) (map[string]snapshot.Head, error) {
	heads, err := h.collection.GetMany(ctx, environments)
	return storage.ByKey(heads, func(head *snapshot.Head) string { return head.Environment }), err
}

// Replace writes a head that is still at the given revision and returns the new
// one, or ErrMoved.
func (h *Heads) Replace(ctx context.Context, head snapshot.Head, revision int64) (int64, error) {
	return h.collection.Replace(ctx, head, revision)
}

// ReplaceIn adds to a batch what Replace does.
func (h *Heads) ReplaceIn(batch *storage.Batch, head *snapshot.Head, revision int64) int64 {
	return h.collection.ReplaceIn(batch, head, revision)
}

// Update changes an environment's head.
func (h *Heads) Update(ctx context.Context, environment string, change func(*snapshot.Head) error) (snapshot.Head, error) {
	return h.collection.Update(ctx, environment, change)
}
