package tenancy_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/storagetest"
	"attestry/storage/tenancy"
)

// names lists the organizations that there are.
func names(t *testing.T, store *tenancy.Tenancy) string {
	t.Helper()
	var found []string
	err := store.EachOrganization(t.Context(), func(org *evidence.Organization) error {
		found = append(found, org.Name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}

func TestNamesThatDifferByCaseAloneAreTaken(t *testing.T) {
	store, _, _ := newTenancy(t)
	anna, err := store.User(t.Context(), "anna")
	if err != nil {
		t.Fatal(err)
	}
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

func TestOfNamesThatDifferByCaseAloneOneIsCreated(t *testing.T) {
	here, docs, hands := newTenancy(t)
	elsewhere := tenancy.New(docs, hands.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(elsewhere.Close)
	anna, err := here.User(t.Context(), "anna")
	if err != nil {
		t.Fatal(err)
	}
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

func TestOrganizationsOfEarlierVersionsWhoseNamesDifferByCaseKeepWorking(t *testing.T) {
	store, docs, hands := newTenancy(t)
	for _, schema := range tenancy.Schemas() {
		switch schema.Name {
		case "organization_names":
			for _, record := range docs.all(schema.Name) {
				if err := storagetest.Delete(t.Context(), docs, schema, record.ID); err != nil {
					t.Fatal(err)
				}
			}
		case "organizations":
			org := evidence.Organization{ID: "id-of-Acme", Name: "Acme", Kind: evidence.SharedOrganization, CreatedAt: 1}
			body, err := json.Marshal(org)
			if err != nil {
				t.Fatal(err)
			}
			record := storage.Record{ID: org.Name, Revision: 1, Body: body, Fields: map[string]any{"created": org.CreatedAt}}
			if err := storagetest.Put(t.Context(), docs, schema, record); err != nil {
				t.Fatal(err)
			}
		}
	}
	restarted := tenancy.New(docs, hands.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(restarted.Close)
	declared := tenancyBootstrap()
	declared.Organizations = append(declared.Organizations, identity.DeclaredOrganization{
		Name: "Acme", Members: map[string]evidence.Role{"bert": evidence.Member},
	})
	apply(t, restarted, declared)
	if got := access(t, restarted, bertsKey, "Acme"); got != evidence.Member {
		t.Errorf("bert is %v of Acme", got)
	}
	if got := access(t, restarted, annasKey, "acme"); got != evidence.Snapshotter {
		t.Errorf("anna is %v of acme", got)
	}
	anna, err := store.User(t.Context(), "anna")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"aCME", "Anna", "OPEN", "oPEN"} {
		_, err := restarted.CreateOrganization(t.Context(), name, anna, annaActs)
		wantCode(t, err, evidence.Invalid)
	}
}

func TestADeclarationWithNamesThatDifferByCaseAloneChangesNothing(t *testing.T) {
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
