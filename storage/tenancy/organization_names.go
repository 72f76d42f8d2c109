package tenancy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"attestry/evidence"
	"attestry/storage"
)

var organizationNameSchema = &storage.Schema{Name: "organization_names"}

// organizationName is a name in lower case, and the one name of that kind that an organization can have.
// It is stored before the organization and never deleted. An organization that an earlier version has
// created has none until another one asks for its name.
type organizationName struct {
	Lower string `json:"lower"`
	Name  string `json:"name"`
}

func organizationNameID(n *organizationName) string { return n.Lower }

// claimName reserves a name for an organization that is about to be created. It is Invalid if an
// organization exists whose name differs by case alone.
func (t *Tenancy) claimName(ctx context.Context, name string) error {
	holder, err := t.nameHolder(ctx, name)
	if err != nil {
		return err
	}
	if holder == "" {
		holder = name
	}
	lower := strings.ToLower(name)
	// Of several that are created at once, the first that is stored has the name.
	stored, err := storage.Ensure(ctx, t.organizationNames, lower, organizationName{Lower: lower, Name: holder})
	if err != nil {
		return err
	}
	if stored.Name != name {
		return organizationExists(stored.Name)
	}
	return nil
}

// nameHolder returns the name that an organization has which differs from another one by case at most, ""
// if there is none.
func (t *Tenancy) nameHolder(ctx context.Context, name string) (string, error) {
	lower := strings.ToLower(name)
	stored, err := t.organizationNames.Get(ctx, lower)
	if err == nil || !errors.Is(err, storage.ErrNotFound) {
		return stored.Name, err
	}
	holder := ""
	err = t.EachOrganization(ctx, func(org *evidence.Organization) error {
		if strings.ToLower(org.Name) == lower {
			holder = org.Name
		}
		return nil
	})
	return holder, err
}

func organizationExists(name string) error {
	return evidence.NewError(evidence.Invalid, fmt.Sprintf("Organization named '%s' already exists", name))
}
