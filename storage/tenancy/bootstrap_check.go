package tenancy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

var (
	errDeclaredTwice = errors.New("the name is declared twice; a user's organization has the user's name")
	errKeyTwice      = errors.New("the key is given twice")
	errKeyTaken      = errors.New("the same key belongs to somebody else already")
	errHookTwice     = errors.New("the uid of a webhook is given twice")
	errHookTaken     = errors.New("the uid of a webhook belongs to another organization already")
)

// bootstrapCheck collects all faults of a declaration. It only reads, so that a fault changes nothing.
type bootstrapCheck struct {
	tenancy *Tenancy
	subject string // the user or the organization that is checked
	names   map[string]bool
	lower   map[string]string // names of organizations to be created, by their lower case
	secrets map[evidence.Secret]bool
	hooks   map[string]bool // by the hash of the uid
	faults  []error
}

// checkBootstrap returns all faults of a declaration, or the error of the database.
func (t *Tenancy) checkBootstrap(ctx context.Context, declared identity.Bootstrap) error {
	check := &bootstrapCheck{tenancy: t, names: map[string]bool{}, lower: map[string]string{}, secrets: map[evidence.Secret]bool{}, hooks: map[string]bool{}}
	users := map[string]bool{}
	for _, user := range declared.Users {
		users[user.Name] = !user.Absent
		if err := check.user(ctx, user); err != nil {
			return err
		}
	}
	for _, org := range declared.Organizations {
		if err := check.organization(ctx, org, users); err != nil {
			return err
		}
	}
	return errors.Join(check.faults...)
}

// note keeps a fault, if any, and returns the error of the database.
func (c *bootstrapCheck) note(fault, err error) error {
	if err == nil && fault != nil {
		c.faults = append(c.faults, fmt.Errorf("bootstrap %s: %w", c.subject, fault))
	}
	return err
}

func (c *bootstrapCheck) user(ctx context.Context, declared identity.DeclaredUser) error {
	c.subject = "user " + declared.Name
	if err := c.note(c.name(ctx, declared.Name, evidence.PersonalOrganization, !declared.Absent)); err != nil {
		return err
	}
	for _, key := range declared.Keys {
		fault, err := c.key(ctx, declared.Name, key.Secret)
		if fault != nil {
			fault = fmt.Errorf("key %q: %w", key.Description, fault)
		}
		if err := c.note(fault, err); err != nil {
			return err
		}
	}
	return nil
}

func (c *bootstrapCheck) organization(ctx context.Context, declared identity.DeclaredOrganization, users map[string]bool) error {
	c.subject = "organization " + declared.Name
	if err := c.note(c.name(ctx, declared.Name, evidence.SharedOrganization, true)); err != nil {
		return err
	}
	for _, member := range slices.Sorted(maps.Keys(declared.Members)) {
		if !users[member] {
			_ = c.note(undeclaredMember(member), nil)
		}
	}
	for _, hook := range declared.Hooks {
		if err := c.note(c.hook(ctx, declared.Name, hook.UID)); err != nil {
			return err
		}
	}
	return nil
}

// name returns why an organization of a kind cannot have a name, or nil. It is created if it does not exist.
func (c *bootstrapCheck) name(ctx context.Context, name string, kind evidence.OrganizationKind, create bool) (fault, err error) {
	if c.names[name] {
		return errDeclaredTwice, nil
	}
	c.names[name] = true
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
	holder, err := c.tenancy.nameHolder(ctx, name)
	if err != nil {
		return nil, err
	}
	lower := strings.ToLower(name)
	if holder = cmp.Or(holder, c.lower[lower], name); holder != name {
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
	if c.secrets[secret] {
		return errKeyTwice, nil
	}
	c.secrets[secret] = true
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

func undeclaredMember(name string) error { return fmt.Errorf("member %s is not a declared user", name) }
