package identity

import "attestry/evidence"

// Invitation lets one person who has its link join a shared organization (docs/semantics.md 2.8).
type Invitation struct {
	ID    string `json:"id"`
	OrgID string `json:"org_id"`
	// Hash is that of the secret in the link.
	Hash        string        `json:"hash"`
	Role        evidence.Role `json:"role"`
	Description string        `json:"description,omitempty"`
	// InviterID and Inviter are the id and the name of the principal that made it.
	InviterID string `json:"inviter_id"`
	Inviter   string `json:"inviter"`
	// ByAccount is set if that is a service account.
	ByAccount bool `json:"by_account,omitempty"`
	// Times are float Unix seconds. EndedAt is when it was accepted or withdrawn, or 0.
	CreatedAt float64 `json:"created_at"`
	ExpiresAt float64 `json:"expires_at"`
	EndedAt   float64 `json:"ended_at,omitempty"`
}

// Open reports whether the invitation can be accepted at a time in Unix seconds.
func (i *Invitation) Open(now float64) bool { return i.EndedAt == 0 && now < i.ExpiresAt }

// By is the inviter.
func (i *Invitation) By() evidence.Principal {
	return evidence.Principal{UserID: i.InviterID, Name: i.Inviter, ServiceAccount: i.ByAccount}
}
