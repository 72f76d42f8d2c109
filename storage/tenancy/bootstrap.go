package tenancy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

// ApplyBootstrap creates what is declared and missing, sets the rest as declared (e-mails, roles, switches, inbound
// webhooks, descriptions and expiries of keys), and removes what is declared absent. It removes nothing else, except
// the inbound webhooks of declared organizations that are not declared. It is idempotent, also if several processes
// call it at once. If the declaration conflicts with stored data, it changes nothing and returns all conflicts.
// config.ParseBootstrap must have accepted the declaration: names, keys and webhooks are declared once, and members are
// declared as users.
//
// It returns the keys it made, even with an error, as their secrets are never shown again. A key that was made for a
// user and a description is never made again, and a revoked key that is declared stays revoked.
func (t *Tenancy) ApplyBootstrap(ctx context.Context, declared identity.Bootstrap) ([]identity.MadeKey, error) {
	if err := t.checkBootstrap(ctx, declared); err != nil {
		return nil, err
	}
	defer t.clearCaches()
	var made []identity.MadeKey
	users := map[string]evidence.User{}
	for _, one := range declared.Users {
		if one.Absent {
			if err := t.RemoveUser(ctx, one.Name, identity.Operator()); err != nil && !errors.Is(err, storage.ErrNotFound) {
				return made, fmt.Errorf("bootstrap user %s: %w", one.Name, err)
			}
			continue
		}
		user, keys, err := t.applyUser(ctx, one)
		made = append(made, keys...)
		if err != nil {
			return made, fmt.Errorf("bootstrap user %s: %w", one.Name, err)
		}
		users[user.Name] = user
	}
	for _, one := range declared.Organizations {
		if err := t.applyOrganization(ctx, one, users); err != nil {
			return made, fmt.Errorf("bootstrap organization %s: %w", one.Name, err)
		}
	}
	return made, nil
}

func (t *Tenancy) applyUser(ctx context.Context, declared identity.DeclaredUser) (evidence.User, []identity.MadeKey, error) {
	user, err := t.putUser(ctx, declared.Name, declared.Email, identity.Operator())
	if err != nil {
		return evidence.User{}, nil, err
	}
	if declared.Beta != nil {
		if err := t.SetBeta(ctx, user.Name, *declared.Beta); err != nil {
			return user, nil, err
		}
	}
	var made []identity.MadeKey
	for _, key := range declared.Keys {
		switch {
		case key.Absent:
			err = t.removeKey(ctx, user, key)
		case key.Secret != "":
			err = t.importKey(ctx, user, key)
		default:
			made, err = t.makeKey(ctx, user, key, made)
		}
		if err != nil {
			return user, made, fmt.Errorf("key %q: %w", key.Description, err)
		}
	}
	return user, made, nil
}

func (t *Tenancy) applyOrganization(ctx context.Context, declared identity.DeclaredOrganization, users map[string]evidence.User) error {
	org, err := t.ensureOrganization(ctx, declared.Name, evidence.SharedOrganization)
	if err != nil {
		return err
	}
	err = t.setSwitches(ctx, org.Name, func(org *evidence.Organization) {
		if declared.Beta != nil {
			org.Beta = *declared.Beta
		}
		org.Public = declared.Public
	})
	if err != nil {
		return err
	}
	if err := t.setHooks(ctx, org, declared.Hooks); err != nil {
		return err
	}
	return t.applyMembers(ctx, declared, users)
}

