// Package identity has the types of who may do what: service accounts, identity providers and the
// log of changes, and what an operator declares of them. Users, keys, roles and organizations are
// in package evidence, as everything else refers to them.
package identity

import "attestry/evidence"

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
