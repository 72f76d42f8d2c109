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

// CheckUserName returns why a name cannot be a user's, which also names an organization, or nil.
func CheckUserName(name string) error { return CheckOrganizationName(name) }

// CheckEmail returns why a text is not a plain e-mail address, or nil.
func CheckEmail(email string) error {
	address, err := mail.ParseAddress(email)
	if err != nil || address.Address != email {
		return errors.New("email is not an e-mail address")
	}
	return nil
}
