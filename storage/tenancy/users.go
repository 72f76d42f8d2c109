package tenancy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/transfer"
)

var userSchema = &storage.Schema{Name: "users"}

// User returns a user by name, or ErrNotFound if there is none or it was removed.
func (t *Tenancy) User(ctx context.Context, name string) (evidence.User, error) {
	user, err := t.users.Get(ctx, name)
	if err == nil && user.RemovedAt != 0 {
		err = storage.ErrNotFound
	}
	return user, err
}

// UserPrincipal returns a user as the principal of a request without a key, or evidence.Unauthorized. A session from
// before a removal of the user does not count after the user was restored.
func (t *Tenancy) UserPrincipal(ctx context.Context, name string, signedIn time.Time) (evidence.Principal, error) {
	user, err := t.User(ctx, name)
	if errors.Is(err, storage.ErrNotFound) || err == nil && signedIn.Unix() < user.KeysFrom {
		return evidence.Principal{}, evidence.NewError(evidence.Unauthorized, "There is no such user")
	}
	return evidence.Principal{UserID: user.ID, Name: user.Name}, err
}

// EachUser calls yield for all users that were not removed, by name, until it returns an error.
func (t *Tenancy) EachUser(ctx context.Context, yield func(*evidence.User) error) error {
	for record, err := range transfer.DocumentsIn(t.docs, userSchema).All(ctx, "") {
		if err != nil {
			return err
		}
		var user evidence.User
		if err := json.Unmarshal(record.Body, &user); err != nil {
			return fmt.Errorf("user %s: %w", record.ID, err)
		}
		if user.RemovedAt != 0 {
			continue
		}
		if err := yield(&user); err != nil {
			return err
		}
	}
	return nil
}

// UserKeys is a user as the owner of keys, or ErrNotFound.
func (t *Tenancy) UserKeys(ctx context.Context, name string) (identity.KeyOwner, error) {
	user, err := t.User(ctx, name)
	return userKeys(user), err
}

func userKeys(user evidence.User) identity.KeyOwner {
	return identity.KeyOwner{ID: user.ID, Name: user.Name, OrgName: user.Name}
}

// DefaultOrganization returns the name of the organization that a user opens first, "" if none was chosen that the user
// can still see, or for all but users.
func (t *Tenancy) DefaultOrganization(ctx context.Context, principal evidence.Principal) (string, error) {
	if !principal.IsUser() {
		return "", nil
	}
	user, err := t.users.Get(ctx, principal.Name)
	if err != nil || user.DefaultOrg == "" {
		return "", err
	}
	if _, err := t.Access(ctx, principal, user.DefaultOrg); evidence.CodeOf(err) == evidence.Forbidden {
		return "", nil
	}
	return user.DefaultOrg, nil
}

// SetDefaultOrganization chooses the organization that a user opens first. It is Forbidden for organizations that the
// user cannot see, and for all but users.
func (t *Tenancy) SetDefaultOrganization(ctx context.Context, principal evidence.Principal, orgName string) error {
	if !principal.IsUser() {
		return accessDenied()
	}
	if _, err := t.Access(ctx, principal, orgName); err != nil {
		return err
	}
	_, err := t.users.Update(ctx, principal.Name, storage.WithoutError(func(user *evidence.User) { user.DefaultOrg = orgName }))
	return err
}

// CreateUser creates a user and the personal organization, or restores a removed user. A name of a user is Invalid.
func (t *Tenancy) CreateUser(ctx context.Context, name, email string, by identity.Actor) error {
	_, err := t.User(ctx, name)
	if err == nil {
		return evidence.Errorf(evidence.Invalid, "User '%s' already exists", name)
	}
	if !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	_, err = t.putUser(ctx, name, email, by)
	return err
}

// putUser creates a user and the personal organization, as far as they are missing.
func (t *Tenancy) putUser(ctx context.Context, name, email string, by identity.Actor) (evidence.User, error) {
	// The organization is made first, so that a user whose name is taken is not made.
	if _, err := t.ensureOrganization(ctx, name, evidence.PersonalOrganization); err != nil {
		return evidence.User{}, err
	}
	if err := t.finishRemoval(ctx, name, by); err != nil {
		return evidence.User{}, err
	}
	user, err := t.ensureUser(ctx, name, email)
	if err != nil {
		return user, err
	}
	return user, t.change(ctx, name, by, func(c *orgChange) error {
		_, err := t.setMember(ctx, c, user, evidence.Admin)
		return err
	})
}

// finishRemoval finishes the removal of a user before the user is restored.
func (t *Tenancy) finishRemoval(ctx context.Context, name string, by identity.Actor) error {
	user, err := t.users.Get(ctx, name)
	if err != nil || user.RemovedAt == 0 {
		return storage.IgnoreMissing(err)
	}
	return t.RemoveUser(ctx, name, by)
}

// RemoveUser removes a user, or returns ErrNotFound: the keys stop working at once, and the memberships end. The name
// stays taken, as records of the user's actions stay.
func (t *Tenancy) RemoveUser(ctx context.Context, name string, by identity.Actor) error {
	user, err := t.users.Get(ctx, name)
	if err != nil {
		return err
	}
	err = t.change(ctx, name, by, func(c *orgChange) error {
		read, err := t.users.GetVersioned(ctx, name)
		if err != nil || read.Value.RemovedAt != 0 {
			return err
		}
		removed := read.Value
		removed.RemovedAt = t.clock().Unix()
		t.users.ReplaceIn(&c.batch, &removed, read.Revision)
		c.record(memberEntry(identity.AuditRemoved, user, evidence.Admin, evidence.NoRole))
		c.invalidate = true
		return nil
	})
	if err != nil {
		return err
	}
	// The rest is repeated for a user who was removed before, as the process may have ended in between.
	return errors.Join(t.revokeAll(ctx, userKeys(user), by), t.endMemberships(ctx, user, by))
}

// revokeAll revokes all keys of an owner. Those of a removed user stay revoked if the user is restored.
func (t *Tenancy) revokeAll(ctx context.Context, owner identity.KeyOwner, by identity.Actor) error {
	live, err := t.liveKeys(ctx, owner.ID)
	if err != nil {
		return err
	}
	for _, key := range live {
		if err := t.RevokeKey(ctx, owner, by, key.ID); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (t *Tenancy) endMemberships(ctx context.Context, user evidence.User, by identity.Actor) error {
	return t.EachOrganization(ctx, func(org *evidence.Organization) error {
		err := t.change(ctx, org.Name, by, func(c *orgChange) error {
			_, err := t.removeMember(ctx, c, user)
			if c.org.Name == user.Name {
				c.entries = nil // the removal of the user was recorded there
			}
			return err
		})
		return storage.IgnoreMissing(err)
	})
}

func (t *Tenancy) ensureUser(ctx context.Context, name, email string) (evidence.User, error) {
	user, err := storage.Ensure(ctx, t.users, evidence.User{
		ID: evidence.NewID(), Name: name, Email: email, CreatedAt: evidence.Seconds(t.clock()),
	})
	if err != nil || user.RemovedAt == 0 && (email == "" || user.Email == email) {
		return user, err
	}
	return t.users.Update(ctx, name, func(user *evidence.User) error {
		user.Email = cmp.Or(email, user.Email)
		if user.RemovedAt != 0 {
			user.RemovedAt, user.KeysFrom = 0, t.clock().Unix()
		}
		return nil
	})
}
