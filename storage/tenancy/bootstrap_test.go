package tenancy_test

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/storagetest"
	"attestry/storage/tenancy"
)

func bootstrapWithMadeKeys() identity.Bootstrap {
	declared := tenancyBootstrap()
	declared.Users[0].Keys = append(declared.Users[0].Keys,
		identity.DeclaredKey{Description: "ci"}, identity.DeclaredKey{Description: "cluster", ExpiresAt: 4_000_000_000})
	return declared
}

func TestApplyBootstrapIsIdempotent(t *testing.T) {
	docs, clock := newTenancyDocuments(t), evidencetest.NewClock(time.Unix(1_800_000_000, 0))
	first := open(t, docs, clock)
	made := apply(t, first, bootstrapWithMadeKeys())
	if len(made) != 2 || made[0].Description != "ci" || made[1].ExpiresAt != 4_000_000_000 {
		t.Fatalf("made %+v", made)
	}
	anna := authenticate(t, first, made[0].Secret.Reveal())
	if anna.Name != "anna" || made[0].User != "anna" {
		t.Errorf("the made key is of %s", anna.Name)
	}
	org, err := first.Organization(t.Context(), "acme")
	evidencetest.Must(t, err)
	first.Close()
	stored := docs.bodies()

	second := open(t, docs, clock)
	before := docs.writes()
	if again := apply(t, second, bootstrapWithMadeKeys()); len(again) != 0 {
		t.Errorf("%d keys were made again", len(again))
	}
	if docs.writes() != before || len(docs.bodies()) != len(stored) {
		t.Error("the second start changed something")
	}
	if same, err := second.Organization(t.Context(), "acme"); err != nil || !reflect.DeepEqual(same, org) {
		t.Errorf("got %+v, %v, want %+v", same, err, org)
	}
	if docs.size("users") != 2 || docs.size("organizations") != 4 || docs.size("members") != 4 || docs.size("keys") != 4 {
		t.Errorf("there are %d users, %d organizations, %d members, %d keys",
			docs.size("users"), docs.size("organizations"), docs.size("members"), docs.size("keys"))
	}
}

// betaOf reports whether an organization has the beta features.
func betaOf(t *testing.T, store *tenancy.Tenancy, orgName string) bool {
	t.Helper()
	org, err := store.Organization(t.Context(), orgName)
	evidencetest.Must(t, err)
	return org.Beta
}

func TestNewOrganizationsHaveTheBetaFeaturesUnlessTheyAreOff(t *testing.T) {
	store, _, _ := newTenancy(t)
	anna, err := store.User(t.Context(), "anna")
	evidencetest.Must(t, err)
	for _, on := range []bool{true, false} {
		store.BetaByDefault = on
		shared, user, declared := fmt.Sprint("shared-", on), fmt.Sprint("user-", on), fmt.Sprint("declared-", on)
		if _, err := store.CreateOrganization(t.Context(), shared, anna, annaActs); err != nil {
			t.Fatal(err)
		}
		apply(t, store, identity.Bootstrap{
			Users:         []identity.DeclaredUser{{Name: user}, {Name: "other-" + user, Beta: new(!on)}},
			Organizations: []identity.DeclaredOrganization{{Name: declared}, {Name: "other-" + declared, Beta: new(!on)}},
		})
		for name, want := range map[string]bool{
			shared: on, user: on, declared: on, "other-" + user: !on, "other-" + declared: !on, "anna": true, "acme": true,
		} {
			if got := betaOf(t, store, name); got != want {
				t.Errorf("of new ones %t: %s has %t, want %t", on, name, got, want)
			}
		}
	}
}

func TestOrganizationsKeepTheirBetaFeaturesUnlessTheyAreDeclared(t *testing.T) {
	store, _, _ := newTenancy(t)
	for _, name := range []string{"acme", "anna"} {
		evidencetest.Must(t, store.SetBeta(t.Context(), name, false))
	}
	apply(t, store, tenancyBootstrap())
	if betaOf(t, store, "acme") || betaOf(t, store, "anna") {
		t.Error("the beta features are switched on again")
	}
	declared := tenancyBootstrap()
	declared.Users[0].Beta = new(true)
	apply(t, store, declared)
	if betaOf(t, store, "acme") || !betaOf(t, store, "anna") {
		t.Error("the beta features of anna alone are declared")
	}
}

