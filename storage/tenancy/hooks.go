package tenancy

import (
	"context"
	"slices"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

var hookSchema = storage.NewSchema("hooks", storage.Index{Name: "org", Fields: []string{"org"}})

// hook is a stored inbound webhook. The secret is in plain text, as signatures cannot be verified without it.
type hook struct {
	// Hash is HashAPIKey of the uid.
	Hash       string            `json:"hash"`
	OrgID      string            `json:"org_id"`
	OrgName    string            `json:"org_name"`
	Kind       identity.HookKind `json:"kind"`
	Secret     string            `json:"secret"`
	FlowPrefix string            `json:"flow_prefix,omitempty"`
	FlowSuffix string            `json:"flow_suffix,omitempty"`
}

// Hook returns the inbound webhook of a kind with a uid, or ErrNotFound.
func (t *Tenancy) Hook(ctx context.Context, kind identity.HookKind, uid string) (identity.Hook, error) {
	hash := evidence.HashAPIKey(uid)
	stored, err := t.hooks.Get(ctx, hash)
	if err == nil && stored.Kind != kind {
		err = storage.ErrNotFound
	}
	if err != nil {
		return identity.Hook{}, maskHash(err, hash)
	}
	return identity.Hook{
		OrgID: stored.OrgID, OrgName: stored.OrgName, Kind: stored.Kind, Secret: evidence.Secret(stored.Secret),
		FlowPrefix: stored.FlowPrefix, FlowSuffix: stored.FlowSuffix,
	}, nil
}

// setHooks replaces the hooks of an organization by the declared ones.
func (t *Tenancy) setHooks(ctx context.Context, org evidence.Organization, declared []identity.DeclaredHook) error {
	stored, err := storage.FindAll(ctx, t.hooks, storage.Query{Index: "org", Equal: []any{org.ID}, Limit: storage.Unlimited})
	if err != nil {
		return err
	}
	var kept []string
	for _, one := range declared {
		fresh := hook{
			Hash: evidence.HashAPIKey(one.UID.Reveal()), OrgID: org.ID, OrgName: org.Name, Kind: one.Kind,
			Secret: one.Secret.Reveal(), FlowPrefix: one.FlowPrefix, FlowSuffix: one.FlowSuffix,
		}
		kept = append(kept, fresh.Hash)
		if err := t.setHook(ctx, fresh); err != nil {
			return maskHash(err, fresh.Hash)
		}
	}
	for _, one := range stored {
		if slices.Contains(kept, one.Hash) {
			continue
		}
		if err := t.hooks.Delete(ctx, one.Hash); err != nil {
			return maskHash(err, one.Hash)
		}
	}
	return nil
}

func (t *Tenancy) setHook(ctx context.Context, fresh hook) error {
	stored, err := storage.Ensure(ctx, t.hooks, fresh)
	if err != nil || stored == fresh {
		return err
	}
	if stored.OrgID != fresh.OrgID {
		return errHookTaken
	}
	_, err = t.hooks.Update(ctx, fresh.Hash, storage.WithoutError(func(stored *hook) { *stored = fresh }))
	return err
}

// hook returns why an organization cannot have a hook, or nil.
func (c *bootstrapCheck) hook(ctx context.Context, orgName string, uid evidence.Secret) (fault, err error) {
	hash := evidence.HashAPIKey(uid.Reveal())
	stored, err := c.tenancy.hooks.Get(ctx, hash)
	if err != nil {
		return nil, maskHash(storage.IgnoreMissing(err), hash)
	}
	if stored.OrgName != orgName {
		return errHookTaken, nil
	}
	return nil, nil
}
