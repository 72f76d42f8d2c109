package evidence

import (
	"errors"
	"net/mail"
)

// User is a person with keys. The name never changes and also names the personal organization.
type User struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
	// DefaultOrg is the name of the organization that the user opens first, or "".
	DefaultOrg string  `json:"default_org"`
	CreatedAt  float64 `json:"created_at"` // float Unix seconds
	// RemovedAt is when the user was removed, in whole Unix seconds, or 0. The name stays taken.
	RemovedAt int64 `json:"removed_at,omitempty"`
	// KeysFrom is from when on keys count, in Unix seconds: earlier ones are of a removed user.
	KeysFrom int64 `json:"keys_from,omitempty"`
	// MadeKeys maps descriptions of keys in the bootstrap file to the hashes of those made.
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

// FederatedPrefix begins the ids and names of principals with a token of an identity provider.
const FederatedPrefix = "oidc:"

// Principal is whoever a key speaks for.
type Principal struct {
	// UserID is the id of the user or of the service account.
	UserID string
	// Name is the name of the user or of the service account.
	Name string
	// ServiceAccount tells a service account from a user.
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
	// Visitor tells that the principal is no member of the public organization.
	Visitor bool
	// Beta tells that the organization's experimental features are enabled.
	Beta bool
}
