package tenancy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"attestry/evidence"
	"attestry/storage"
)

// ApplyBootstrap makes what is declared and not yet there, and sets what is there
// to what is declared: e-mails, roles, switches, inbound webhooks, descriptions and expiries
// of keys. What is no longer declared stays, except for the webhooks of an organization. It can be repeated, and several processes
// may do it at once. A declaration with a fault changes nothing; all faults are told
// at once.
//
// It returns the keys it made, also along with an error: nothing can tell their
// secrets again. A key that was made for a user and a description is not made
// anew, whatever became of it.
func (t *Tenancy) ApplyBootstrap(ctx context.Context, declared evidence.Bootstrap) ([]evidence.MadeKey, error) {
	if err := t.checkBootstrap(ctx, declared); err != nil {
		return nil, err
	}
	defer t.accesses.Clear()
	defer t.knownKeys.Clear()
	var made []evidence.MadeKey
	users := map[string]evidence.User{}
	for _, one := range declared.Users {
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

func (t *Tenancy) applyUser(ctx context.Context, declared evidence.DeclaredUser) (evidence.User, []evidence.MadeKey, error) {
	// The organization goes first, so that a user whose name is taken is not made.
	org, err := t.ensureOrganization(ctx, declared.Name, evidence.PersonalOrganization)
	if err != nil {
		return evidence.User{}, nil, err
	}
	user, err := t.ensureUser(ctx, declared.Name, declared.Email)
	if err != nil {
		return evidence.User{}, nil, err
	}
	if err := t.setMember(ctx, org.ID, user.ID, evidence.Admin); err != nil {
		return evidence.User{}, nil, err
	}
	var made []evidence.MadeKey
	for _, key := range declared.Keys {
		if key.Secret != "" {
			err = t.bringKey(ctx, user, key)
		} else {
			made, err = t.makeKey(ctx, user, key, made)
		}
		if err != nil {
			return user, made, fmt.Errorf("key %q: %w", key.Description, err)
		}
	}
	return user, made, nil
}

func (t *Tenancy) applyOrganization(ctx context.Context, declared evidence.DeclaredOrganization, users map[string]evidence.User) error {
	org, err := t.ensureOrganization(ctx, declared.Name, evidence.SharedOrganization)
	if err != nil {
		return err
	}
	if err := t.setSwitches(ctx, org, declared); err != nil {
		return err
	}
	if err := t.setHooks(ctx, org, declared.Hooks); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(declared.Members)) {
		user, ok := users[name]
		if !ok {
			return undeclaredMember(name)
		}
		if err := t.setMember(ctx, org.ID, user.ID, declared.Members[name]); err != nil {
			return err
		}
	}
	return nil
}

// bringKey stores a key whose secret is declared.
func (t *Tenancy) bringKey(ctx context.Context, owner evidence.User, declared evidence.DeclaredKey) error {
	fresh := t.newKey(owner, declared.Secret, declared)
	stored, err := storage.Ensure(ctx, t.keys, fresh.Hash, fresh)
	if err != nil {
		return maskHash(err, fresh.Hash)
	}
	if stored.OwnerID != owner.ID {
		return errKeyTaken
	}
	return t.followDeclaration(ctx, stored, declared)
}

// makeKey makes a key unless one was made for the owner and the description. The
// key is stored before it is claimed, so that whatever was claimed works; of
// several processes that get here, the one whose claim stands tells its key, and
// the others take theirs away.
func (t *Tenancy) makeKey(ctx context.Context, owner evidence.User, declared evidence.DeclaredKey, made []evidence.MadeKey) ([]evidence.MadeKey, error) {
	if hash, claimed := owner.MadeKeys[declared.Description]; claimed {
		return made, t.followClaimed(ctx, hash, declared)
	}
	secret := evidence.NewAPIKey()
	key := t.newKey(owner, secret, declared)
	if err := t.keys.Insert(ctx, key); err != nil {
		return made, maskHash(err, key.Hash)
	}
	claimed, err := t.claimKey(ctx, owner.Name, key)
	if err != nil {
		return made, err
	}
	if !claimed {
		return made, maskHash(t.keys.Delete(ctx, key.Hash), key.Hash)
	}
	return append(made, evidence.MadeKey{
		User:        owner.Name,
		Description: declared.Description,
		Secret:      secret,
		ExpiresAt:   declared.ExpiresAt,
	}), nil
}

// claimKey notes with the user that a key was made for its description, and
// reports whether that key is the noted one.
func (t *Tenancy) claimKey(ctx context.Context, userName string, key evidence.Key) (bool, error) {
	user, err := t.users.Update(ctx, userName, func(user *evidence.User) error {
		if _, taken := user.MadeKeys[key.Description]; taken {
			return nil
		}
		if user.MadeKeys == nil {
			user.MadeKeys = map[string]string{}
		}
		user.MadeKeys[key.Description] = key.Hash
		return nil
	})
	return user.MadeKeys[key.Description] == key.Hash, err
}

func (t *Tenancy) followClaimed(ctx context.Context, hash string, declared evidence.DeclaredKey) error {
	stored, err := t.keys.Get(ctx, hash)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return maskHash(err, hash)
	}
	return t.followDeclaration(ctx, stored, declared)
}

// followDeclaration sets what a declaration says of a key that is there.
func (t *Tenancy) followDeclaration(ctx context.Context, stored evidence.Key, declared evidence.DeclaredKey) error {
	if stored.Description == declared.Description && stored.ExpiresAt == declared.ExpiresAt {
		return nil
	}
	_, err := t.keys.Update(ctx, stored.Hash, func(key *evidence.Key) error {
		key.Description = declared.Description
		key.ExpiresAt = declared.ExpiresAt
		return nil
	})
	return maskHash(err, stored.Hash)
}
