package tenancy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

var (
	errKeyTaken  = errors.New("the same key belongs to somebody else already")
	errHookTaken = errors.New("the uid of a webhook belongs to another organization already")
)

// bootstrapCheck collects the conflicts of a declaration with stored data. It only reads, so that a fault changes
// nothing. config.ParseBootstrap checks that names, keys and webhooks are declared once.
type bootstrapCheck struct {
	tenancy *Tenancy
	subject string            // the user or the organization that is checked
	lower   map[string]string // names of organizations to be created, by the name in lower case
	faults  []error
}

// checkBootstrap returns all faults of a declaration, or the error of the database.
func (t *Tenancy) checkBootstrap(ctx context.Context, declared identity.Bootstrap) error {
	check := &bootstrapCheck{tenancy: t, lower: map[string]string{}}
	for _, user := range declared.Users {
		if err := check.user(ctx, user); err != nil {
			return err
		}
	}
	for _, org := range declared.Organizations {
		if err := check.organization(ctx, org); err != nil {
			return err
		}
	}
	return errors.Join(check.faults...)
}

// addFault adds a fault, if any, and returns the error of the database.
func (c *bootstrapCheck) addFault(fault, err error) error {
	if err == nil && fault != nil {
		c.faults = append(c.faults, fmt.Errorf("bootstrap %s: %w", c.subject, fault))
	}
	return err
}

func (c *bootstrapCheck) user(ctx context.Context, declared identity.DeclaredUser) error {
	c.subject = "user " + declared.Name
	if err := c.addFault(c.name(ctx, declared.Name, evidence.PersonalOrganization, !declared.Absent)); err != nil {
		return err
	}
	for _, key := range declared.Keys {
		fault, err := c.key(ctx, declared.Name, key.Secret)
		if fault != nil {
			fault = fmt.Errorf("key %q: %w", key.Description, fault)
		}
		if err := c.addFault(fault, err); err != nil {
			return err
		}
	}
	return nil
}

func (c *bootstrapCheck) organization(ctx context.Context, declared identity.DeclaredOrganization) error {
	c.subject = "organization " + declared.Name
	if err := c.addFault(c.name(ctx, declared.Name, evidence.SharedOrganization, true)); err != nil {
		return err
	}
	for _, hook := range declared.Hooks {
		if err := c.addFault(c.hook(ctx, declared.Name, hook.UID)); err != nil {
			return err
		}
	}
	return nil
}

// name returns why an organization of a kind cannot have a name, or nil. With create, a missing one will be made.
func (c *bootstrapCheck) name(ctx context.Context, name string, kind evidence.OrganizationKind, create bool) (fault, err error) {
	org, err := c.tenancy.organizations.Get(ctx, name)
	switch {
	case errors.Is(err, storage.ErrNotFound) && create:
		return c.newName(ctx, name)
	case err != nil:
		return nil, storage.IgnoreMissing(err)
	}
	return otherKind(org, kind), nil
}

// newName returns why an organization cannot be created with a name, or nil.
func (c *bootstrapCheck) newName(ctx context.Context, name string) (fault, err error) {
	lower := strings.ToLower(name)
	stored, err := c.tenancy.organizationNames.Get(ctx, lower)
	if storage.IgnoreMissing(err) != nil {
		return nil, err
	}
	if holder := cmp.Or(stored.Name, c.lower[lower], name); holder != name {
		return fmt.Errorf("the name differs from %s, which is taken, by case alone", holder), nil
	}
	c.lower[lower] = name
	return nil, nil
}

// key returns why a user cannot have a declared key, or nil.
func (c *bootstrapCheck) key(ctx context.Context, user string, secret evidence.Secret) (fault, err error) {
	if secret == "" {
		return nil, nil
	}
	hash := evidence.HashAPIKey(secret.Reveal())
	stored, err := c.tenancy.keys.Get(ctx, hash)
	if err != nil {
		return nil, maskHash(storage.IgnoreMissing(err), hash)
	}
	owner, err := c.tenancy.users.Get(ctx, user)
	if err = storage.IgnoreMissing(err); err != nil {
		return nil, err
	}
	if stored.OwnerID != owner.ID {
		return errKeyTaken, nil
	}
	return nil, nil
}

// otherKind returns an error when an organization is not of a kind.
func otherKind(org evidence.Organization, kind evidence.OrganizationKind) error {
	if org.Kind == kind {
		return nil
	}
	return fmt.Errorf("there is a %s organization of that name already", org.Kind)
}
