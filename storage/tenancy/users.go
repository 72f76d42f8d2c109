package tenancy

import (
	"context"

	"attestry/evidence"
	"attestry/storage"
)

var userSchema = &storage.Schema{Name: "users"}

func userID(u *evidence.User) string { return u.Name }

// DefaultOrganization returns the name of the organization that a user opens
// first, "" when none was chosen. Service accounts have none.
func (t *Tenancy) DefaultOrganization(ctx context.Context, principal evidence.Principal) (string, error) {
	if principal.ServiceAccount {
		return "", nil
	}
	user, err := t.users.Get(ctx, principal.Name)
	return user.DefaultOrg, err
}

// SetDefaultOrganization chooses the organization that a user opens first. It is
// Forbidden for organizations that the user cannot see, and for service accounts.
func (t *Tenancy) SetDefaultOrganization(ctx context.Context, principal evidence.Principal, orgName string) error {
	if principal.ServiceAccount {
		return accessDenied()
	}
	if _, err := t.Access(ctx, principal, orgName); err != nil {
		return err
	}
	_, err := t.users.Update(ctx, principal.Name, func(user *evidence.User) error {
		user.DefaultOrg = orgName
		return nil
	})
	return err
}

func (t *Tenancy) ensureUser(ctx context.Context, name, email string) (evidence.User, error) {
	user, err := storage.Ensure(ctx, t.users, name, evidence.User{
		ID:        evidence.NewID(),
		Name:      name,
		Email:     email,
		CreatedAt: evidence.Seconds(t.clock()),
	})
	if err != nil || email == "" || user.Email == email {
		return user, err
	}
	return t.users.Update(ctx, name, func(user *evidence.User) error {
		user.Email = email
		return nil
	})
}
