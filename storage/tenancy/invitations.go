package tenancy

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

// maxInvitations bounds the open invitations of an organization.
const maxInvitations = 100

var errNoInvitation = evidence.NewError(evidence.NotFound, "The invitation was accepted or withdrawn, has expired, or never was.")

var invitationSchema = storage.NewSchema("invitations",
	storage.Index{Name: "org", Fields: []string{"org", "expires"}, Required: "org"})

// invitationFields returns none for an invitation that has ended, so that no list contains it.
func invitationFields(i *identity.Invitation) map[string]any {
	if i.EndedAt != 0 {
		return nil
	}
	return map[string]any{"org": i.OrgID, "expires": i.ExpiresAt}
}

// Invitations returns the open invitations of an organization, the first to expire first.
func (t *Tenancy) Invitations(ctx context.Context, orgID string) ([]identity.Invitation, error) {
	now := &storage.Bound{Value: evidence.Seconds(t.clock()), Exclusive: true}
	return storage.FindAll(ctx, t.invitations, storage.Query{Index: "org", Equal: []any{orgID}, From: now, Limit: storage.Unlimited})
}

// Invite makes an invitation for a lifetime, and returns it with its secret, which is never shown again. A personal
// organization, and more than maxInvitations, are Invalid.
func (t *Tenancy) Invite(ctx context.Context, orgName string, by identity.Actor, role evidence.Role, description string, lifetime time.Duration) (made identity.Invitation, secret evidence.Secret, err error) {
	secret = evidence.Secret(rand.Text())
	err = t.change(ctx, orgName, by, func(c *orgChange) error {
		if err := requireShared(c.org, "other members"); err != nil {
			return err
		}
		open, err := t.Invitations(ctx, c.org.ID)
		if err != nil {
			return err
		}
		if len(open) >= maxInvitations {
			return evidence.Errorf(evidence.Invalid, "Organization '%s' has %d invitations that are open, and cannot have more", c.org.Name, len(open))
		}
		now := t.clock()
		made = identity.Invitation{
			ID: evidence.NewID(), OrgID: c.org.ID, Hash: evidence.HashAPIKey(secret.Reveal()), Role: role, Description: description,
			InviterID: by.ID, Inviter: by.Name, ByAccount: by.Account,
			CreatedAt: evidence.Seconds(now), ExpiresAt: evidence.Seconds(now.Add(lifetime)),
		}
		t.invitations.PutIn(&c.batch, made)
		c.record(identity.AuditEntry{Event: identity.AuditAdded, Subject: identity.AuditInvitation, Name: made.ID, NewRole: role})
		return nil
	})
	return made, secret, err
}

// WithdrawInvitation ends an open invitation, by its id, or returns ErrNotFound.
func (t *Tenancy) WithdrawInvitation(ctx context.Context, orgName, id string, by identity.Actor) error {
	return t.change(ctx, orgName, by, func(c *orgChange) error {
		open, err := t.Invitations(ctx, c.org.ID)
		if err != nil {
			return err
		}
		found, ok := evidence.First(open, func(one identity.Invitation) bool { return one.ID == id })
		if !ok {
			return storage.ErrNotFound
		}
		read, err := t.invitations.GetVersioned(ctx, found.Hash)
		if err != nil {
			return err
		}
		t.endInvitation(c, read)
		c.record(identity.AuditEntry{Event: identity.AuditRemoved, Subject: identity.AuditInvitation, Name: id, OldRole: read.Value.Role})
		return nil
	})
}

func (t *Tenancy) endInvitation(c *orgChange, read storage.Versioned[identity.Invitation]) {
	ended := read.Value
	ended.EndedAt = evidence.Seconds(t.clock())
	t.invitations.ReplaceIn(&c.batch, &ended, read.Revision)
}

