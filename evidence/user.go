package evidence

import (
	"errors"
	"net/mail"
)

// User is a person with keys. The name never changes; it is also the name of the
// user's personal organization.
type User struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
	// DefaultOrg is the name of the organization that the user opens first, ""
	// when none was chosen.
	DefaultOrg string  `json:"default_org"`
	CreatedAt  float64 `json:"created_at"` // float Unix seconds
	// RemovedAt is when the user was removed, in whole Unix seconds; 0 for users that are
	// there. The name stays taken, as the organization of the user stays.
	RemovedAt int64 `json:"removed_at,omitempty"`
	// KeysFrom is from when on keys of the user count, in whole Unix seconds: those made earlier
	// are of a user of that name who was removed.
	KeysFrom int64 `json:"keys_from,omitempty"`
	// MadeKeys maps the descriptions of keys that a bootstrap file left for us to
	// make to the hash of the key that was made and told.
	MadeKeys map[string]string `json:"made_keys,omitempty"`
}

// CheckUserName returns why a name cannot be a user's, or nil. A user's name
// must do for an organization.
func CheckUserName(name string) error { return CheckOrganizationName(name) }

// CheckEmail returns why a text is not a plain e-mail address, or nil.
func CheckEmail(email string) error {
	address, err := mail.ParseAddress(email)
	if err != nil || address.Address != email {
		return errors.New("email is not an e-mail address")
	}
	return nil
}