func TestApplyBootstrapFollowsTheFileAndLeavesTheRestAlone(t *testing.T) {
	store, _, clock := newTenancy(t)
	anna := authenticate(t, store, annasKey)
	yes := true
	apply(t, store, identity.Bootstrap{
		Users: []identity.DeclaredUser{{Name: "anna"}, {Name: "carl"}},
		Organizations: []identity.DeclaredOrganization{
			{Name: "acme", Members: map[string]evidence.Role{"anna": evidence.Member, "carl": evidence.Reader}, Beta: &yes},
			{Name: "open"},
		},
	})
	access, err := store.Access(t.Context(), anna, "acme")
	if err != nil || access.Role != evidence.Member || !access.Beta {
		t.Errorf("got %+v, %v", access, err)
	}
	bert := authenticate(t, store, bertsKey)
	_, err = store.Access(t.Context(), bert, "open")
	wantCode(t, err, evidence.Forbidden)
	if access, err := store.Access(t.Context(), anna, "open"); err != nil || access.Role != evidence.Admin {
		t.Errorf("a membership that is no longer named is %+v, %v", access, err)
	}

	clock.Advance(1)
	apply(t, store, tenancyBootstrap())
	if access, err := store.Access(t.Context(), anna, "acme"); err != nil || !access.Beta || access.Role != evidence.Snapshotter {
		t.Errorf("without a word on beta it is %+v, %v", access, err)
	}
}

func TestApplyBootstrapMakesPersonalOrganizations(t *testing.T) {
	store, _, _ := newTenancy(t)
	org, err := store.Organization(t.Context(), "bert")
	if err != nil || org.Kind != evidence.PersonalOrganization || org.CreatedAt != 1_800_000_000 || org.Public {
		t.Errorf("got %+v, %v", org, err)
	}
	shared, err := store.Organization(t.Context(), "acme")
	if err != nil || shared.Kind != evidence.SharedOrganization {
		t.Errorf("got %+v, %v", shared, err)
	}
	if _, err := store.Organization(t.Context(), "nobody"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func TestDeclaredAddressReplacesTheStoredOne(t *testing.T) {
	store, _, _ := newTenancy(t)
	for _, c := range []struct{ declared, want string }{
		{"anna@example.com", "anna@example.com"}, {"", "anna@example.com"}, {"other@example.com", "other@example.com"}, {"", "other@example.com"},
	} {
		declared := tenancyBootstrap()
		declared.Users[0].Email = c.declared
		apply(t, store, declared)
		if user, err := store.User(t.Context(), "anna"); err != nil || user.Email != c.want {
			t.Errorf("declared as %q, the address is %q: %v", c.declared, user.Email, err)
		}
	}
}

func TestApplyBootstrapOfAFaultyDeclarationChangesNothing(t *testing.T) {
	// Before the fault, each declaration has something new and something that differs from what is stored.
	sound := func(users []identity.DeclaredUser, organizations ...identity.DeclaredOrganization) identity.Bootstrap {
		return identity.Bootstrap{
			Users: append([]identity.DeclaredUser{
				{Name: "dora", Keys: []identity.DeclaredKey{{Description: "made"}, {Secret: "a-key-that-is-new-here", Description: "brought"}}},
				{Name: "bert", Email: "other@example.com"},
			}, users...),
			Organizations: append([]identity.DeclaredOrganization{
				{Name: "new", Members: map[string]evidence.Role{"dora": evidence.Admin}},
				{Name: "open", Members: map[string]evidence.Role{"bert": evidence.Admin}},
			}, organizations...),
		}
	}
	brings := func(name string, secrets ...evidence.Secret) []identity.DeclaredUser {
		user := identity.DeclaredUser{Name: name}
		for _, secret := range secrets {
			user.Keys = append(user.Keys, identity.DeclaredKey{Secret: secret, Description: "laptop"})
		}
		return []identity.DeclaredUser{user}
	}
	for name, test := range map[string]struct {
		declared identity.Bootstrap
		want     []string
	}{
		"a shared organization named as a user": {
			sound(nil, identity.DeclaredOrganization{Name: "anna"}),
			[]string{"bootstrap organization anna: there is a personal organization of that name already"},
		},
		"a user named as a shared organization": {
			sound(brings("acme")),
			[]string{"bootstrap user acme: there is a shared organization of that name already"},
		},
		"a new user with another user's key": {
			sound(brings("carl", annasKey)),
			[]string{`bootstrap user carl: key "laptop": the same key belongs to somebody else already`},
		},
		"a known user with another user's key": {
			sound(brings("anna", bertsKey)),
			[]string{`bootstrap user anna: key "laptop": the same key belongs to somebody else already`},
		},
		"several faults": {
			sound(brings("carl", annasKey, bertsKey), identity.DeclaredOrganization{Name: "bert"}),
			[]string{"bootstrap user carl", "bootstrap organization bert"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, docs, _ := newTenancy(t)
			before := docs.stored()
			made, err := store.ApplyBootstrap(t.Context(), test.declared)
			if err == nil || len(made) != 0 {
				t.Errorf("it made %d keys, %v", len(made), err)
			}
			evidencetest.Contains(t, fmt.Sprint(err), test.want...)
			if !maps.Equal(docs.stored(), before) {
				t.Errorf("the stores have changed from %v to %v", before, docs.stored())
			}
			for _, secret := range []string{annasKey, bertsKey} {
				if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), evidence.HashAPIKey(secret))) {
					t.Errorf("a key is in %q", err)
				}
			}
		})
	}
}

