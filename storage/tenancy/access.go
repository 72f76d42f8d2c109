package tenancy

import (
	"context"
	"errors"

	"attestry/evidence"
	"attestry/storage"
)

// Access returns what a principal may do in an organization. An organization that
// does not exist and one that the principal cannot see are both Forbidden. What
// it answers may be tenancyCacheAge old.
func (t *Tenancy) Access(ctx context.Context, principal evidence.Principal, orgName string) (evidence.OrgAccess, error) {
	now := t.clock()
	id := principal.UserID + "/" + orgName
	access, version, ok := t.accesses.Get(id, now)
	if ok {
		return access, nil
	}
	access, err := t.lookUpAccess(ctx, principal, orgName)
	if err != nil {
		return evidence.OrgAccess{}, err
	}
	t.accesses.Put(id, access, now, version)
	return access, nil
}

func (t *Tenancy) lookUpAccess(ctx context.Context, principal evidence.Principal, orgName string) (evidence.OrgAccess, error) {
	if evidence.CheckOrganizationName(orgName) != nil {
		return evidence.OrgAccess{}, accessDenied()
	}
	org, err := t.organizations.Get(ctx, orgName)
	if errors.Is(err, storage.ErrNotFound) {
		return evidence.OrgAccess{}, accessDenied()
	}
	if err != nil {
		return evidence.OrgAccess{}, err
	}
	role, err := t.role(ctx, org, principal.UserID)
	if err != nil {
		return evidence.OrgAccess{}, err
	}
	return evidence.OrgAccess{OrgID: org.ID, OrgName: org.Name, Role: role, Beta: org.Beta}, nil
}

func (t *Tenancy) role(ctx context.Context, org evidence.Organization, userID string) (evidence.Role, error) {
	member, err := t.members.Get(ctx, membershipID(org.ID, userID))
	switch {
	case err == nil:
		return member.Role, nil
	case !errors.Is(err, storage.ErrNotFound):
		return evidence.NoRole, err
	case org.Public:
		return evidence.Reader, nil
	}
	return evidence.NoRole, accessDenied()
}

func accessDenied() error {
	return evidence.NewError(evidence.Forbidden, "Access denied")
}
