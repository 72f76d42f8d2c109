// Package identity has the types of who may do what: service accounts, identity providers, the log of
// changes, and what an operator declares. Users, keys, roles and organizations are in package evidence.
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
	// Description is nil when there is none.
	Description *string       `json:"description"`
	Privilege   evidence.Role `json:"privilege"`
	// CreatorID is the id of the principal that created it, "" for the operator.
	CreatorID string  `json:"creator_id"`
	CreatedAt float64 `json:"created_at"` // float Unix seconds
}

// Manages reports whether a role in its organization may change a service account and its keys:
// administrators, and its creator unless the account may do more, as a key would then give the creator more.
func (a *ServiceAccount) Manages(principal evidence.Principal, role evidence.Role) bool {
	return role.Allows(evidence.Admin) || a.CreatorID == principal.UserID && role.Allows(a.Privilege)
}

// LeftBy reports whether the creator's role no longer suffices to manage the account.
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

// KeyOwner is a user or a service account as far as its keys are concerned.
type KeyOwner struct {
	ID, Name string
	// OrgID is that of a service account's organization; users have none.
	OrgID, OrgName string
	ServiceAccount bool
}
