package organizations

import (
	"context"

	"attestry/evidence"
)

// Stores are what the operations read and write. What does not exist is storage.ErrNotFound.
type Stores struct {
	Tenancy Tenancy
}

// Tenancy keeps organizations and the settings of users.
type Tenancy interface {
	// DefaultOrganization returns the name of the organization that a user opens
	// first, "" when none was chosen. Service accounts have none.
	DefaultOrganization(ctx context.Context, principal evidence.Principal) (string, error)
	// SetDefaultOrganization chooses the organization that a user opens first. It is
	// Forbidden for organizations that the user cannot see, and for service accounts.
	SetDefaultOrganization(ctx context.Context, principal evidence.Principal, orgName string) error
	// Organization returns an organization by its name, or ErrNotFound.
	Organization(ctx context.Context, name string) (evidence.Organization, error)
	// SetBeta enables or disables the experimental features of an organization, by its
	// name, or returns ErrNotFound.
	SetBeta(ctx context.Context, name string, enabled bool) error
}
