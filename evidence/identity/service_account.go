// Package identity has the types of who may do what: service accounts, identity providers and the
// log of changes, and what an operator declares of them. Users, keys, roles and organizations are
// in package evidence, as everything else refers to them.
package identity

import (
	"strings"

	"attestry/evidence"
)

// ServiceAccount is a member of a shared organization that is no person
// (docs/semantics.md 2.4). Its name never changes.
type ServiceAccount struct {
	ID    string `json:"id"`
	OrgID string `json:"org_id"`
	Name  string `json:"name"`
	// Description is nil when there is none.
	Description *string       `json:"description"`
	Privilege   evidence.Role `json:"privilege"`
	// CreatorID is the id of the principal that created it, "" for the operator.
	CreatorID string  `json:"creator_id"`
	CreatedAt float64 `json:"created_at"` // float Unix seconds
}

// Manages reports whether whoever has a role in its organization may change a service account
// and its keys: administrators, and its creator as long as the account may do no more than
// the creator, who could else get a key of a greater privilege.
func (a *ServiceAccount) Manages(principal evidence.Principal, role evidence.Role) bool {
	return role.Allows(evidence.Admin) || a.CreatorID == principal.UserID && role.Allows(a.Privilege)
}

// LeftBy reports whether the service account was created by somebody whose role does not suffice to manage it
// any more: only administrators manage it then.
func (a *ServiceAccount) LeftBy(creatorID string, role evidence.Role) bool {
	return a.CreatorID == creatorID && !a.Manages(evidence.Principal{UserID: creatorID}, role)
}

// Left is LeftBy for any creator, by the roles that users and service accounts have by their ids. Nobody left
// what the operator has created, or a pipeline with a token, whose role is known only while it shows one.
func (a *ServiceAccount) Left(roles map[string]evidence.Role) bool {
	if a.CreatorID == "" || strings.HasPrefix(a.CreatorID, evidence.FederatedPrefix) {
		return false
	}
	return a.LeftBy(a.CreatorID, roles[a.CreatorID])
}
