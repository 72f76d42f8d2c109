package tenancy

import (
	"context"
	"errors"
	"fmt"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

var memberSchema = &storage.Schema{
	Name:   "members",
	Fields: []string{"org", "user", "role"},
	Indexes: []storage.Index{
		{Name: "org", Fields: []string{"org", "user"}},
		{Name: "role", Fields: []string{"org", "role"}},
	},
}

func memberID(m *evidence.Membership) string { return membershipID(m.OrgID, m.UserID) }

func membershipID(orgID, userID string) string { return orgID + "/" + userID }

func memberFields(m *evidence.Membership) map[string]any {
	return map[string]any{"org": m.OrgID, "user": m.UserName, "role": m.Role.String()}
}

// Members returns the users who are members of an organization by name.
func (t *Tenancy) Members(ctx context.Context, orgID string) ([]evidence.Membership, error) {
	return storage.FindAll(ctx, t.members, storage.Query{Index: "org", Equal: []any{orgID}, Limit: storage.Unlimited})
}

// Member returns the membership of a user by name, or ErrNotFound.
func (t *Tenancy) Member(ctx context.Context, orgID, userName string) (evidence.Membership, error) {
	user, err := t.users.Get(ctx, userName)
	if err != nil {
		return evidence.Membership{}, err
	}
	return t.members.Get(ctx, membershipID(orgID, user.ID))
}

// SetMember gives a user a role in a shared organization; created tells that the user was not
// a member. A user that does not exist is NotFound; a personal organization, and taking the
// role of the last administrator, are Invalid.
func (t *Tenancy) SetMember(ctx context.Context, orgName, userName string, role evidence.Role, by identity.Actor) (created bool, err error) {
	user, err := t.User(ctx, userName)
	if errors.Is(err, storage.ErrNotFound) {
		return false, evidence.NewError(evidence.NotFound, fmt.Sprintf("User '%s' does not exist", userName))
	}
	if err != nil {
		return false, err
	}
	err = t.change(ctx, orgName, by, func(c *orgChange) error {
		if err := requireShared(c.org, "other members"); err != nil {
			return err
		}
		if role != evidence.Admin {
			if err := t.requireOtherAdmin(ctx, c.org, user); err != nil {
				return err
			}
		}
		created, err = t.setMember(ctx, c, user, role)
		return err
	})
	return created, err
}

// RemoveMember takes the membership of a user in a shared organization away. ErrNotFound means
// that there is none; removing the last administrator is Invalid.
func (t *Tenancy) RemoveMember(ctx context.Context, orgName, userName string, by identity.Actor) error {
	user, err := t.users.Get(ctx, userName)
	if err != nil {
		return err
	}
	return t.change(ctx, orgName, by, func(c *orgChange) error {
		if err := requireShared(c.org, "members removed"); err != nil {
			return err
		}
		if err := t.requireOtherAdmin(ctx, c.org, user); err != nil {
			return err
		}
		return t.removeMember(ctx, c, user)
	})
}

// setMember adds to a change that a user gets a role.
func (t *Tenancy) setMember(ctx context.Context, c *orgChange, user evidence.User, role evidence.Role) (created bool, err error) {
	read, err := storage.GetOrZero(ctx, t.members, membershipID(c.org.ID, user.ID))
	if err != nil {
		return false, err
	}
	member, created := read.Value, read.Revision == 0
	if created {
		member = evidence.Membership{OrgID: c.org.ID, UserID: user.ID, CreatedAt: evidence.Seconds(t.clock())}
	}
	if member.Role == role && member.UserName == user.Name {
		return false, nil
	}
	old := member.Role
	member.UserName, member.Role = user.Name, role
	t.members.StoreIn(&c.batch, &member, read.Revision)
	switch {
	case created:
		c.record(memberEntry(identity.AuditAdded, user, old, role))
	case old != role:
		c.takesAway = true
		c.record(memberEntry(identity.AuditChanged, user, old, role))
	}
	return created, nil
}

// removeMember adds to a change that a user is no member any more. ErrNotFound means that the
// user is none.
func (t *Tenancy) removeMember(ctx context.Context, c *orgChange, user evidence.User) error {
	id := membershipID(c.org.ID, user.ID)
	member, err := t.members.Get(ctx, id)
	if err != nil {
		return err
	}
	t.members.DeleteIn(&c.batch, id)
	c.takesAway = true
	c.record(memberEntry(identity.AuditRemoved, user, member.Role, evidence.NoRole))
	return nil
}

// requireOtherAdmin refuses to take the role of the only user who administers an organization.
func (t *Tenancy) requireOtherAdmin(ctx context.Context, org evidence.Organization, user evidence.User) error {
	admins, err := storage.FindAll(ctx, t.members, storage.Query{Index: "role", Equal: []any{org.ID, evidence.Admin.String()}, Limit: 2})
	if err != nil || len(admins) != 1 || admins[0].UserID != user.ID {
		return err
	}
	return evidence.NewError(evidence.Invalid, fmt.Sprintf("User '%s' is the last admin of organization '%s'", user.Name, org.Name))
}

func memberEntry(event identity.AuditEvent, user evidence.User, old, role evidence.Role) identity.AuditEntry {
	return identity.AuditEntry{Event: event, Subject: identity.AuditUser, Name: user.Name, OldRole: old, NewRole: role}
}
