package tenancy

import (
	"context"
	"errors"

	"attestry/evidence"
	"attestry/storage"
)

// Access returns what a principal may do in an organization. A change by another process takes effect as in
// Authenticate. A missing organization and one that the principal cannot see are both Forbidden.
func (t *Tenancy) Access(ctx context.Context, principal evidence.Principal, orgName string) (evidence.OrgAccess, error) {
	now, err := t.checkVersion(ctx)
	if err != nil {
		return evidence.OrgAccess{}, err
	}
	return t.accesses.Load(principal.UserID+"/"+orgName, now, func() (evidence.OrgAccess, error) {
		return t.lookUpAccess(ctx, principal, orgName)
	})
}

func (t *Tenancy) lookUpAccess(ctx context.Context, principal evidence.Principal, orgName string) (evidence.OrgAccess, error) {
	if evidence.CheckOrganizationName(orgName) != nil {
		return evidence.OrgAccess{}, accessDenied()
	}
	org, err := t.organizations.Get(ctx, orgName)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return evidence.OrgAccess{}, err
	}
	// The role is looked up even if there is no organization, so that the time of the answer does not reveal that.
	role, visitor, err := t.role(ctx, org, principal)
	if err != nil {
		return evidence.OrgAccess{}, err
	}
	return evidence.OrgAccess{OrgID: org.ID, OrgName: org.Name, Role: role, Visitor: visitor, Beta: org.Beta}, nil
}

// role is the role of a principal; visitor means that anybody has it.
func (t *Tenancy) role(ctx context.Context, org evidence.Organization, principal evidence.Principal) (role evidence.Role, visitor bool, err error) {
	if principal.ServiceAccount {
		role, err = t.accountRole(ctx, org.ID, principal)
	} else {
		role, err = t.memberRole(ctx, org.ID, principal)
	}
	switch {
	case err != nil || role != evidence.NoRole:
		return role, false, err
	case org.Public:
		return evidence.Reader, true, nil
	}
	return evidence.NoRole, false, accessDenied()
}

// memberRole is the role of a user, NoRole without membership.
func (t *Tenancy) memberRole(ctx context.Context, orgID string, principal evidence.Principal) (evidence.Role, error) {
	member, err := t.members.Get(ctx, idIn(orgID, principal.UserID))
	if err != nil {
		return evidence.NoRole, storage.IgnoreMissing(err)
	}
	return member.Role, nil
}

// accountRole is the privilege of a service account, NoRole in other organizations.
func (t *Tenancy) accountRole(ctx context.Context, orgID string, principal evidence.Principal) (evidence.Role, error) {
	account, err := t.ServiceAccount(ctx, orgID, principal.Name)
	if errors.Is(err, storage.ErrNotFound) || err == nil && account.ID != principal.UserID {
		return evidence.NoRole, nil
	}
	return account.Privilege, err
}

// FederatedAccess returns what a privilege from an identity provider allows. It may be tenancyCacheAge old.
func (t *Tenancy) FederatedAccess(ctx context.Context, orgName string, privilege evidence.Role) (evidence.OrgAccess, error) {
	access, err := t.accesses.Load(orgName, t.clock(), func() (evidence.OrgAccess, error) {
		org, err := t.organizations.Get(ctx, orgName)
		return evidence.OrgAccess{OrgID: org.ID, OrgName: org.Name, Beta: org.Beta}, err
	})
	access.Role = privilege
	return access, err
}

func accessDenied() error { return evidence.NewError(evidence.Forbidden, "Access denied") }
