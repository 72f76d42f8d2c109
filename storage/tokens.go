package storage

import (
	"context"
	"errors"

	"attestry/evidence"
)

var tokenSchema = &Schema{Name: "tokens"}

// changeToken is overwritten with a fresh random value whenever a fact about
// something that runs has changed (design: "fast path").
type changeToken struct {
	Org   string `json:"org"`
	Value string `json:"value"`
}

// Tokens keeps one change token per organization.
type Tokens struct {
	collection *Collection[changeToken]
}

func newTokens(docs Documents) *Tokens {
	return &Tokens{collection: NewCollection(docs, tokenSchema,
		func(t *changeToken) string { return t.Org }, nil)}
}

// Get returns an organization's change token, "" before the first change.
func (t *Tokens) Get(ctx context.Context, org string) (string, error) {
	token, err := t.collection.Get(ctx, org)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return token.Value, err
}

// Move gives an organization a fresh change token, so that the next report of
// every environment is judged anew.
func (t *Tokens) Move(ctx context.Context, org string) error {
	return t.collection.Put(ctx, changeToken{Org: org, Value: evidence.NewID()})
}