// Another process takes a name after it was checked.
func TestApplyBootstrapThatFailsMidwayIsCompletedByTheNext(t *testing.T) {
	docs, clock := newTenancyDocuments(t), evidencetest.NewClock(time.Unix(1_800_000_000, 0))
	docs.hook(func(command, collection, id string) error {
		if command == "insert" && collection == "organizations" && id == "open" {
			docs.hook(nil)
			other := open(t, docs, clock)
			apply(t, other, identity.Bootstrap{Users: []identity.DeclaredUser{{Name: "open"}}})
		}
		return nil
	})
	store := open(t, docs, clock)
	returned, err := store.ApplyBootstrap(t.Context(), bootstrapWithMadeKeys())
	if err == nil || len(returned) != 2 {
		t.Fatalf("%d keys were returned, %v", len(returned), err)
	}
	corrected := bootstrapWithMadeKeys()
	corrected.Organizations[1].Name = "other"
	if again := apply(t, store, corrected); len(again) != 0 {
		t.Errorf("%d keys were made again", len(again))
	}
	anna := authenticate(t, store, returned[0].Secret.Reveal())
	for _, org := range []string{"acme", "other", "anna"} {
		if _, err := store.Access(t.Context(), anna, org); err != nil {
			t.Errorf("anna in %s: %v", org, err)
		}
	}
}

func TestApplyBootstrapByManyProcessesMakesEverythingOnce(t *testing.T) {
	docs, clock := newTenancyDocuments(t), evidencetest.NewClock(time.Unix(1_800_000_000, 0))
	const processes = 8
	var mu sync.Mutex
	var made []identity.MadeKey
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			store := open(t, docs, clock)
			keys, err := store.ApplyBootstrap(t.Context(), bootstrapWithMadeKeys())
			evidencetest.Check(t, err)
			mu.Lock()
			defer mu.Unlock()
			made = append(made, keys...)
		})
	}
	wg.Wait()
	if len(made) != 2 {
		t.Errorf("%d keys were returned, want 2", len(made))
	}
	store := open(t, docs, clock)
	ids := map[string]bool{}
	for _, key := range made {
		ids[authenticate(t, store, key.Secret.Reveal()).UserID] = true
	}
	ids[authenticate(t, store, annasKey).UserID] = true
	if len(ids) != 1 {
		t.Errorf("anna has %d ids", len(ids))
	}
	if docs.size("keys") != 4 || docs.size("members") != 4 || docs.size("organizations") != 4 {
		t.Errorf("there are %d keys, %d members, %d organizations",
			docs.size("keys"), docs.size("members"), docs.size("organizations"))
	}
}

func TestApplyBootstrapCompletesAnInterruptedOne(t *testing.T) {
	crash := errors.New("killed")
	for at := 1; ; at++ {
		docs, clock := newTenancyDocuments(t), evidencetest.NewClock(time.Unix(1_800_000_000, 0))
		commands := 0
		docs.hook(func(string, string, string) error {
			commands++
			if commands >= at {
				return crash
			}
			return nil
		})
		killed := open(t, docs, clock)
		returned, err := killed.ApplyBootstrap(t.Context(), bootstrapWithMadeKeys())
		killed.Close()
		docs.hook(nil)
		store := open(t, docs, clock)
		returned = append(returned, apply(t, store, bootstrapWithMadeKeys())...)
		checkComplete(t, store, returned, fmt.Sprintf("killed at command %d", at))
		store.Close()
		if err == nil {
			return
		}
	}
}

