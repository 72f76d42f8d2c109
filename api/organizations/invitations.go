package organizations

import (
	"cmp"
	"context"
	"time"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/identity"
)

// defaultInvitationDays is the default lifetime of an invitation.
const defaultInvitationDays = 7

// InvitationPath is the path of an invitation.
type InvitationPath struct {
	server.OrgPath
	ID string `path:"invitation_id" doc:"Id of the invitation."`
}

// InvitationPostInput is the body of create_invitation (docs/semantics.md 2.8).
type InvitationPostInput struct {
	Role          evidence.Role `json:"role" enum:"admin,member,snapshotter,reader"`
	Description   string        `json:"description,omitempty" maxLength:"256" format:"plain-text" doc:"Whom it is for."`
	ExpiresInDays int           `json:"expires_in_days,omitempty" minimum:"1" maximum:"30" default:"7"`
}

// Invitation is an invitation that can be accepted (docs/semantics.md 2.8).
type Invitation struct {
	ID          string        `json:"id"`
	Role        evidence.Role `json:"role" enum:"admin,member,snapshotter,reader"`
	Description string        `json:"description"`
	CreatedBy   string        `json:"created_by"`
	CreatedAt   float64       `json:"created_at"`
	ExpiresAt   float64       `json:"expires_at"`
	Link        string        `json:"link,omitempty" doc:"What to send to the person, shown this once."`
}

func showInvitation(i *identity.Invitation) Invitation {
	return Invitation{ID: i.ID, Role: i.Role, Description: i.Description, CreatedBy: i.Inviter, CreatedAt: i.CreatedAt, ExpiresAt: i.ExpiresAt}
}

func (h *handlers) listInvitations(ctx context.Context, _ *server.OrgPath) (*server.Answer[[]Invitation], error) {
	found, err := h.Tenancy.Invitations(ctx, server.Access(ctx).OrgID)
	return server.Answered(resource.Map(found, showInvitation)), err
}

func (h *handlers) createInvitation(ctx context.Context, _ *server.OrgPath, body *InvitationPostInput) (*server.Answer[Invitation], error) {
	org, lifetime := server.Access(ctx).OrgName, time.Duration(cmp.Or(body.ExpiresInDays, defaultInvitationDays))*24*time.Hour
	made, secret, err := h.Tenancy.Invite(ctx, org, actor(ctx), body.Role, body.Description, lifetime)
	shown := showInvitation(&made)
	shown.Link = h.Links.Invitation(org, secret.Reveal())
	return server.Answered(shown), err
}

func (h *handlers) deleteInvitation(ctx context.Context, in *InvitationPath) (*server.TextAnswer, error) {
	err := h.Tenancy.WithdrawInvitation(ctx, server.Access(ctx).OrgName, in.ID, actor(ctx))
	return server.OK(), resource.NotFound(err, "Invitation '%s' is not open in organization '%s'", in.ID, server.Access(ctx).OrgName)
}

// AcceptancePath is the path of accept_invitation. It must not contain the secret, which is in the body.
type AcceptancePath struct {
	Organization string `path:"organization" doc:"As in the link."`
}

// InvitationAcceptInput is the body of accept_invitation (docs/semantics.md 2.8).
type InvitationAcceptInput struct {
	Secret string `json:"secret" doc:"As in the link, behind the organization."`
}

// InvitationAccepted has the membership that an accepted invitation gave.
type InvitationAccepted struct {
	Organization string        `json:"organization"`
	Role         evidence.Role `json:"role" enum:"admin,member,snapshotter,reader"`
}

func (h *handlers) acceptInvitation(ctx context.Context, in *AcceptancePath, body *InvitationAcceptInput) (*server.Answer[InvitationAccepted], error) {
	role, err := h.Tenancy.AcceptInvitation(ctx, in.Organization, evidence.Secret(body.Secret), server.Principal(ctx).Name)
	return server.Answered(InvitationAccepted{Organization: in.Organization, Role: role}), err
}
