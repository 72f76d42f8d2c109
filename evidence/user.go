package evidence

import (
	"errors"
	"net/mail"
)

// User is a person with keys. The name never changes and is also that of the personal organization.
type User struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
	// DefaultOrg is the name of the organization that the user opens first, or "".
	DefaultOrg string  `json:"default_org"`
	CreatedAt  float64 `json:"created_at"` // float Unix seconds
	// RemovedAt is when the user was removed, in whole Unix seconds, or 0. The name stays taken.
	RemovedAt int64 `json:"removed_at,omitempty"`
	// KeysFrom is the time, in Unix seconds, before which keys are invalid: the user had been removed.
	KeysFrom int64 `json:"keys_from,omitempty"`
	// MadeKeys maps descriptions of keys in the bootstrap file to the hashes of the created keys.
	MadeKeys map[string]string `json:"made_keys,omitempty"`
}

// CheckEmail returns why a text is not a plain e-mail address, or nil.
func CheckEmail(email string) error {
	address, err := mail.ParseAddress(email)
	if err != nil || address.Address != email {
		return errors.New("email is not an e-mail address")
	}
	return nil
}

// FederatedPrefix is the prefix of ids and names of principals with a token of an identity provider.
const FederatedPrefix = "oidc:"

// Principal is the authenticated user, service account or token subject of a request.
type Principal struct {
	// UserID is the id of the user or of the service account.
	UserID string
	// Name is the name of the user or of the service account.
	Name string
	// ServiceAccount is true for a service account.
	ServiceAccount bool
	// Federated principals showed a token of an identity provider, for one organization.
	Federated bool
	// KeyID identifies the key of the request or session; tokens and issuers have none.
	KeyID string
}

// IsUser reports whether the principal is a person with an account.
func (p *Principal) IsUser() bool { return !p.ServiceAccount && !p.Federated }

// OrgAccess is what a principal may do in an organization, with its properties.
type OrgAccess struct {
	OrgID   string
	OrgName string
	// Role is the principal's role; visitors of a public organization are Readers.
	Role Role
	// Visitor is true if the principal is not a member of the public organization.
	Visitor bool
	// Beta is true if the organization's experimental features are enabled.
	Beta bool
}
