package tenancy_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/storagetest"
	"attestry/storage/tenancy"
)

// overlapping returns a Tenancy. Before its first write of a kind to the collection, between is called with another
// Tenancy on the same documents, as of another process.
func overlapping(t *testing.T, kind, collection string, between func(other *tenancy.Tenancy)) (*tenancy.Tenancy, *tenancyDocuments) {
	t.Helper()
	store, docs, clock := newTenancy(t)
	other := open(t, docs, clock)
	docs.hook(func(command, written, _ string) error {
		if command == kind && written == collection {
			docs.hook(nil)
			between(other)
		}
		return nil
	})
	t.Cleanup(func() {
		docs.mu.Lock()
		defer docs.mu.Unlock()
		if docs.before != nil {
			t.Errorf("there was no %s of %s", kind, collection)
		}
	})
	return store, docs
}

// withSecondAdmin makes bert an administrator of "open" while the hook is not set.
func withSecondAdmin(t *testing.T, store *tenancy.Tenancy, docs *tenancyDocuments) {
	t.Helper()
	before := docs.before
	docs.hook(nil)
	if _, err := store.SetMember(t.Context(), "open", "bert", evidence.Admin, annaActs); err != nil {
		t.Fatal(err)
	}
	docs.hook(before)
}

func membersOf(t *testing.T, store *tenancy.Tenancy, orgName string) string {
	t.Helper()
	org, err := store.Organization(t.Context(), orgName)
	evidencetest.Must(t, err)
	members, err := store.Members(t.Context(), org.ID)
	evidencetest.Must(t, err)
	var names []string
	for _, member := range members {
		names = append(names, member.UserName+" "+member.Role.String())
	}
	return strings.Join(names, ", ")
}

func TestTheLastAdministratorStaysWhileAnotherIsBeingRemoved(t *testing.T) {
	var refused error
	store, docs := overlapping(t, "replace", "members", func(other *tenancy.Tenancy) {
		_, refused = other.RemoveMember(context.Background(), "open", "anna", annaActs)
	})
	withSecondAdmin(t, store, docs)
	if _, err := store.RemoveMember(t.Context(), "open", "bert", annaActs); err != nil {
		t.Fatal(err)
	}
	wantCode(t, refused, evidence.Invalid)
	if got := membersOf(t, store, "open"); got != "anna admin" {
		t.Errorf("members are %s", got)
	}
}

func TestAnAdministratorWhoIsNotStoredYetIsNotCounted(t *testing.T) {
	var refused error
	store, _ := overlapping(t, "insert", "members", func(other *tenancy.Tenancy) {
		_, refused = other.RemoveMember(context.Background(), "open", "anna", annaActs)
	})
	if _, err := store.SetMember(t.Context(), "open", "bert", evidence.Admin, annaActs); err != nil {
		t.Fatal(err)
	}
	wantCode(t, refused, evidence.Invalid)
	if got := membersOf(t, store, "open"); got != "anna admin, bert admin" {
		t.Errorf("members are %s", got)
	}
}

func TestOverlappingChangesOfOneMemberAgreeWithTheLog(t *testing.T) {
	store, docs := overlapping(t, "replace", "members", func(other *tenancy.Tenancy) {
		if _, err := other.SetMember(context.Background(), "open", "bert", evidence.Member, annaActs); err != nil {
			t.Error(err)
		}
	})
	withSecondAdmin(t, store, docs)
	if _, err := store.RemoveMember(t.Context(), "open", "bert", annaActs); err != nil {
		t.Fatal(err)
	}
	if got := membersOf(t, store, "open"); got != "anna admin" {
		t.Errorf("members are %s", got)
	}
	wantLog(t, store, "open",
		"added user bert none->admin by anna (app)",
		"changed user bert admin->member by anna (app)",
		"removed user bert member->none by anna (app)")
}

func TestRotationOvertakenByARevocationLeavesNoKey(t *testing.T) {
	var owner identity.KeyOwner
	var old evidence.Key
	store, docs := overlapping(t, "replace", "keys", func(other *tenancy.Tenancy) {
		evidencetest.Check(t, other.RevokeKey(context.Background(), owner, annaActs, old.ID))
	})
	before := docs.before
	docs.hook(nil)
	owner, _ = store.UserKeys(t.Context(), "bert")
	old, _, _ = store.IssueKey(t.Context(), owner, annaActs, tenancy.NewKey{Description: "ci"})
	docs.hook(before)
	if _, _, _, err := store.RotateKey(t.Context(), owner, annaActs, old.ID, time.Hour, 0); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("rotating gives %v", err)
	}
	keys, err := store.Keys(t.Context(), owner.ID)
	if err != nil || len(keys) != 1 || keys[0].Description == "ci" {
		t.Errorf("keys are %+v, %v", keys, err)
	}
	wantLog(t, store, "bert", `added key "ci" of user bert by anna (app)`, `removed key "ci" of user bert by anna (app)`)
}

