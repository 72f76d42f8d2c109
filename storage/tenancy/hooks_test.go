package tenancy_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/tenancy"
)

// hooks declares inbound webhooks of the organization acme.
func hooks(declared ...identity.DeclaredHook) identity.Bootstrap {
	return identity.Bootstrap{Organizations: []identity.DeclaredOrganization{{Name: "acme", Hooks: declared}}}
}

// wantHook checks the organization and the secret of a hook; org "" means that there is no hook.
func wantHook(t *testing.T, store *tenancy.Tenancy, kind identity.HookKind, uid, org, secret string) {
	t.Helper()
	got, err := store.Hook(t.Context(), kind, uid)
	if org == "" {
		if !errors.Is(err, storage.ErrNotFound) || strings.Contains(err.Error(), evidence.HashAPIKey(uid)) {
			t.Errorf("%s: got %v", uid, err)
		}
		return
	}
	if err != nil || got.OrgName != org || got.OrgID == "" || got.Kind != kind || got.Secret.Reveal() != secret {
		t.Errorf("%s: got %+v, %v", uid, got, err)
	}
}

func TestHooksFollowTheirDeclaration(t *testing.T) {
	store, docs, _ := newTenancy(t)
	first := identity.DeclaredHook{Kind: identity.SonarHook, UID: "uid-of-the-first", Secret: "secret-of-the-first", FlowPrefix: "a", FlowSuffix: "b"}
	second := identity.DeclaredHook{Kind: identity.LaunchDarklyHook, UID: "uid-of-the-second", Secret: "secret-of-the-second"}
	for range 2 {
		apply(t, store, hooks(first, second))
		wantHook(t, store, identity.SonarHook, "uid-of-the-first", "acme", "secret-of-the-first")
		wantHook(t, store, identity.LaunchDarklyHook, "uid-of-the-second", "acme", "secret-of-the-second")
	}
	if got, err := store.Hook(t.Context(), identity.SonarHook, "uid-of-the-first"); err != nil || got.FlowPrefix != "a" || got.FlowSuffix != "b" {
		t.Errorf("got %+v, %v", got, err)
	}
	wantHook(t, store, identity.SonarHook, "uid-of-the-second", "", "")
	wantHook(t, store, identity.SonarHook, "uid-of-nobody", "", "")

	first.Secret = "another-secret-of-it"
	apply(t, store, hooks(first))
	wantHook(t, store, identity.SonarHook, "uid-of-the-first", "acme", "another-secret-of-it")
	wantHook(t, store, identity.LaunchDarklyHook, "uid-of-the-second", "", "")
	apply(t, store, tenancyBootstrap()) // acme has no hooks in it
	wantHook(t, store, identity.SonarHook, "uid-of-the-first", "", "")
	if strings.Contains(docs.bodies(), "uid-of-the") {
		t.Error("a uid is stored")
	}
}

func TestHooksOfOrganizationsThatAreNotDeclaredStay(t *testing.T) {
	store, _, _ := newTenancy(t)
	apply(t, store, hooks(identity.DeclaredHook{Kind: identity.SonarHook, UID: "uid-of-the-first", Secret: "secret-of-the-first"}))
	apply(t, store, identity.Bootstrap{Organizations: []identity.DeclaredOrganization{{Name: "another"}}})
	wantHook(t, store, identity.SonarHook, "uid-of-the-first", "acme", "secret-of-the-first")
}

func TestUIDsOfHooksBelongToOneOrganization(t *testing.T) {
	store, docs, clock := newTenancy(t)
	hook := identity.DeclaredHook{Kind: identity.SonarHook, UID: "uid-of-the-first", Secret: "secret-of-the-first"}
	apply(t, store, hooks(hook))
	before := docs.stored()
	for name, declared := range map[string][]identity.DeclaredOrganization{
		"taken by another one": {{Name: "other", Hooks: []identity.DeclaredHook{hook}}},
		"given to two":         {{Name: "acme", Hooks: []identity.DeclaredHook{hook}}, {Name: "other", Hooks: []identity.DeclaredHook{hook}}},
	} {
		t.Run(name, func(t *testing.T) {
			elsewhere := open(t, docs, clock)
			_, err := elsewhere.ApplyBootstrap(t.Context(), identity.Bootstrap{Organizations: declared})
			if err == nil || !strings.Contains(err.Error(), "the uid of a webhook") || strings.Contains(err.Error(), "of-the-first") {
				t.Errorf("got %v", err)
			}
			if !maps.Equal(docs.stored(), before) {
				t.Error("something was stored")
			}
		})
	}
}