func checkComplete(t *testing.T, store *tenancy.Tenancy, returned []identity.MadeKey, when string) {
	t.Helper()
	if len(returned) != 2 {
		t.Errorf("%s: %d keys were returned, want 2", when, len(returned))
	}
	for _, key := range returned {
		authenticate(t, store, key.Secret.Reveal())
	}
	anna, bert := authenticate(t, store, annasKey), authenticate(t, store, bertsKey)
	for _, org := range []string{"acme", "open", "anna"} {
		if _, err := store.Access(t.Context(), anna, org); err != nil {
			t.Errorf("%s: anna in %s: %v", when, org, err)
		}
	}
	if _, err := store.Access(t.Context(), bert, "open"); err != nil {
		t.Errorf("%s: bert in open: %v", when, err)
	}
}

func TestRevokedMadeKeyIsNotMadeAgain(t *testing.T) {
	store, _, clock := newTenancy(t)
	made := apply(t, store, bootstrapWithMadeKeys())
	authenticate(t, store, made[0].Secret.Reveal())
	declared := bootstrapWithMadeKeys()
	declared.Users[0].Keys[1].ExpiresAt = clock.Now().Unix()
	if again := apply(t, store, declared); len(again) != 0 {
		t.Error("the key was made again")
	}
	wantUnauthorized(t, store, made[0].Secret.Reveal())
}

func TestEntriesDeclaredAbsentAreRemoved(t *testing.T) {
	store, _, _ := newTenancy(t)
	made := apply(t, store, bootstrapWithMadeKeys())
	declared := tenancyBootstrap()
	declared.Users[0].Keys[0].Absent = true
	declared.Users[0].Keys = append(declared.Users[0].Keys, identity.DeclaredKey{Description: made[0].Description, Absent: true})
	declared.Users[1] = identity.DeclaredUser{Name: "bert", Absent: true}
	declared.Organizations[0].Members, declared.Organizations[0].AbsentMembers = nil, []string{"anna", "nobody"}
	for range 2 {
		apply(t, store, declared)
		for _, secret := range []string{annasKey, bertsKey, made[0].Secret.Reveal()} {
			wantUnauthorized(t, store, secret)
		}
		anna := authenticate(t, store, made[1].Secret.Reveal())
		_, err := store.Access(t.Context(), anna, "acme")
		wantCode(t, err, evidence.Forbidden)
	}
	wantLog(t, store, "acme", "removed user anna snapshotter->none by  (script)")
	// A key that is still in a file does not come back.
	apply(t, store, bootstrapWithMadeKeys())
	wantUnauthorized(t, store, annasKey)
	if got := access(t, store, made[1].Secret.Reveal(), "acme"); got != evidence.Snapshotter {
		t.Errorf("anna, who is declared again, is %v", got)
	}
}

// failEach repeats what run does, after tenancyBootstrap, with each of its commands failing once.
func failEach(t *testing.T, least int, clock *evidencetest.Clock, run func(store *tenancy.Tenancy) error) {
	t.Helper()
	open := func() storage.Documents {
		docs := newTenancyDocuments(t)
		store := tenancy.New(docs, clock.Now, slog.New(slog.DiscardHandler))
		defer store.Close()
		apply(t, store, tenancyBootstrap())
		return docs
	}
	storagetest.EachFailure(t, least, open, func(docs storage.Documents) error {
		store := tenancy.New(docs, clock.Now, slog.New(slog.DiscardHandler))
		defer store.Close()
		return run(store)
	})
}

func TestBootstrapFailsWithEachOfItsCommands(t *testing.T) {
	declared := bootstrapWithMadeKeys()
	declared.Users[0].Keys[0].Absent = true
	declared.Organizations[0].Members, declared.Organizations[0].AbsentMembers = map[string]evidence.Role{"bert": evidence.Admin}, []string{"anna"}
	failEach(t, 20, evidencetest.NewClock(time.Unix(1_800_000_000, 0)), func(store *tenancy.Tenancy) error {
		_, err := store.ApplyBootstrap(t.Context(), declared)
		return err
	})
}
