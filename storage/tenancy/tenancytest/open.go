// Package tenancytest makes users, organizations and keys for tests of packages that read them.
package tenancytest

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/tenancy"
)

// Open applies a declaration to a new database and returns a Tenancy on the database that wrap returns for it. A nil
// wrap is allowed.
func Open(t testing.TB, declared identity.Bootstrap, wrap func(storage.Documents) storage.Documents) *tenancy.Tenancy {
	t.Helper()
	var docs storage.Documents = pebbletest.Open(t, filepath.Join(t.TempDir(), "documents"), tenancy.Schemas())
	if _, err := open(t, docs).ApplyBootstrap(t.Context(), declared); err != nil {
		t.Fatal(err)
	}
	if wrap != nil {
		docs = wrap(docs)
	}
	return open(t, docs)
}

func open(t testing.TB, docs storage.Documents) *tenancy.Tenancy {
	made := tenancy.New(docs, time.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(made.Close)
	return made
}

// User declares a user with a key.
func User(name string, secret evidence.Secret) identity.DeclaredUser {
	return identity.DeclaredUser{Name: name, Keys: []identity.DeclaredKey{{Secret: secret, Description: "test"}}}
}
