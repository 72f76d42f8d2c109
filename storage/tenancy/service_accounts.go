package tenancy

import (
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

var accountSchema = storage.NewSchema("service_accounts", storage.Index{Name: "org", Fields: []string{"org", "name"}})

// ServiceAccounts returns the service accounts of an organization by name.
func (t *Tenancy) ServiceAccounts(ctx context.Context, orgID string) ([]identity.ServiceAccount, error) {
	return storage.FindAll(ctx, t.accounts, storage.Query{Index: "org", Equal: []any{orgID}, Limit: storage.Unlimited})
}

// ServiceAccount returns a service account by its name, or ErrNotFound.
func (t *Tenancy) ServiceAccount(ctx context.Context, orgID, name string) (identity.ServiceAccount, error) {
	return t.accounts.Get(ctx, idIn(orgID, name))
}

// AuthenticateAccount returns the service account of that name in an organization as a principal; it may be
// tenancyCacheAge old, unless it was deleted. Without one the error is Unauthorized.
func (t *Tenancy) AuthenticateAccount(ctx context.Context, orgName, name string) (evidence.Principal, error) {
	now, err := t.checkVersion(ctx)
	if err != nil {
		return evidence.Principal{}, err
	}
	principal, err := t.certified.Load(orgName+"/"+name, now, func() (evidence.Principal, error) {
		org, err := t.organizations.Get(ctx, orgName)
		if err != nil {
			return evidence.Principal{}, err
		}
		account, err := t.ServiceAccount(ctx, org.ID, name)
		return evidence.Principal{UserID: account.ID, Name: account.Name, ServiceAccount: true}, err
	})
	if errors.Is(err, storage.ErrNotFound) {
		err = evidence.NewError(evidence.Unauthorized, "The service account of the client's certificate does not exist")
	}
	return principal, err
}

// leftAccounts returns the service accounts that a user created and cannot manage with a role.
func (t *Tenancy) leftAccounts(ctx context.Context, org evidence.Organization, user evidence.User, role evidence.Role) ([]identity.ServiceAccount, error) {
	if role == evidence.Admin {
		return nil, nil // administrators manage all
	}
	accounts, err := t.ServiceAccounts(ctx, org.ID)
	return slices.DeleteFunc(accounts, func(a identity.ServiceAccount) bool { return !a.LeftBy(user.ID, role) }), err
}

// RevokeServiceAccounts revokes all keys of service accounts of an organization.
func (t *Tenancy) RevokeServiceAccounts(ctx context.Context, orgName string, by identity.Actor, accounts []identity.ServiceAccount) error {
	by.Role = evidence.NoRole // the change before it may have lowered the role of the actor
	for _, account := range accounts {
		owner := identity.KeyOwner{ID: account.ID, Name: account.Name, OrgID: account.OrgID, OrgName: orgName, ServiceAccount: true}
		if err := t.revokeAll(ctx, owner, by); err != nil {
			return err
		}
	}
	return nil
}

// CreateServiceAccount creates a service account. A taken name and a personal organization are Invalid.
func (t *Tenancy) CreateServiceAccount(ctx context.Context, orgName string, by identity.Actor, account identity.ServiceAccount) (identity.ServiceAccount, error) {
	account.ID, account.CreatorID, account.CreatedAt = evidence.NewID(), by.ID, evidence.Seconds(t.clock())
	err := t.change(ctx, orgName, by, func(c *orgChange) error {
		if err := requireShared(c.org, "service accounts"); err != nil {
			return err
		}
		account.OrgID = c.org.ID
		_, err := t.ServiceAccount(ctx, c.org.ID, account.Name)
		if err == nil {
			return evidence.Errorf(evidence.Invalid, "Service account '%s' already exists in organization '%s'", account.Name, c.org.Name)
		}
		if !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		t.accounts.InsertIn(&c.batch, &account)
		c.record(roleEntry(identity.AuditAdded, identity.AuditServiceAccount, account.Name, evidence.NoRole, account.Privilege))
		return nil
	})
	return account, err
}

// UpdateServiceAccount changes a service account that was read before, by its id, and returns it, or ErrNotFound.
func (t *Tenancy) UpdateServiceAccount(ctx context.Context, orgName string, by identity.Actor, seen identity.ServiceAccount, update func(*identity.ServiceAccount)) (identity.ServiceAccount, error) {
	var account identity.ServiceAccount
	err := t.change(ctx, orgName, by, func(c *orgChange) error {
		read, err := t.accounts.GetVersioned(ctx, idIn(c.org.ID, seen.Name))
		if err != nil {
			return err
		}
		if account = read.Value; account.ID != seen.ID {
			return storage.ErrNotFound
		}
		update(&account)
		if account == read.Value {
			return nil
		}
		t.accounts.ReplaceIn(&c.batch, &account, read.Revision)
		if old := read.Value.Privilege; old != account.Privilege {
			c.invalidate = true
			c.record(roleEntry(identity.AuditChanged, identity.AuditServiceAccount, account.Name, old, account.Privilege))
		}
		return nil
	})
	return account, err
}

// DeleteServiceAccount deletes a service account that was read before, by its id, or returns ErrNotFound. Its keys stop
// working, as keys without an owner do.
func (t *Tenancy) DeleteServiceAccount(ctx context.Context, orgName string, by identity.Actor, seen identity.ServiceAccount) error {
	return t.change(ctx, orgName, by, func(c *orgChange) error {
		id := idIn(c.org.ID, seen.Name)
		read, err := t.accounts.GetVersioned(ctx, id)
		if err != nil {
			return err
		}
		account := read.Value
		if account.ID != seen.ID {
			return storage.ErrNotFound
		}
		c.invalidate = true
		c.record(roleEntry(identity.AuditRemoved, identity.AuditServiceAccount, account.Name, account.Privilege, evidence.NoRole))
		t.accounts.CheckIn(&c.batch, id, read.Revision)
		t.accounts.DeleteIn(&c.batch, id)
		return nil
	})
}

// requireShared refuses personal organizations, which only their user may be a member of.
func requireShared(org evidence.Organization, what string) error {
	if org.Kind == evidence.SharedOrganization {
		return nil
	}
	return evidence.Errorf(evidence.Invalid, "Organization '%s' is personal and cannot have %s", org.Name, what)
}