// Invitation returns the open invitation of a secret. Any other is NotFound, as is one whose inviter is no admin now.
func (t *Tenancy) Invitation(ctx context.Context, orgName string, secret evidence.Secret) (identity.Invitation, error) {
	if evidence.CheckOrganizationName(orgName) != nil {
		return identity.Invitation{}, errNoInvitation
	}
	org, err := t.organizations.Get(ctx, orgName)
	if errors.Is(err, storage.ErrNotFound) {
		return identity.Invitation{}, errNoInvitation
	}
	if err != nil {
		return identity.Invitation{}, err
	}
	read, err := t.openInvitation(ctx, org, secret)
	return read.Value, err
}

func (t *Tenancy) openInvitation(ctx context.Context, org evidence.Organization, secret evidence.Secret) (storage.Versioned[identity.Invitation], error) {
	read, err := t.invitations.GetOrZero(ctx, evidence.HashAPIKey(secret.Reveal()))
	if err != nil {
		return read, err
	}
	if read.Value.OrgID != org.ID || !read.Value.Open(evidence.Seconds(t.clock())) {
		return read, errNoInvitation
	}
	role, _, err := t.role(ctx, org, read.Value.By())
	if evidence.CodeOf(err) == evidence.Forbidden || err == nil && !role.Allows(evidence.Admin) {
		return read, errNoInvitation
	}
	return read, err
}

// AcceptInvitation makes a user a member by an open invitation, once; any other is NotFound. For a member it is
// Invalid, and the invitation stays open.
func (t *Tenancy) AcceptInvitation(ctx context.Context, orgName string, secret evidence.Secret, userName string) (role evidence.Role, err error) {
	invitation, err := t.Invitation(ctx, orgName, secret)
	if err != nil {
		return role, err
	}
	inviter := identity.Actor{ID: invitation.InviterID, Name: invitation.Inviter, Source: identity.SourceInvitation}
	err = t.change(ctx, orgName, inviter, func(c *orgChange) error {
		read, err := t.openInvitation(ctx, c.org, secret)
		if err != nil {
			return err
		}
		user, err := t.User(ctx, userName)
		if err != nil {
			return err
		}
		member, err := t.memberRole(ctx, c.org.ID, evidence.Principal{UserID: user.ID, Name: user.Name})
		if err != nil {
			return err
		}
		if member != evidence.NoRole {
			return evidence.Errorf(evidence.Invalid, "User '%s' is a member of organization '%s' already", user.Name, c.org.Name)
		}
		role = read.Value.Role
		t.endInvitation(c, read)
		_, err = t.setMember(ctx, c, user, role)
		return err
	})
	return role, err
}

// AddInvitedUser creates the user who has the secret of an open invitation, unless the user exists. Any other secret is
// NotFound. A removed user is Forbidden, as only the operator restores users. A name that no user can have is Invalid.
func (t *Tenancy) AddInvitedUser(ctx context.Context, orgName string, secret evidence.Secret, userName string) error {
	invitation, err := t.Invitation(ctx, orgName, secret)
	if err != nil {
		return err
	}
	if err := evidence.CheckOrganizationName(userName); err != nil {
		return evidence.Errorf(evidence.Invalid, "The identity provider names you '%s', which cannot be a user's name here: %s.", userName, err)
	}
	if known, err := t.users.Get(ctx, userName); !errors.Is(err, storage.ErrNotFound) {
		if err == nil && known.RemovedAt != 0 {
			err = evidence.Errorf(evidence.Forbidden, "User '%s' was removed. The operator can bring users back.", userName)
		}
		return err
	}
	org, err := t.Organization(ctx, userName)
	if storage.IgnoreMissing(err) != nil {
		return err
	}
	if err == nil && org.Kind != evidence.PersonalOrganization {
		return evidence.Errorf(evidence.Invalid, "The identity provider names you '%s', which is the name of an organization here.", userName)
	}
	_, err = t.putUser(ctx, userName, "", identity.Actor{ID: invitation.InviterID, Name: invitation.Inviter, Source: identity.SourceInvitation})
	return err
}