func (t *Tenancy) applyMembers(ctx context.Context, declared identity.DeclaredOrganization, users map[string]evidence.User) error {
	for _, name := range slices.Sorted(maps.Keys(declared.Members)) {
		user, ok := users[name]
		if !ok {
			return fmt.Errorf("member %s is not a declared user", name)
		}
		err := t.change(ctx, declared.Name, identity.Operator(), func(c *orgChange) error {
			_, err := t.setMember(ctx, c, user, declared.Members[name])
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, name := range declared.AbsentMembers {
		user, err := t.users.Get(ctx, name)
		if err == nil {
			err = t.change(ctx, declared.Name, identity.Operator(), func(c *orgChange) error {
				_, err := t.removeMember(ctx, c, user)
				return err
			})
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	return nil
}

// changeKey changes a key of a user. decide gets the key of a hash, or the zero value, and adds writes. A key of
// another owner is an error.
func (t *Tenancy) changeKey(ctx context.Context, owner evidence.User, hash string, decide func(c *orgChange, stored storage.Versioned[evidence.Key]) error) error {
	err := t.change(ctx, owner.Name, identity.Operator(), func(c *orgChange) error {
		stored, err := t.keys.GetOrZero(ctx, hash)
		if err != nil {
			return err
		}
		if stored.Revision != 0 && stored.Value.OwnerID != owner.ID {
			return errKeyTaken
		}
		return decide(c, stored)
	})
	return maskHash(err, hash)
}

func (t *Tenancy) removeKey(ctx context.Context, owner evidence.User, declared identity.DeclaredKey) error {
	hash := owner.MadeKeys[declared.Description]
	if declared.Secret != "" {
		hash = evidence.HashAPIKey(declared.Secret.Reveal())
	}
	if hash == "" {
		return nil
	}
	return t.changeKey(ctx, owner, hash, func(c *orgChange, stored storage.Versioned[evidence.Key]) error {
		if stored.Revision == 0 || !stored.Value.ActiveAt(t.clock().Unix()) {
			return nil
		}
		return t.revokeIn(ctx, c, stored.Value)
	})
}

// importKey stores a key whose secret is declared.
func (t *Tenancy) importKey(ctx context.Context, owner evidence.User, declared identity.DeclaredKey) error {
	fresh := t.newKey(userKeys(owner), declared.Secret, NewKey{Description: declared.Description, ExpiresAt: declared.ExpiresAt})
	return t.changeKey(ctx, owner, fresh.Hash, func(c *orgChange, stored storage.Versioned[evidence.Key]) error {
		if stored.Revision != 0 {
			t.applyDeclaration(c, stored, declared)
			return nil
		}
		t.keys.InsertIn(&c.batch, &fresh)
		c.invalidate = true // the key may be cached as unknown
		c.record(keyEntry(identity.AuditAdded, &fresh))
		return nil
	})
}

// makeKey makes a key unless one was made for the owner and the description. The key is stored before the user's
// document names it, so that each named key exists.
func (t *Tenancy) makeKey(ctx context.Context, owner evidence.User, declared identity.DeclaredKey, made []identity.MadeKey) ([]identity.MadeKey, error) {
	secret := evidence.NewAPIKey()
	key := t.newKey(userKeys(owner), secret, NewKey{Description: declared.Description, ExpiresAt: declared.ExpiresAt})
	var known string
	tried := false
	err := t.change(ctx, owner.Name, identity.Operator(), func(c *orgChange) error {
		read, err := t.users.GetVersioned(ctx, owner.Name)
		if err != nil {
			return err
		}
		user := read.Value
		if known = user.MadeKeys[key.Description]; known != "" {
			if tried {
				t.keys.DeleteIn(&c.batch, key.Hash) // an attempt may have stored it
			}
			return nil
		}
		tried = true
		user.MadeKeys = maps.Clone(user.MadeKeys)
		if user.MadeKeys == nil {
			user.MadeKeys = map[string]string{}
		}
		user.MadeKeys[key.Description] = key.Hash
		t.keys.PutIn(&c.batch, key)
		t.users.ReplaceIn(&c.batch, &user, read.Revision)
		c.record(keyEntry(identity.AuditAdded, &key))
		return nil
	})
	if err != nil {
		return made, maskHash(err, key.Hash)
	}
	if known != "" {
		return made, t.changeKey(ctx, owner, known, func(c *orgChange, stored storage.Versioned[evidence.Key]) error {
			t.applyDeclaration(c, stored, declared)
			return nil
		})
	}
	return append(made, identity.MadeKey{User: owner.Name, Description: declared.Description, Secret: secret, ExpiresAt: declared.ExpiresAt}), nil
}

func (t *Tenancy) applyDeclaration(c *orgChange, stored storage.Versioned[evidence.Key], declared identity.DeclaredKey) {
	key := stored.Value
	if stored.Revision == 0 || key.Description == declared.Description && key.ExpiresAt == declared.ExpiresAt {
		return
	}
	key.Description, key.ExpiresAt = declared.Description, declared.ExpiresAt
	t.keys.ReplaceIn(&c.batch, &key, stored.Revision)
	c.invalidate = true
	c.record(keyEntry(identity.AuditChanged, &key))
}
