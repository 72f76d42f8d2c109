package environments

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

var headSchema = &storage.Schema{Name: "heads"}

// Heads keeps the heads of environments, by the environment's id.
type Heads struct {
	storage.Collection[snapshot.Head]
}

// NewHeads binds the repository to an engine.
func NewHeads(docs storage.Documents) *Heads {
	return &Heads{Collection: storage.NewCollection(docs, headSchema,
		func(h *snapshot.Head) string { return h.Environment }, nil)}
}

// GetMany returns the heads of environments, by id.
func (h *Heads) GetMany(ctx context.Context, environments []string) (map[string]snapshot.Head, error) {
	heads, err := h.Collection.GetMany(ctx, environments)
	return evidence.ByKey(heads, func(head *snapshot.Head) string { return head.Environment }), err
}
