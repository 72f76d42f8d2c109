package identity

import "attestry/evidence"

// IdentityProvider is an OpenID Connect issuer that an organization trusts: its tokens that meet the condition have a
// privilege there, without a stored key (docs/semantics.md 2.5).
type IdentityProvider struct {
	OrgID   string `json:"org_id"`
	OrgName string `json:"org_name"`
	// Name is chosen by the organization.
	Name string `json:"name"`
	// Issuer is an https URL, as in the claim iss.
	Issuer string `json:"issuer"`
	// Audience is the required value of the claim aud.
	Audience string `json:"audience"`
	// Condition is an expression over the claims. Without one, no token is accepted.
	Condition string        `json:"condition"`
	Privilege evidence.Role `json:"privilege"`
	// Times are float Unix seconds.
	CreatedAt      float64 `json:"created_at"`
	LastModifiedAt float64 `json:"last_modified_at"`
}
