package identity

import "attestry/evidence"

// Bootstrap is the operator's declaration of users, keys and organizations. It is applied at every start.
type Bootstrap struct {
	Users         []DeclaredUser
	Organizations []DeclaredOrganization
}

// DeclaredUser declares a user and the personal organization of the same name.
type DeclaredUser struct {
	Name string
	// Email is "" if the file has none.
	Email string
	// Beta is that of the personal organization, as in DeclaredOrganization.
	Beta *bool
	Keys []DeclaredKey
	// Absent users are removed. Their other members are not set.
	Absent bool
}

// DeclaredKey declares a key: an imported one or, without a secret, one that the service makes.
type DeclaredKey struct {
	Secret      evidence.Secret
	Description string
	ExpiresAt   int64 // Unix seconds, 0 for never
	// Absent keys are revoked. An absent key without a secret is the one that was made for the description.
	Absent bool
}

// DeclaredOrganization declares a shared organization.
type DeclaredOrganization struct {
	Name    string
	Members map[string]evidence.Role
	// AbsentMembers are removed.
	AbsentMembers []string
	// Beta is nil to keep the value, or to use the default for a new organization.
	Beta *bool
	// Public is set only by the file, so removing the line makes the organization private.
	Public bool
	// Hooks are all inbound webhooks of the organization. A webhook that is removed from the file is deleted.
	Hooks []DeclaredHook
}

// MadeKey is a key that was made for a bootstrap file, with its secret, which is not stored.
type MadeKey struct {
	User        string
	Description string
	Secret      evidence.Secret
	ExpiresAt   int64 // Unix seconds, 0 for never
}
