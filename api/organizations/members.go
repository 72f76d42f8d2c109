package organizations

import (
	"cmp"
	"context"
	"errors"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/tenancy"
)

// MemberPath is the path of a user's membership.
type MemberPath struct {
	server.OrgPath
	User string `path:"user" doc:"Name of the user."`
}

// MemberChangePath is the path of a change of a member.
type MemberChangePath struct {
	MemberPath
	RevokeServiceAccounts bool `query:"revoke_service_accounts" default:"false" doc:"Whether to revoke all keys of the service accounts that the member has created and does not manage any more."`
}

// MemberChange is the answer to a change of a member (docs/semantics.md 2.4).
type MemberChange struct {
	Message             string               `json:"message"`
	LeftServiceAccounts []LeftServiceAccount `json:"left_service_accounts" doc:"Those that the user has created and does not manage any more; administrators do."`
}

// LeftServiceAccount is a service account whose creator does not manage it any more.
type LeftServiceAccount struct {
	Name        string        `json:"name"`
	Privilege   evidence.Role `json:"privilege" enum:"admin,member,snapshotter,reader"`
	KeysRevoked bool          `json:"keys_revoked"`
}

// MemberPutInput is the body of put_member (docs/semantics.md 2.2).
type MemberPutInput struct {
	Role evidence.Role `json:"role" enum:"admin,member,snapshotter,reader"`
}

// OrganizationMember is a user who is a member of an organization.
type OrganizationMember struct {
	User      string        `json:"user"`
	Role      evidence.Role `json:"role" enum:"admin,member,snapshotter,reader"`
	CreatedAt float64       `json:"created_at"`
}

func showMember(m *evidence.Membership) OrganizationMember {
	return OrganizationMember{User: m.UserName, Role: m.Role, CreatedAt: m.CreatedAt}
}

func memberNotFound(orgName, user string, err error) error {
	return resource.NotFound(err, "User '%s' is not a member of organization '%s'", user, orgName)
}

func (h *handlers) listMembers(ctx context.Context, _ *server.OrgPath) (*server.Answer[[]OrganizationMember], error) {
	found, err := h.Tenancy.Members(ctx, server.Access(ctx).OrgID)
	return server.Answered(resource.Map(found, showMember)), err
}

func (h *handlers) getMember(ctx context.Context, in *MemberPath) (*server.Answer[OrganizationMember], error) {
	org := server.Access(ctx)
	found, err := h.Tenancy.Member(ctx, org.OrgID, in.User)
	return server.Answered(showMember(&found)), memberNotFound(org.OrgName, in.User, err)
}

func (h *handlers) putMember(ctx context.Context, in *MemberChangePath, body *MemberPutInput) (*server.StatusAnswer[MemberChange], error) {
	change, err := h.Tenancy.SetMember(ctx, server.Access(ctx).OrgName, in.User, body.Role, actor(ctx))
	if err != nil {
		return nil, err
	}
	return h.answerMemberChange(ctx, in, change)
}

func (h *handlers) deleteMember(ctx context.Context, in *MemberChangePath) (*server.StatusAnswer[MemberChange], error) {
	org := server.Access(ctx)
	change, err := h.Tenancy.RemoveMember(ctx, org.OrgName, in.User, actor(ctx))
	if errors.Is(err, storage.ErrNotFound) && in.RevokeServiceAccounts { // finish an interrupted removal
		err = cmp.Or(h.Tenancy.RevokeServiceAccounts(ctx, org.OrgName, actor(ctx), change.Left), err)
	}
	if err != nil {
		return nil, memberNotFound(org.OrgName, in.User, err)
	}
	return h.answerMemberChange(ctx, in, change)
}

// answerMemberChange lists the service accounts that the member no longer manages, and revokes their keys on request.
func (h *handlers) answerMemberChange(ctx context.Context, in *MemberChangePath, change tenancy.MemberChange) (*server.StatusAnswer[MemberChange], error) {
	left := resource.Map(change.Left, func(account *identity.ServiceAccount) LeftServiceAccount {
		return LeftServiceAccount{Name: account.Name, Privilege: account.Privilege, KeysRevoked: in.RevokeServiceAccounts}
	})
	answer := server.Stored(change.Created, MemberChange{Message: "OK", LeftServiceAccounts: left})
	if !in.RevokeServiceAccounts {
		return answer, nil
	}
	return answer, h.Tenancy.RevokeServiceAccounts(ctx, server.Access(ctx).OrgName, actor(ctx), change.Left)
}
