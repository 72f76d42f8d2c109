package tenancy

import (
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

var memberSchema = storage.NewSchema("members",
	storage.Index{Name: "org", Fields: []string{"org", "user"}},
	storage.Index{Name: "role", Fields: []string{"org", "role"}},
)

func memberID(m *evidence.Membership) string { return idIn(m.OrgID, m.UserID) }

// idIn is the id of a document whose name or id is unique in an organization.
func idIn(orgID, name string) string { return orgID + "/" + name }

// memberFields returns none for a membership that has ended, so that no list contains it.
func memberFields(m *evidence.Membership) map[string]any {
	if m.Role == evidence.NoRole {
		return nil
	}
	return map[string]any{"org": m.OrgID, "user": m.UserName, "role": m.Role.String()}
}

// Members returns the users who are members of an organization, by name.
func (t *Tenancy) Members(ctx context.Context, orgID string) ([]evidence.Membership, error) {
	return storage.FindAll(ctx, t.members, storage.Query{Index: "org", Equal: []any{orgID}, Limit: storage.Unlimited})
}

// Member returns the membership of a user by name, or ErrNotFound.
func (t *Tenancy) Member(ctx context.Context, orgID, userName string) (evidence.Membership, error) {
	user, err := t.users.Get(ctx, userName)
	if err != nil {
		return evidence.Membership{}, err
	}
	member, err := t.members.Get(ctx, idIn(orgID, user.ID))
	if err == nil && member.Role == evidence.NoRole {
		err = storage.ErrNotFound
	}
	return member, err
}

// OrganizationsOf returns the names of the shared organizations of a user, and as the last one the user's own. It takes
// a command for each MaxMany organizations, and one for the memberships in them.
func (t *Tenancy) OrganizationsOf(ctx context.Context, principal evidence.Principal) ([]string, error) {
	names, ids := map[string]string{}, []string{}
	err := t.EachOrganization(ctx, func(org *evidence.Organization) error {
		if org.Kind == evidence.SharedOrganization {
			names[org.ID] = org.Name
			ids = append(ids, idIn(org.ID, principal.UserID))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	memberships, err := t.members.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, one := range memberships {
		if one.Role != evidence.NoRole {
			found = append(found, names[one.OrgID])
		}
	}
	slices.Sort(found)
	return append(found, principal.Name), nil
}

// MemberChange is the result of a change of a member.
type MemberChange struct {
	// Created means that the user was not a member before.
	Created bool
	// Left are the service accounts that the user created and can no longer manage, by name.
	Left []identity.ServiceAccount
}

// SetMember gives a user a role in a shared organization. A missing user is NotFound; a personal organization, and
// taking the role of the last administrator, are Invalid.
func (t *Tenancy) SetMember(ctx context.Context, orgName, userName string, role evidence.Role, by identity.Actor) (change MemberChange, err error) {
	err = t.change(ctx, orgName, by, func(c *orgChange) error {
		user, err := t.User(ctx, userName)
		if errors.Is(err, storage.ErrNotFound) {
			return evidence.Errorf(evidence.NotFound, "User '%s' does not exist", userName)
		}
		if err != nil {
			return err
		}
		if err := requireShared(c.org, "other members"); err != nil {
			return err
		}
		if role != evidence.Admin {
			if err := t.requireOtherAdmin(ctx, c.org, user); err != nil {
				return err
			}
		}
		change, err = t.setMember(ctx, c, user, role)
		return err
	})
	return change, err
}

// RemoveMember ends a membership in a shared organization. ErrNotFound means that the user is no member; for a former
// member, change has the accounts that the user left. Removing the last admin is Invalid.
func (t *Tenancy) RemoveMember(ctx context.Context, orgName, userName string, by identity.Actor) (change MemberChange, err error) {
	user, err := t.users.Get(ctx, userName)
	if err != nil {
		return change, err
	}
	err = t.change(ctx, orgName, by, func(c *orgChange) error {
		if err := requireShared(c.org, "members removed"); err != nil {
			return err
		}
		if err := t.requireOtherAdmin(ctx, c.org, user); err != nil {
			return err
		}
		change.Left, err = t.removeMember(ctx, c, user)
		return err
	})
	return change, err
}

func (t *Tenancy) setMember(ctx context.Context, c *orgChange, user evidence.User, role evidence.Role) (change MemberChange, err error) {
	read, err := t.members.GetOrZero(ctx, idIn(c.org.ID, user.ID))
	if err != nil {
		return change, err
	}
	if change.Left, err = t.leftAccounts(ctx, c.org, user, role); err != nil {
		return change, err
	}
	member := read.Value
	change.Created = member.Role == evidence.NoRole
	if change.Created {
		member = evidence.Membership{OrgID: c.org.ID, UserID: user.ID, CreatedAt: evidence.Seconds(t.clock())}
	}
	if member.Role == role && member.UserName == user.Name {
		return change, nil
	}
	old := member.Role
	member.UserName, member.Role = user.Name, role
	t.members.StoreIn(&c.batch, &member, read.Revision)
	c.invalidate = true
	switch {
	case change.Created:
		c.record(memberEntry(identity.AuditAdded, user, old, role, change.Left...))
	case old != role:
		c.record(memberEntry(identity.AuditChanged, user, old, role, change.Left...))
	}
	c.setAdmin(user, role)
	return change, nil
}

// removeMember adds the end of a membership to a change, and returns the service accounts that the user has left.
// ErrNotFound means that the user is no member; for a former member it comes with the accounts. The document stays, so
// that the change is refused if another comes first.
func (t *Tenancy) removeMember(ctx context.Context, c *orgChange, user evidence.User) ([]identity.ServiceAccount, error) {
	read, err := t.members.GetVersioned(ctx, idIn(c.org.ID, user.ID))
	if err != nil {
		return nil, err
	}
	ended := read.Value
	left, err := t.leftAccounts(ctx, c.org, user, evidence.NoRole)
	if err != nil {
		return nil, err
	}
	if ended.Role == evidence.NoRole {
		return left, storage.ErrNotFound
	}
	c.record(memberEntry(identity.AuditRemoved, user, ended.Role, evidence.NoRole, left...))
	c.invalidate = true
	ended.UserName, ended.Role = user.Name, evidence.NoRole
	t.members.ReplaceIn(&c.batch, &ended, read.Revision)
	c.setAdmin(user, evidence.NoRole)
	return left, nil
}

// setAdmin adds a user to the organization's admins, or removes the user from them, by the user's new role.
func (c *orgChange) setAdmin(user evidence.User, role evidence.Role) {
	admins := slices.DeleteFunc(slices.Clone(c.org.Admins), func(id string) bool { return id == user.ID })
	if role == evidence.Admin {
		admins = append(admins, user.ID)
	}
	c.org.Admins = admins
}

// requireOtherAdmin refuses to take the role from the only administrator. Another one counts only if the documents of
// both the organization and the membership say so: the latter may not have been written.
func (t *Tenancy) requireOtherAdmin(ctx context.Context, org evidence.Organization, user evidence.User) error {
	ids := []string{idIn(org.ID, user.ID)}
	for _, id := range org.Admins {
		if id != user.ID {
			ids = append(ids, idIn(org.ID, id))
		}
	}
	members, err := t.members.GetMany(ctx, ids)
	if err != nil {
		return err
	}
	isAdmin := slices.Contains(org.Admins, user.ID)
	for _, member := range members {
		switch {
		case member.Role != evidence.Admin:
		case member.UserID != user.ID:
			return nil
		default:
			isAdmin = true
		}
	}
	if !isAdmin {
		return nil
	}
	return evidence.Errorf(evidence.Invalid, "User '%s' is the last admin of organization '%s'", user.Name, org.Name)
}

func memberEntry(event identity.AuditEvent, user evidence.User, old, role evidence.Role, left ...identity.ServiceAccount) identity.AuditEntry {
	entry := roleEntry(event, identity.AuditUser, user.Name, old, role)
	for _, account := range left {
		entry.LeftAccounts = append(entry.LeftAccounts, account.Name)
	}
	return entry
}
