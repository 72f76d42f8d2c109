package tenancy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"attestry/evidence"
	"attestry/storage"
)

var organizationNameSchema = &storage.Schema{Name: "organization_names"}

// organizationName is a name in lower case, and the one name with those letters that an organization can have. It is
// stored before the organization and never deleted. Organizations of earlier versions get one when another asks for
// their name.
type organizationName struct {
	Lower string `json:"lower"`
	Name  string `json:"name"`
}

// claimName reserves a name for a new organization. It is Invalid if the name of another one differs by case alone.
func (t *Tenancy) claimName(ctx context.Context, name string) error {
	holder, err := t.nameHolder(ctx, name)
	if err != nil {
		return err
	}
	holder = cmp.Or(holder, name)
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

// nameHolder returns the name of the organization that differs from a name by case at most, "" if there is none.
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
