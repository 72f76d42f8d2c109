package tenancy

import (
	"context"

	"attestry/evidence"
	"attestry/storage"
)

var memberSchema = &storage.Schema{Name: "members"}

func memberID(m *evidence.Membership) string { return membershipID(m.OrgID, m.UserID) }

func membershipID(orgID, userID string) string { return orgID + "/" + userID }

// setMember gives a user a role in an organization, whether or not the user was a
// member before.
func (t *Tenancy) setMember(ctx context.Context, orgID, userID string, role evidence.Role) error {
	id := membershipID(orgID, userID)
	member, err := storage.Ensure(ctx, t.members, id, evidence.Membership{
		OrgID:     orgID,
		UserID:    userID,
		Role:      role,
		CreatedAt: evidence.Seconds(t.clock()),
	})
	if err != nil || member.Role == role {
		return err
	}
	_, err = t.members.Update(ctx, id, func(member *evidence.Membership) error {
		member.Role = role
		return nil
	})
	return err
}
