package storage_test

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"attestry/evidence"
	"attestry/storage"
)

func bootstrapWithMadeKeys() evidence.Bootstrap {
	declared := tenancyBootstrap()
	declared.Users[0].Keys = append(declared.Users[0].Keys,
		evidence.DeclaredKey{Description: "ci"}, evidence.DeclaredKey{Description: "cluster", ExpiresAt: 4_000_000_000})
	return declared
}

func TestApplyBootstrapIsIdempotent(t *testing.T) {
	docs, hands := newTenancyDocuments(), newHands()
	first := storage.NewTenancy(docs, hands.clock, slog.New(slog.DiscardHandler))
	made := apply(t, first, bootstrapWithMadeKeys())
	if len(made) != 2 || made[0].Description != "ci" || made[1].ExpiresAt != 4_000_000_000 {
		t.Fatalf("made %+v", made)
	}
	anna := authenticate(t, first, made[0].Secret.Reveal())
	if anna.Name != "anna" || made[0].User != "anna" {
		t.Errorf("the made key is of %s", anna.Name)
	}
	org, err := first.Organization(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	stored := docs.bodies()

	second := storage.NewTenancy(docs, hands.clock, slog.New(slog.DiscardHandler))
	t.Cleanup(second.Close)
	before := docs.writes()
	if again := apply(t, second, bootstrapWithMadeKeys()); len(again) != 0 {
		t.Errorf("%d keys were made again", len(again))
	}
	if docs.writes() != before || len(docs.bodies()) != len(stored) {
		t.Error("the second start changed something")
	}
	if same, err := second.Organization(t.Context(), "acme"); err != nil || same != org {
		t.Errorf("got %+v, %v, want %+v", same, err, org)
	}
	if docs.size("users") != 2 || docs.size("organizations") != 4 || docs.size("members") != 4 || docs.size("keys") != 4 {
		t.Errorf("there are %d users, %d organizations, %d members, %d keys",
			docs.size("users"), docs.size("organizations"), docs.size("members"), docs.size("keys"))
	}
}

func TestApplyBootstrapFollowsTheFileAndLeavesTheRestAlone(t *testing.T) {
	tenancy, _, hands := tenancy(t)
	anna := authenticate(t, tenancy, annasKey)
	yes := true
	apply(t, tenancy, evidence.Bootstrap{
		Users: []evidence.DeclaredUser{{Name: "anna"}, {Name: "carl"}},
		Organizations: []evidence.DeclaredOrganization{
			{Name: "acme", Members: map[string]evidence.Role{"anna": evidence.Member, "carl": evidence.Reader}, Beta: &yes},
			{Name: "open"},
		},
	})
	access, err := tenancy.Access(t.Context(), anna, "acme")
	if err != nil || access.Role != evidence.Member || !access.Beta {
		t.Errorf("got %+v, %v", access, err)
	}
	bert := authenticate(t, tenancy, bertsKey)
	_, err = tenancy.Access(t.Context(), bert, "open")
	wantCode(t, err, evidence.Forbidden)
	if access, err := tenancy.Access(t.Context(), anna, "open"); err != nil || access.Role != evidence.Admin {
		t.Errorf("a membership that is no longer named is %+v, %v", access, err)
	}

	hands.turn(1)
	apply(t, tenancy, tenancyBootstrap())
	if access, err := tenancy.Access(t.Context(), anna, "acme"); err != nil || !access.Beta || access.Role != evidence.Snapshotter {
		t.Errorf("without a word on beta it is %+v, %v", access, err)
	}
}

func TestApplyBootstrapMakesPersonalOrganizations(t *testing.T) {
	tenancy, _, _ := tenancy(t)
	org, err := tenancy.Organization(t.Context(), "bert")
	if err != nil || org.Kind != evidence.PersonalOrganization || org.CreatedAt != 1_800_000_000 || org.Public {
		t.Errorf("got %+v, %v", org, err)
	}
	shared, err := tenancy.Organization(t.Context(), "acme")
	if err != nil || shared.Kind != evidence.SharedOrganization {
		t.Errorf("got %+v, %v", shared, err)
	}
	if _, err := tenancy.Organization(t.Context(), "nobody"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func TestApplyBootstrapRefusesToTakeOverWhatIsSomebodysOwn(t *testing.T) {
	conflicts := map[string]evidence.Bootstrap{
		"a shared organization named as a user": {Organizations: []evidence.DeclaredOrganization{{Name: "anna"}}},
		"a user named as a shared organization": {Users: []evidence.DeclaredUser{{Name: "acme"}}},
		"another user's key": {Users: []evidence.DeclaredUser{
			{Name: "carl", Keys: []evidence.DeclaredKey{{Secret: annasKey, Description: "laptop"}}}}},
		"a member who is not declared": {Organizations: []evidence.DeclaredOrganization{
			{Name: "acme", Members: map[string]evidence.Role{"anna": evidence.Admin}}}},
	}
	for name, declared := range conflicts {
		tenancy, _, _ := tenancy(t)
		if _, err := tenancy.ApplyBootstrap(t.Context(), declared); err == nil {
			t.Errorf("%s is accepted", name)
		}
		if owner := authenticate(t, tenancy, annasKey); owner.Name != "anna" {
			t.Errorf("after %s the key is of %s", name, owner.Name)
		}
	}
}

func TestApplyBootstrapByManyProcessesMakesEverythingOnce(t *testing.T) {
	docs, hands := newTenancyDocuments(), newHands()
	const processes = 8
	var mu sync.Mutex
	var made []evidence.MadeKey
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			tenancy := storage.NewTenancy(docs, hands.clock, slog.New(slog.DiscardHandler))
			defer tenancy.Close()
			keys, err := tenancy.ApplyBootstrap(t.Context(), bootstrapWithMadeKeys())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			made = append(made, keys...)
		})
	}
	wg.Wait()
	if len(made) != 2 {
		t.Errorf("%d keys were told, want 2", len(made))
	}
	tenancy := storage.NewTenancy(docs, hands.clock, slog.New(slog.DiscardHandler))
	t.Cleanup(tenancy.Close)
	ids := map[string]bool{}
	for _, key := range made {
		ids[authenticate(t, tenancy, key.Secret.Reveal()).UserID] = true
	}
	ids[authenticate(t, tenancy, annasKey).UserID] = true
	if len(ids) != 1 {
		t.Errorf("anna has %d ids", len(ids))
	}
	if docs.size("keys") != 4 || docs.size("members") != 4 || docs.size("organizations") != 4 {
		t.Errorf("there are %d keys, %d members, %d organizations",
			docs.size("keys"), docs.size("members"), docs.size("organizations"))
	}
}

