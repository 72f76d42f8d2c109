package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"attestry/evidence"
	"attestry/storage"
)

// The user and the organization of the first start.
const (
	firstUser         = "first-user"
	firstOrganization = "acme"
)

// firstStartFile marks a data folder whose first start has begun. It is removed when
// all of the first start is stored, so that one which was interrupted is completed.
const firstStartFile = "first-start"

// applyFirstStart makes a user, an organization and a key in a data folder that has
// no organization yet, and returns the key. Any other folder is left as it is.
func applyFirstStart(ctx context.Context, data string, tenancy *storage.Tenancy) ([]evidence.MadeKey, error) {
	mark := filepath.Join(data, firstStartFile)
	begun, err := exists(mark)
	if err != nil {
		return nil, err
	}
	if !begun {
		used, err := tenancy.HasOrganizations(ctx)
		if err != nil || used {
			return nil, err
		}
		// With a MongoDB and a bucket nothing else has made the folder.
		if err := os.MkdirAll(data, 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(mark, nil, 0o600); err != nil {
			return nil, err
		}
	}
	made, err := tenancy.ApplyBootstrap(ctx, evidence.Bootstrap{
		Users: []evidence.DeclaredUser{{
			Name: firstUser,
			Keys: []evidence.DeclaredKey{{Description: "first start"}},
		}},
		Organizations: []evidence.DeclaredOrganization{{
			Name:    firstOrganization,
			Members: map[string]evidence.Role{firstUser: evidence.Admin},
		}},
	})
	if err != nil {
		return made, err
	}
	return made, os.Remove(mark)
}

func exists(file string) (bool, error) {
	_, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
