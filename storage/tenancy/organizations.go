package tenancy

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

var organizationSchema = storage.NewSchema("organizations", storage.Index{Name: "created", Fields: []string{"created"}})

// EachOrganization calls yield for all organizations, until it returns an error.
func (t *Tenancy) EachOrganization(ctx context.Context, yield func(*evidence.Organization) error) error {
	return storage.ForEach(ctx, t.organizations, storage.Query{Index: "created", Limit: storage.MaxMany}, yield)
}

// Organization returns an organization by its name, or ErrNotFound.
func (t *Tenancy) Organization(ctx context.Context, name string) (evidence.Organization, error) {
	return t.organizations.Get(ctx, name)
}

// OrganizationOf returns the organization of an id, or ErrNotFound. It reads all of them.
func (t *Tenancy) OrganizationOf(ctx context.Context, id string) (found evidence.Organization, err error) {
	err = t.EachOrganization(ctx, func(org *evidence.Organization) error {
		if org.ID == id {
			found = *org
		}
		return nil
	})
	if err == nil && found.ID == "" {
		err = storage.ErrNotFound
	}
	return found, err
}

// CreateOrganization creates a shared organization with an admin. A name taken in any letter case is Invalid.
func (t *Tenancy) CreateOrganization(ctx context.Context, name string, admin evidence.User, by identity.Actor) (evidence.Organization, error) {
	taken := organizationExists(name)
	if _, err := t.Organization(ctx, name); !errors.Is(err, storage.ErrNotFound) {
		return evidence.Organization{}, cmp.Or(err, taken)
	}
	if err := t.claimName(ctx, name); err != nil {
		return evidence.Organization{}, err
	}
	now := evidence.Seconds(t.clock())
	org := evidence.Organization{
		ID: evidence.NewID(), Name: name, Kind: evidence.SharedOrganization, Admins: []string{admin.ID}, Beta: t.BetaByDefault,
		CreatedAt: now, LastModifiedAt: now, AuditedAt: now,
	}
	entry := memberEntry(identity.AuditAdded, admin, evidence.NoRole, evidence.Admin)
	entry.ID, entry.OrgID, entry.Time, entry.ChangedBy, entry.Source = evidence.NewID(), org.ID, now, by.Name, by.Source
	var batch storage.Batch
	// The organization is written last, so that it has its administrator as soon as it exists. If its name is taken
	// meanwhile, the other documents are never found, as no organization has the id that they name.
	t.auditLog.PutIn(&batch, entry)
	t.members.InsertIn(&batch, &evidence.Membership{
		OrgID: org.ID, UserID: admin.ID, UserName: admin.Name, Role: evidence.Admin, CreatedAt: now,
	})
	t.organizations.InsertIn(&batch, &org)
	err := batch.Write(ctx, t.docs)
	if errors.Is(err, storage.ErrExists) {
		err = taken
	}
	return org, err
}

// ensureOrganization returns the organization of a name, made if there is none. Another kind is an error: a personal
// organization must not become shared, nor a shared one personal. A new name that differs by case alone is Invalid.
func (t *Tenancy) ensureOrganization(ctx context.Context, name string, kind evidence.OrganizationKind) (evidence.Organization, error) {
	org, err := t.Organization(ctx, name)
	if err == nil || !errors.Is(err, storage.ErrNotFound) {
		return org, cmp.Or(err, otherKind(org, kind))
	}
	if err := t.claimName(ctx, name); err != nil {
		return org, err
	}
	now := evidence.Seconds(t.clock())
	org, err = storage.Ensure(ctx, t.organizations, evidence.Organization{
		ID: evidence.NewID(), Name: name, Kind: kind, Beta: t.BetaByDefault, CreatedAt: now, LastModifiedAt: now,
	})
	if err != nil {
		return org, err
	}
	return org, otherKind(org, kind)
}

// SetBeta switches the experimental features of an organization, by its name, or returns ErrNotFound.
func (t *Tenancy) SetBeta(ctx context.Context, name string, enabled bool) error {
	return t.setSwitches(ctx, name, func(org *evidence.Organization) { org.Beta = enabled })
}

func (t *Tenancy) setSwitches(ctx context.Context, name string, set func(*evidence.Organization)) error {
	now := evidence.Seconds(t.clock())
	changed := false
	_, err := t.organizations.Update(ctx, name, func(org *evidence.Organization) error {
		beta, public := org.Beta, org.Public
		set(org)
		if changed = org.Beta != beta || org.Public != public; changed {
			org.LastModifiedAt = now
		}
		return nil
	})
	if err != nil || !changed {
		return err
	}
	defer t.clearCaches()
	return t.version.collection.Put(ctx, newVersion())
}

var organizationNameSchema = &storage.Schema{Name: "organization_names"}

// organizationName is a name in lower case, and the one name with those letters that an organization can have. It is
// stored before the organization and never deleted.
type organizationName struct {
	Lower string `json:"lower"`
	Name  string `json:"name"`
}

// claimName reserves a name for a new organization. It is Invalid if the name of another one differs by case alone.
func (t *Tenancy) claimName(ctx context.Context, name string) error {
	// Of concurrent creations, the first that is stored has the name.
	stored, err := storage.Ensure(ctx, t.organizationNames, organizationName{Lower: strings.ToLower(name), Name: name})
	if err == nil && stored.Name != name {
		return organizationExists(stored.Name)
	}
	return err
}

func organizationExists(name string) error {
	return evidence.Errorf(evidence.Invalid, "Organization named '%s' already exists", name)
}
