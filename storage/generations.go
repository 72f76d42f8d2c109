package storage

import (
	"context"
	"errors"

	"attestry/evidence"
)

// GenerationSchema declares the collection of generations.
var GenerationSchema = &Schema{Name: "tokens"}

// generation is overwritten with a fresh random value whenever a fact about
// something that runs has changed (docs/semantics.md 10.4).
type generation struct {
	Org   string `json:"org"`
	Value string `json:"value"`
}

// Generations keeps one generation per organization.
type Generations struct {
	collection *Collection[generation]
}

// NewGenerations binds the repository to an engine.
func NewGenerations(docs Documents) *Generations {
	return &Generations{collection: NewCollection(docs, GenerationSchema,
		func(t *generation) string { return t.Org }, nil)}
}

// Get returns an organization's generation, "" before the first change.
func (t *Generations) Get(ctx context.Context, org string) (string, error) {
	token, err := t.collection.Get(ctx, org)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return token.Value, err
}

// BumpIn adds to a batch what Bump does.
func (t *Generations) BumpIn(batch *Batch, org string) {
	t.collection.PutIn(batch, generation{Org: org, Value: evidence.NewID()})
}

// Bump gives an organization a fresh generation, so that the next report of
// every environment is judged anew.
func (t *Generations) Bump(ctx context.Context, org string) error {
	return t.collection.Put(ctx, generation{Org: org, Value: evidence.NewID()})
}
