package environments

import (
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/storage"
)

var allowlistSchema = storage.NewSchema("allowlist",
	storage.Index{Name: "time", Fields: []string{"org", "time"}},
	storage.Index{Name: "expires", Fields: []string{"expires"}, Required: "expires"})

// Outbox keeps the events that actions are to be notified of.
type Outbox interface {
	// EnqueueIn adds an event to a batch, unless no action fires on it.
	EnqueueIn(ctx context.Context, batch *storage.Batch, event notification.Event) error
}

// Allowlist keeps which artifacts are permitted in which environments.
type Allowlist struct {
	docs       storage.Documents
	outbox     Outbox
	collection storage.Collection[evidence.Allowance]
}

// NewAllowlist binds the repository to an engine.
func NewAllowlist(docs storage.Documents, outbox Outbox) *Allowlist {
	return &Allowlist{docs: docs, outbox: outbox, collection: storage.NewCollection(docs, allowlistSchema,
		func(a *evidence.Allowance) string { return idIn(a.Environment, a.Fingerprint) }, allowanceFields)}
}

func allowanceFields(a *evidence.Allowance) map[string]any {
	fields := map[string]any{"org": a.Org, "time": a.At}
	if a.ExpiresAt != 0 && !a.Lapsed {
		fields["expires"] = a.ExpiresAt
	}
	return fields
}

// Put permits an artifact in an environment, or repeats that, and notifies actions. It returns the allowance as stored.
func (a *Allowlist) Put(ctx context.Context, fresh evidence.Allowance) (evidence.Allowance, error) {
	for {
		seen, err := a.collection.GetOrZero(ctx, idIn(fresh.Environment, fresh.Fingerprint))
		if err != nil {
			return fresh, err
		}
		stored := fresh
		if seen.Revision != 0 {
			stored = seen.Value
			stored.Repeat(fresh)
		}
		batch := &storage.Batch{}
		a.collection.StoreIn(batch, &stored, seen.Revision)
		if err := a.outbox.EnqueueIn(ctx, batch, notification.AllowedEvent(stored)); err != nil {
			return stored, err
		}
		err = batch.Write(ctx, a.docs)
		if _, ok := errors.AsType[*storage.RefusedWrite](err); !ok {
			return stored, err
		}
	}
}

// Expired returns some allowances that have expired at a time in Unix seconds and have not lapsed.
func (a *Allowlist) Expired(ctx context.Context, at float64) ([]evidence.Allowance, error) {
	return storage.FindAll(ctx, a.collection, storage.Query{Index: "expires", To: &storage.Bound{Value: at}, Limit: storage.MaxMany})
}

// Lapse records that the environment of an expired allowance was evaluated without it, unless it was renewed since.
func (a *Allowlist) Lapse(ctx context.Context, expired evidence.Allowance) error {
	_, err := a.collection.Update(ctx, idIn(expired.Environment, expired.Fingerprint), storage.WithoutError(func(one *evidence.Allowance) {
		one.Lapsed = one.ExpiresAt == expired.ExpiresAt
	}))
	return err
}

// Of returns which artifacts are permitted in an environment by allowances that are in force: one command per MaxMany.
// artifacts has all fingerprints of each artifact. The result has its allowance by the first of them.
func (a *Allowlist) Of(ctx context.Context, environment string, artifacts [][]string, inForce func(*evidence.Allowance) bool) (map[string]evidence.Allowance, error) {
	ids := evidence.Map(slices.Concat(artifacts...), func(fingerprint string) string { return idIn(environment, fingerprint) })
	found, err := a.collection.GetMany(ctx, evidence.Distinct(ids))
	byFingerprint := evidence.ByKey(found, func(allowed *evidence.Allowance) string { return allowed.Fingerprint })
	allowed := map[string]evidence.Allowance{}
	for _, fingerprints := range artifacts {
		for _, fingerprint := range slices.Backward(fingerprints) {
			if allowance, ok := byFingerprint[fingerprint]; ok && inForce(&allowance) {
				allowed[fingerprints[0]] = allowance
			}
		}
	}
	return allowed, err
}

// List reads everything that an organization permits, newest first.
func (a *Allowlist) List(org string) *storage.Batches[evidence.Allowance] {
	return storage.QueryBatches(a.collection, storage.Query{Index: "time", Equal: []any{org}, Descending: true, Limit: storage.Unlimited})
}
