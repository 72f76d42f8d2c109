package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage/tenancy"
)

// The user and the organization of the first start.
const (
	firstUser         = "first-user"
	firstOrganization = "acme"
)

// firstStartFile marks a data folder whose first start has begun, until endFirstStart.
const firstStartFile = "first-start"

// applyFirstStart makes a user, an organization and a key if there is no organization, and returns the key. It
// completes an interrupted first start with a key of its own, as the earlier one may not have been shown. Other
// databases are unchanged.
func applyFirstStart(ctx context.Context, data string, tenancy *tenancy.Tenancy) ([]identity.MadeKey, error) {
	mark := filepath.Join(data, firstStartFile)
	_, err := os.Stat(mark)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	begun := err == nil
	key := identity.DeclaredKey{Description: "first start"}
	if begun {
		// A key is made once for each description.
		key.Description += " " + evidence.NewID()
	}
	used, err := inUse(ctx, begun, tenancy)
	if err != nil || used {
		return nil, err
	}
	if !begun {
		// With a MongoDB and a bucket nothing else has made the folder.
		if err := os.MkdirAll(data, 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(mark, nil, 0o600); err != nil {
			return nil, err
		}
	}
	return tenancy.ApplyBootstrap(ctx, identity.Bootstrap{
		Users:         []identity.DeclaredUser{{Name: firstUser, Keys: []identity.DeclaredKey{key}}},
		Organizations: []identity.DeclaredOrganization{{Name: firstOrganization, Members: map[string]evidence.Role{firstUser: evidence.Admin}}},
	})
}

// inUse reports whether there are organizations. If a first start has begun, those that it makes do not count.
func inUse(ctx context.Context, begun bool, tenancy *tenancy.Tenancy) (used bool, err error) {
	err = tenancy.EachOrganization(ctx, func(org *evidence.Organization) error {
		user := org.Name == firstUser && org.Kind == evidence.PersonalOrganization
		shared := org.Name == firstOrganization && org.Kind == evidence.SharedOrganization
		used = used || !begun || !user && !shared
		return nil
	})
	return used, err
}

// endFirstStart removes the mark of a first start. It is called after the key was printed, and for other starts.
func endFirstStart(data string) error {
	err := os.Remove(filepath.Join(data, firstStartFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