func TestChangeMadeByTwoProcessesIsRecordedOnce(t *testing.T) {
	var robot identity.ServiceAccount
	promote := func(account *identity.ServiceAccount) { account.Privilege = evidence.Admin }
	store, docs := overlapping(t, "replace", "service_accounts", func(other *tenancy.Tenancy) {
		by := identity.Actor{ID: "id-of-bert", Name: "bert", Source: identity.SourceApp}
		if _, err := other.UpdateServiceAccount(context.Background(), "acme", by, robot, promote); err != nil {
			t.Error(err)
		}
	})
	before := docs.before
	docs.hook(nil)
	robot, _ = store.CreateServiceAccount(t.Context(), "acme", annaActs, identity.ServiceAccount{Name: "robot", Privilege: evidence.Reader})
	docs.hook(before)
	if _, err := store.UpdateServiceAccount(t.Context(), "acme", annaActs, robot, promote); err != nil {
		t.Fatal(err)
	}
	wantLog(t, store, "acme", "added service_account robot none->reader by anna (app)", "changed service_account robot reader->admin by bert (app)")
}

func TestKeyIssuedDuringTheRemovalOfItsUserIsInvalid(t *testing.T) {
	store, _ := overlapping(t, "put", "keys", func(other *tenancy.Tenancy) {
		evidencetest.Check(t, other.RemoveUser(context.Background(), "bert", identity.Operator()))
	})
	owner, _ := store.UserKeys(t.Context(), "bert")
	_, secret, err := store.IssueKey(t.Context(), owner, annaActs, tenancy.NewKey{Description: "ci"})
	evidencetest.Must(t, err)
	wantUnauthorized(t, store, secret.Reveal())
	evidencetest.Must(t, store.CreateUser(t.Context(), "bert", "", identity.Operator()))
	wantUnauthorized(t, store, secret.Reveal())
}

func TestInterruptedRemovalIsFinishedBeforeTheUserIsCreatedAgain(t *testing.T) {
	store, docs, _ := newTenancy(t)
	docs.hook(func(command, collection, _ string) error {
		if command == "replace" && slices.Contains([]string{"keys", "members"}, collection) {
			return errors.New("killed")
		}
		return nil
	})
	if err := store.RemoveUser(t.Context(), "anna", identity.Operator()); err == nil {
		t.Fatal("the removal was not cut short")
	}
	docs.hook(nil)
	evidencetest.Must(t, store.CreateUser(t.Context(), "anna", "", identity.Operator()))
	wantUnauthorized(t, store, annasKey)
	if got := membersOf(t, store, "acme") + membersOf(t, store, "open"); got != "" {
		t.Errorf("members are %s", got)
	}
}

// An earlier version stored keys without the fields of their index.
func TestKeysOfEarlierVersionsStayRevoked(t *testing.T) {
	store, docs, clock := newTenancy(t)
	for _, schema := range tenancy.Schemas() {
		if schema.Name != "keys" {
			continue
		}
		for _, record := range docs.all("keys") {
			record.Fields = nil
			evidencetest.Must(t, storagetest.Put(t.Context(), docs.Documents, schema, record))
		}
	}
	clock.Advance(time.Minute)
	evidencetest.Must(t, store.RemoveUser(t.Context(), "bert", identity.Operator()))
	evidencetest.Must(t, store.CreateUser(t.Context(), "bert", "", identity.Operator()))
	wantUnauthorized(t, store, bertsKey)
}

func TestGrantsTakeEffectAtOnce(t *testing.T) {
	store, _, _ := newTenancy(t)
	if got := access(t, store, bertsKey, "open"); got != evidence.Reader {
		t.Fatalf("bert is %v of a public organization", got)
	}
	if _, err := store.SetMember(t.Context(), "open", "bert", evidence.Member, annaActs); err != nil {
		t.Fatal(err)
	}
	if got := access(t, store, bertsKey, "open"); got != evidence.Member {
		t.Errorf("bert, who has just become a member, is %v", got)
	}
	for i, name := range []string{"one", "two"} {
		provider := identity.IdentityProvider{Name: name, Issuer: "https://forge.example", Audience: "a", Privilege: evidence.Member}
		if _, _, err := store.PutIdentityProvider(t.Context(), "acme", annaActs, provider); err != nil {
			t.Fatal(err)
		}
		if found, err := store.IdentityProviders(t.Context(), "acme"); err != nil || len(found) != i+1 {
			t.Errorf("%d providers, %v", len(found), err)
		}
	}
}