func TestApplyBootstrapFinishesWhatACrashLeft(t *testing.T) {
	crash := errors.New("killed")
	for at := 1; ; at++ {
		docs, hands := newTenancyDocuments(), newHands()
		commands := 0
		docs.hook(func(string, string, string) error {
			commands++
			if commands >= at {
				return crash
			}
			return nil
		})
		killed := storage.NewTenancy(docs, hands.clock, slog.New(slog.DiscardHandler))
		told, err := killed.ApplyBootstrap(t.Context(), bootstrapWithMadeKeys())
		killed.Close()
		docs.hook(nil)
		tenancy := storage.NewTenancy(docs, hands.clock, slog.New(slog.DiscardHandler))
		told = append(told, apply(t, tenancy, bootstrapWithMadeKeys())...)
		checkComplete(t, tenancy, told, fmt.Sprintf("killed at command %d", at))
		tenancy.Close()
		if err == nil {
			return
		}
	}
}

func checkComplete(t *testing.T, tenancy *storage.Tenancy, told []evidence.MadeKey, when string) {
	t.Helper()
	if len(told) != 2 {
		t.Errorf("%s: %d keys were told, want 2", when, len(told))
	}
	for _, key := range told {
		authenticate(t, tenancy, key.Secret.Reveal())
	}
	anna, bert := authenticate(t, tenancy, annasKey), authenticate(t, tenancy, bertsKey)
	for _, org := range []string{"acme", "open", "anna"} {
		if _, err := tenancy.Access(t.Context(), anna, org); err != nil {
			t.Errorf("%s: anna in %s: %v", when, org, err)
		}
	}
	if _, err := tenancy.Access(t.Context(), bert, "open"); err != nil {
		t.Errorf("%s: bert in open: %v", when, err)
	}
}

func TestARevokedMadeKeyIsNotMadeAgain(t *testing.T) {
	tenancy, _, _ := tenancy(t)
	made := apply(t, tenancy, bootstrapWithMadeKeys())
	anna := authenticate(t, tenancy, made[0].Secret.Reveal())
	if err := tenancy.RevokeKey(t.Context(), anna.UserID, anna.KeyID); err != nil {
		t.Fatal(err)
	}
	if again := apply(t, tenancy, bootstrapWithMadeKeys()); len(again) != 0 {
		t.Error("the key was made again")
	}
	_, err := tenancy.Authenticate(t.Context(), made[0].Secret.Reveal())
	wantCode(t, err, evidence.Unauthorized)
}
