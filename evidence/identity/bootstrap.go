package identity

import "attestry/evidence"

// Bootstrap is what an operator declares: who there is, with keys and roles. Every start applies it.
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
	// Absent keys are revoked. One without a secret is the one that was made for its description.
	Absent bool
}

// DeclaredOrganization brings a shared organization.
type DeclaredOrganization struct {
	Name    string
	Members map[string]evidence.Role
	// AbsentMembers are removed.
	AbsentMembers []string
	// Beta stays as it is where this is nil; a new organization has what new ones have.
	Beta *bool
	// Public is set by the file alone, so taking the line away closes the organization.
	Public bool
	// Hooks are all inbound webhooks that the organization has: taking one away closes it.
	Hooks []DeclaredHook
}

// MadeKey is a key that was made for a bootstrap file. Its secret is known only now.
type MadeKey struct {
	User        string
	Description string
	Secret      evidence.Secret
	ExpiresAt   int64 // Unix seconds, 0 for never
}
