package environments

import (
	"context"

	"attestry/evidence"
	"attestry/storage"
)

var allowlistSchema = &storage.Schema{
	Name:    "allowlist",
	Fields:  []string{"org", "time"},
	Indexes: []storage.Index{{Name: "time", Fields: []string{"org", "time"}}},
}

// Allowlist keeps which artifacts are permitted in which environments.
type Allowlist struct {
	collection *storage.Collection[evidence.Allowance]
}

// NewAllowlist binds the repository to an engine.
func NewAllowlist(docs storage.Documents) *Allowlist {
	return &Allowlist{collection: storage.NewCollection(docs, allowlistSchema,
		func(a *evidence.Allowance) string { return allowanceID(a.Environment, a.Fingerprint) },
		func(a *evidence.Allowance) map[string]any { return map[string]any{"org": a.Org, "time": a.At} })}
}

func allowanceID(environment, fingerprint string) string { return environment + "/" + fingerprint }

// Put permits an artifact in an environment, or repeats that it is permitted. It
// returns the allowance as stored.
func (a *Allowlist) Put(ctx context.Context, fresh evidence.Allowance) (evidence.Allowance, error) {
	return storage.Upsert(ctx, a.collection, allowanceID(fresh.Environment, fresh.Fingerprint),
		func() evidence.Allowance { return fresh },
		func(known *evidence.Allowance) error {
			if known.ID != fresh.ID {
				known.Repeat(fresh)
			}
			return nil
		})
}

// Of returns which of fingerprints are permitted in an environment: one command per MaxMany.
func (a *Allowlist) Of(ctx context.Context, environment string, fingerprints []string) (map[string]evidence.Allowance, error) {
	ids := make([]string, 0, len(fingerprints))
	for _, fingerprint := range fingerprints {
		ids = append(ids, allowanceID(environment, fingerprint))
	}
	found, err := a.collection.GetMany(ctx, ids)
	permitted := make(map[string]evidence.Allowance, len(found))
	for _, one := range found {
		permitted[one.Fingerprint] = one
	}
	return permitted, err
}

// List reads everything that an organization permits, newest first.
func (a *Allowlist) List(org string) *storage.Batches[evidence.Allowance] {
	return storage.QueryBatches(a.collection, storage.Query{Index: "time", Equal: []any{org}, Descending: true, Limit: storage.Unlimited})
}
