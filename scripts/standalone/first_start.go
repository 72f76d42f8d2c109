package main

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage/tenancy"
)

// The user and the organization of the first start.
const (
	firstUser         = "first-user"
	firstOrganization = "acme"
)

// applyFirstStart creates a user, an organization and a key if there is no organization, and returns the key.
func applyFirstStart(ctx context.Context, tenancy *tenancy.Tenancy) ([]identity.MadeKey, error) {
	used := false
	err := tenancy.EachOrganization(ctx, func(*evidence.Organization) error { used = true; return nil })
	if err != nil || used {
		return nil, err
	}
	return tenancy.ApplyBootstrap(ctx, identity.Bootstrap{
		Users:         []identity.DeclaredUser{{Name: firstUser, Keys: []identity.DeclaredKey{{Description: "first start"}}}},
		Organizations: []identity.DeclaredOrganization{{Name: firstOrganization, Members: map[string]evidence.Role{firstUser: evidence.Admin}}},
	})
}
