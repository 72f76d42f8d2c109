package main

import (
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
	"attestry/storage/tenancy"
)

// folder is a data folder with its open database.
type folder struct {
	t    *testing.T
	path string
	docs storage.Documents
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	f := &folder{t: t, path: t.TempDir()}
	f.docs = pebbletest.Open(t, filepath.Join(f.path, "documents"), tenancy.Schemas())
	return f
}

func (f *folder) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) tenancy(docs storage.Documents) *tenancy.Tenancy {
	tenancy := tenancy.New(docs, time.Now, slog.New(slog.DiscardHandler))
	f.t.Cleanup(tenancy.Close)
	return tenancy
}

// organizations returns the names of all organizations.
func (f *folder) organizations() []string {
	f.t.Helper()
	var names []string
	f.must(f.tenancy(f.docs).EachOrganization(f.t.Context(), func(org *evidence.Organization) error {
		names = append(names, org.Name)
		return nil
	}))
	slices.Sort(names)
	return names
}

func (f *folder) start() []identity.MadeKey {
	f.t.Helper()
	made, err := applyFirstStart(f.t.Context(), f.tenancy(f.docs))
	f.must(err)
	return made
}

func TestFirstStartMakesAUserAnOrganizationAndAKeyOnce(t *testing.T) {
	f := newFolder(t)
	made := f.start()
	if len(made) != 1 || !slices.Equal(f.organizations(), []string{firstOrganization, firstUser}) {
		t.Fatalf("the first start made %d keys and the organizations %v", len(made), f.organizations())
	}
	tenancy := f.tenancy(f.docs)
	who, err := tenancy.Authenticate(t.Context(), made[0].Secret.Reveal())
	f.must(err)
	if access, err := tenancy.Access(t.Context(), who, firstOrganization); err != nil || access.Role != evidence.Admin {
		t.Errorf("the key gives %+v, %v", access, err)
	}
	if again := f.start(); len(again) != 0 {
		t.Errorf("the second start made %d keys", len(again))
	}
}

func TestFirstStartChangesNothingIfThereAreOrganizations(t *testing.T) {
	for name, declared := range map[string]identity.Bootstrap{
		"others": {Users: []identity.DeclaredUser{{Name: "anna"}}},
		"those of the first start, with other settings": {
			Users: []identity.DeclaredUser{{Name: firstUser}},
			Organizations: []identity.DeclaredOrganization{
				{Name: firstOrganization, Public: true, Members: map[string]evidence.Role{firstUser: evidence.Reader}},
			},
		},
		"a user named as the organization of the first start": {Users: []identity.DeclaredUser{{Name: firstOrganization}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			_, err := f.tenancy(f.docs).ApplyBootstrap(t.Context(), declared)
			f.must(err)
			before := f.organizations()
			writes := storagetest.NewCountingDocuments(f.docs)
			made, err := applyFirstStart(t.Context(), f.tenancy(writes))
			written, after := writes.Snapshot().Methods["Write"], f.organizations()
			if err != nil || len(made) != 0 || written != 0 || !slices.Equal(after, before) {
				t.Errorf("%d writes made %d keys and the organizations %v of %v: %v", written, len(made), after, before, err)
			}
		})
	}
}
