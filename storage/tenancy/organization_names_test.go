package tenancy_test

import (
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/tenancy"
)

// names lists the names of all organizations.
func names(t *testing.T, store *tenancy.Tenancy) string {
	t.Helper()
	var found []string
	err := store.EachOrganization(t.Context(), func(org *evidence.Organization) error {
		found = append(found, org.Name)
		return nil
	})
	evidencetest.Must(t, err)
	return strings.Join(found, " ")
}

func TestNamesThatDifferOnlyByCaseAreTaken(t *testing.T) {
	store, _, _ := newTenancy(t)
	anna, err := store.User(t.Context(), "anna")
	evidencetest.Must(t, err)
	before := names(t, store)
	for _, name := range []string{"Acme", "ACME", "Bert"} {
		_, err := store.CreateOrganization(t.Context(), name, anna, annaActs)
		wantCode(t, err, evidence.Invalid)
		wantCode(t, store.CreateUser(t.Context(), name, "", identity.Operator()), evidence.Invalid)
	}
	if got := names(t, store); got != before {
		t.Errorf("organizations are %s, want %s", got, before)
	}
	if _, err := store.Organization(t.Context(), "Acme"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("acme is found by another name: %v", err)
	}
}

func TestOnlyOneOfNamesThatDifferByCaseIsCreated(t *testing.T) {
	here, docs, clock := newTenancy(t)
	elsewhere := open(t, docs, clock)
	anna, err := here.User(t.Context(), "anna")
	evidencetest.Must(t, err)
	var created atomic.Int64
	var group sync.WaitGroup
	for i, name := range []string{"fresh", "Fresh", "FRESH", "fresH", "frEsh", "freSh"} {
		store := []*tenancy.Tenancy{here, elsewhere}[i%2]
		group.Go(func() {
			_, err := store.CreateOrganization(t.Context(), name, anna, annaActs)
			if err == nil {
				created.Add(1)
				return
			}
			wantCode(t, err, evidence.Invalid)
		})
	}
	group.Wait()
	if n := created.Load(); n != 1 {
		t.Errorf("%d organizations were created", n)
	}
}

func TestDeclarationWithNamesThatDifferOnlyByCaseChangesNothing(t *testing.T) {
	store, docs, _ := newTenancy(t)
	for what, declared := range map[string]identity.Bootstrap{
		"Acme differs": {Organizations: []identity.DeclaredOrganization{{Name: "new"}, {Name: "Acme"}}},
		"Carl differs": {Users: []identity.DeclaredUser{{Name: "carl"}}, Organizations: []identity.DeclaredOrganization{{Name: "Carl"}}},
		"ANNA differs": {Users: []identity.DeclaredUser{{Name: "carl"}, {Name: "ANNA"}}},
	} {
		before := docs.stored()
		_, err := store.ApplyBootstrap(t.Context(), declared)
		name, _, _ := strings.Cut(what, " ")
		if err == nil || !strings.Contains(err.Error(), name+": the name differs from "+strings.ToLower(name)) {
			t.Errorf("%s: %v", what, err)
		}
		if after := docs.stored(); !maps.Equal(after, before) {
			t.Errorf("%s: stored is\n%v\nbefore\n%v", what, after, before)
		}
	}
	apply(t, store, identity.Bootstrap{Users: []identity.DeclaredUser{{Name: "Anna", Absent: true}}})
}
