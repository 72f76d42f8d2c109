package tenancy

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

// maxProviders bounds the identity providers of an organization.
const maxProviders = 50

var providerSchema = storage.NewSchema("identity_providers",
	storage.Index{Name: "org", Fields: []string{"org", "name"}},
	storage.Index{Name: "issuer", Fields: []string{"org_name", "issuer", "name"}},
	storage.Index{Name: "trusted", Fields: []string{"issuer"}},
)

// IdentityProviders returns those of an organization, none if it does not exist. They may be tenancyCacheAge old.
func (t *Tenancy) IdentityProviders(ctx context.Context, orgName string) ([]identity.IdentityProvider, error) {
	now, err := t.checkVersion(ctx)
	if err != nil {
		return nil, err
	}
	if evidence.CheckOrganizationName(orgName) != nil {
		return nil, nil
	}
	return t.providers.Load(orgName, now, func() ([]identity.IdentityProvider, error) {
		return storage.FindAll(ctx, t.identityProviders, storage.Query{Index: "issuer", Equal: []any{orgName}, Limit: storage.Unlimited})
	})
}

// IsTrusted reports whether any organization has an identity provider of an issuer. It may be tenancyCacheAge old.
func (t *Tenancy) IsTrusted(ctx context.Context, issuer string) (bool, error) {
	now, err := t.checkVersion(ctx)
	if err != nil {
		return false, err
	}
	return t.issuers.Load(issuer, now, func() (bool, error) {
		found, err := storage.FindAll(ctx, t.identityProviders, storage.Query{Index: "trusted", Equal: []any{issuer}, Limit: 1})
		return len(found) > 0, err
	})
}

// ListIdentityProviders returns all identity providers of an organization by name.
func (t *Tenancy) ListIdentityProviders(ctx context.Context, orgID string) ([]identity.IdentityProvider, error) {
	return storage.FindAll(ctx, t.identityProviders, storage.Query{Index: "org", Equal: []any{orgID}, Limit: storage.Unlimited})
}

// IdentityProvider returns an identity provider by its name, or ErrNotFound.
func (t *Tenancy) IdentityProvider(ctx context.Context, orgID, name string) (identity.IdentityProvider, error) {
	return t.identityProviders.Get(ctx, idIn(orgID, name))
}

// PutIdentityProvider creates or replaces the identity provider of a name in a shared organization, and returns it. A
// personal organization is Invalid.
func (t *Tenancy) PutIdentityProvider(ctx context.Context, orgName string, by identity.Actor, provider identity.IdentityProvider) (stored identity.IdentityProvider, created bool, err error) {
	err = t.change(ctx, orgName, by, func(c *orgChange) error {
		if err := requireShared(c.org, "identity providers"); err != nil {
			return err
		}
		read, err := t.identityProviders.GetOrZero(ctx, idIn(c.org.ID, provider.Name))
		if err != nil {
			return err
		}
		stored, created = provider, read.Revision == 0
		stored.OrgID, stored.OrgName = c.org.ID, c.org.Name
		stored.CreatedAt, stored.LastModifiedAt = read.Value.CreatedAt, read.Value.LastModifiedAt
		if stored == read.Value {
			return nil
		}
		if created {
			if err := t.requireRoomForProvider(ctx, c.org); err != nil {
				return err
			}
		}
		stored.LastModifiedAt = evidence.Seconds(t.clock())
		event := identity.AuditChanged
		if created {
			stored.CreatedAt, event = stored.LastModifiedAt, identity.AuditAdded
		}
		t.identityProviders.StoreIn(&c.batch, &stored, read.Revision)
		c.invalidate = true
		c.record(roleEntry(event, identity.AuditIdentityProvider, stored.Name, read.Value.Privilege, stored.Privilege))
		return nil
	})
	return stored, created, err
}

// requireRoomForProvider refuses one more identity provider if there are many: a token may be compared with all.
func (t *Tenancy) requireRoomForProvider(ctx context.Context, org evidence.Organization) error {
	count, err := t.identityProviders.Count(ctx, storage.Query{Index: "org", Equal: []any{org.ID}})
	if err != nil || count < maxProviders {
		return err
	}
	return evidence.Errorf(evidence.Invalid, "Organization '%s' has %d identity providers already", org.Name, count)
}

// DeleteIdentityProvider deletes an identity provider, or returns ErrNotFound.
func (t *Tenancy) DeleteIdentityProvider(ctx context.Context, orgName string, by identity.Actor, name string) error {
	return t.change(ctx, orgName, by, func(c *orgChange) error {
		id := idIn(c.org.ID, name)
		read, err := t.identityProviders.GetVersioned(ctx, id)
		if err != nil {
			return err
		}
		stored := read.Value
		t.identityProviders.CheckIn(&c.batch, id, read.Revision)
		t.identityProviders.DeleteIn(&c.batch, id)
		c.invalidate = true
		c.record(roleEntry(identity.AuditRemoved, identity.AuditIdentityProvider, stored.Name, stored.Privilege, evidence.NoRole))
		return nil
	})
}
