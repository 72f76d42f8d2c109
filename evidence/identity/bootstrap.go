package identity

import "attestry/evidence"

// Bootstrap is what an operator declares: who there is, with which keys and
// roles. It is applied at every start.
type Bootstrap struct {
	Users         []DeclaredUser
	Organizations []DeclaredOrganization
}

// DeclaredUser brings a user and the personal organization of the same name.
type DeclaredUser struct {
	Name string
	// Email is "" when the file does not say.
	Email string
	// Beta is that of the personal organization, as of any.
	Beta *bool
	Keys []DeclaredKey
	// Absent users are removed: nothing else is said of them.
	Absent bool
}

// DeclaredKey brings a key along, or, without a secret, asks for one to be made.
type DeclaredKey struct {
	Secret      evidence.Secret
	Description string
	ExpiresAt   int64 // Unix seconds, 0 for never
	// Absent keys are revoked. One without a secret is the one that was made for its
	// description.
	Absent bool
}

// DeclaredOrganization brings a shared organization.
type DeclaredOrganization struct {
	Name    string
	Members map[string]evidence.Role
	// AbsentMembers are removed.
	AbsentMembers []string
	// Beta is nil when the file does not say: then it stays as it is, and a new organization has what new
	// ones have.
	Beta *bool
	// Public is false when the file does not say. Nothing but the file opens an
	// organization, so taking the line away closes it.
	Public bool
	// Hooks are all inbound webhooks that the organization has: taking one away closes it.
	Hooks []DeclaredHook
}

// MadeKey is a key that was made because a bootstrap file left it out. It is the
// only time that the secret is known.
type MadeKey struct {
	User        string
	Description string
	Secret      evidence.Secret
	ExpiresAt   int64 // Unix seconds, 0 for never
}
