package storage

import (
	"context"

	"attestry/evidence"
)

var allowlistSchema = &Schema{
	Name:    "allowlist",
	Fields:  []string{"org", "time"},
	Indexes: []Index{{Name: "time", Fields: []string{"org", "time"}}},
}

// Allowlist keeps which artifacts are permitted in which environments.
type Allowlist struct {
	collection *Collection[evidence.Allowance]
}

// NewAllowlist binds the repository to an engine.
func NewAllowlist(docs Documents) *Allowlist {
	return &Allowlist{collection: NewCollection(docs, allowlistSchema,
		func(a *evidence.Allowance) string { return allowanceID(a.Environment, a.Fingerprint) },
		func(a *evidence.Allowance) map[string]any { return map[string]any{"org": a.Org, "time": a.At} })}
}

func allowanceID(environment, fingerprint string) string { return environment + "/" + fingerprint }

// Put permits an artifact in an environment, or repeats that it is permitted. It
// returns the allowance as stored.
func (a *Allowlist) Put(ctx context.Context, fresh evidence.Allowance) (evidence.Allowance, error) {
	return Upsert(ctx, a.collection, allowanceID(fresh.Environment, fresh.Fingerprint),
		func() evidence.Allowance { return fresh },
		func(known *evidence.Allowance) error {
			if known.ID != fresh.ID {
				known.Repeat(fresh)
			}
			return nil
		})
}

// List reads everything that an organization permits, newest first.
func (a *Allowlist) List(org string) *Batches[evidence.Allowance] {
	return QueryBatches(a.collection, Query{Index: "time", Equal: []any{org}, Descending: true, Limit: Unlimited})
}
