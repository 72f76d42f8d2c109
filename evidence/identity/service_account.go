// Package identity has the types of access control: service accounts, identity providers, the audit log, and the
// bootstrap file. Users, keys, roles and organizations are in package evidence.
package identity

import (
	"strings"

	"attestry/evidence"
)

// ServiceAccount is a non-human member of a shared organization (docs/semantics.md 2.4).
type ServiceAccount struct {
	ID    string `json:"id"`
	OrgID string `json:"org_id"`
	Name  string `json:"name"`
	// Description may be nil.
	Description *string       `json:"description"`
	Privilege   evidence.Role `json:"privilege"`
	// CreatorID is the id of the principal that created it, "" for the operator.
	CreatorID string  `json:"creator_id"`
	CreatedAt float64 `json:"created_at"` // float Unix seconds
}

// Manages reports whether a principal with a role may change the service account and its keys: administrators, and its
// creator unless the account has a greater role, as its keys would give that role to the creator.
func (a *ServiceAccount) Manages(principal evidence.Principal, role evidence.Role) bool {
	return role.Allows(evidence.Admin) || a.CreatorID == principal.UserID && role.Allows(a.Privilege)
}

// LeftBy reports whether creatorID created the account and, with this role, can no longer manage it.
func (a *ServiceAccount) LeftBy(creatorID string, role evidence.Role) bool {
	return a.CreatorID == creatorID && !a.Manages(evidence.Principal{UserID: creatorID}, role)
}

// Left is LeftBy for the account's creator. roles are those of users and service accounts, by id. It is false if the
// creator is the operator, or a token's subject, whose role is known only with a token.
func (a *ServiceAccount) Left(roles map[string]evidence.Role) bool {
	if a.CreatorID == "" || strings.HasPrefix(a.CreatorID, evidence.FederatedPrefix) {
		return false
	}
	return a.LeftBy(a.CreatorID, roles[a.CreatorID])
}

// KeyOwner is the owner of keys: a user or a service account.
type KeyOwner struct {
	ID, Name string
	// OrgID is that of a service account's organization; users have none.
	OrgID, OrgName string
	ServiceAccount bool
}
