package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/tenancy"
)

// folder is a data folder; each process is a start on it.
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

// usersOf declares users without keys.
func usersOf(names []string) identity.Bootstrap {
	var declared identity.Bootstrap
	for _, name := range names {
		declared.Users = append(declared.Users, identity.DeclaredUser{Name: name})
	}
	return declared
}

// organizations are the names of all there are.
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
	made, err := applyFirstStart(f.t.Context(), f.path, f.tenancy(f.docs))
	f.must(err)
	f.must(endFirstStart(f.path))
	return made
}

func TestFirstStartMakesAUserAnOrganizationAndAKeyOnce(t *testing.T) {
	f := newFolder(t)
	made := f.start()
	if len(made) != 1 || !slices.Equal(f.organizations(), []string{firstOrganization, firstUser}) {
		t.Fatalf("it made %d keys and the organizations %v", len(made), f.organizations())
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

func TestFolderThatHasOrganizationsIsLeftAsItIs(t *testing.T) {
	for name, declared := range map[string]identity.Bootstrap{
		"others": {Users: []identity.DeclaredUser{{Name: "anna"}}},
		"those of the first start, declared otherwise": {
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
			writes := &writeCounter{Documents: f.docs}
			made, err := applyFirstStart(t.Context(), f.path, f.tenancy(writes))
			if err != nil || len(made) != 0 || writes.n != 0 || !slices.Equal(f.organizations(), before) {
				t.Errorf("%d writes made %d keys and the organizations %v of %v: %v", writes.n, len(made), f.organizations(), before, err)
			}
			if _, err := os.Stat(filepath.Join(f.path, firstStartFile)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a mark is left: %v", err)
			}
		})
	}
}

func TestFirstStartThatWasInterruptedIsCompletedByTheNext(t *testing.T) {
	for killedAt := 1; ; killedAt++ {
		f := newFolder(t)
		killed := &writeCounter{Documents: f.docs, most: killedAt - 1}
		// Whatever key it made, it may be killed before the key is printed.
		_, err := applyFirstStart(t.Context(), f.path, f.tenancy(killed))
		shown := f.start()
		if len(shown) != 1 || !slices.Equal(f.organizations(), []string{firstOrganization, firstUser}) {
			t.Fatalf("killed at write %d: %d keys were shown, organizations %v", killedAt, len(shown), f.organizations())
		}
		if _, err := f.tenancy(f.docs).Authenticate(t.Context(), shown[0].Secret.Reveal()); err != nil {
			t.Errorf("killed at write %d: the key that was shown: %v", killedAt, err)
		}
		if again := f.start(); len(again) != 0 {
			t.Errorf("killed at write %d: the third start made %d keys", killedAt, len(again))
		}
		if err == nil {
			return
		}
	}
}

func TestFolderThatIsInUseIsLeftAsItIsAlthoughAFirstStartWasInterrupted(t *testing.T) {
	for name, others := range map[string][]string{
		"by another user":                             {"anna"},
		"by other users beside the first":             {firstUser, "anna"},
		"by a user with the name of the organization": {firstOrganization},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			_, err := f.tenancy(f.docs).ApplyBootstrap(t.Context(), usersOf(others))
			f.must(err)
			f.must(os.WriteFile(filepath.Join(f.path, firstStartFile), nil, 0o600))
			before := f.organizations()
			for range 2 {
				if made := f.start(); len(made) != 0 || !slices.Equal(f.organizations(), before) {
					t.Errorf("it made %d keys and the organizations %v of %v", len(made), f.organizations(), before)
				}
			}
		})
	}
}

// writeCounter counts writes, and refuses those beyond most.
type writeCounter struct {
	storage.Documents
	n, most int
}

var errKilled = errors.New("killed")

func (w *writeCounter) Write(ctx context.Context, writes ...storage.Write) error {
	if w.n++; w.n > w.most {
		return errKilled
	}
	return w.Documents.Write(ctx, writes...)
}
