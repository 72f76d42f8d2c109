package tenancy_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/tenancy"
)

const (
	annasKey = "anna-has-a-key-of-her-own"
	bertsKey = "bert-has-another-one-here"
)

func tenancyBootstrap() identity.Bootstrap {
	return identity.Bootstrap{
		Users: []identity.DeclaredUser{
			{Name: "anna", Email: "anna@example.com", Keys: []identity.DeclaredKey{{Secret: annasKey, Description: "laptop"}}},
			{Name: "bert", Keys: []identity.DeclaredKey{{Secret: bertsKey, Description: "laptop"}}},
		},
		Organizations: []identity.DeclaredOrganization{
			{Name: "acme", Members: map[string]evidence.Role{"anna": evidence.Snapshotter}},
			{Name: "open", Public: true, Members: map[string]evidence.Role{"anna": evidence.Admin}},
		},
	}
}

// newTenancy returns a Tenancy to which tenancyBootstrap is applied.
func newTenancy(t *testing.T) (*tenancy.Tenancy, *tenancyDocuments, *evidencetest.Clock) {
	t.Helper()
	docs, clock := newTenancyDocuments(t), evidencetest.NewClock(time.Unix(1_800_000_000, 0))
	store := open(t, docs, clock)
	apply(t, store, tenancyBootstrap())
	return store, docs, clock
}

// open opens a Tenancy of another process.
func open(t *testing.T, docs storage.Documents, clock *evidencetest.Clock) *tenancy.Tenancy {
	t.Helper()
	store := tenancy.New(docs, clock.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(store.Close)
	return store
}

func apply(t *testing.T, store *tenancy.Tenancy, declared identity.Bootstrap) []identity.MadeKey {
	t.Helper()
	made, err := store.ApplyBootstrap(t.Context(), declared)
	evidencetest.Must(t, err)
	return made
}

// revoked returns a declaration that revokes anna's key by its expiry.
func revoked(clock *evidencetest.Clock) identity.Bootstrap {
	declared := tenancyBootstrap()
	declared.Users[0].Keys[0].ExpiresAt = clock.Now().Unix()
	return declared
}

func authenticate(t *testing.T, store *tenancy.Tenancy, secret string) evidence.Principal {
	t.Helper()
	principal, err := store.Authenticate(t.Context(), secret)
	evidencetest.Must(t, err)
	return principal
}

func wantCode(t *testing.T, err error, want evidence.Code) {
	t.Helper()
	if got := evidence.CodeOf(err); got != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

func wantUnauthorized(t *testing.T, store *tenancy.Tenancy, secret string) {
	t.Helper()
	_, err := store.Authenticate(t.Context(), secret)
	wantCode(t, err, evidence.Unauthorized)
}

func TestSecretsThatCannotBeKeysCostNoCommand(t *testing.T) {
	store, docs, _ := newTenancy(t)
	key := apply(t, store, bootstrapWithMadeKeys())[0].Secret.Reveal()
	before := docs.count()
	for _, secret := range []string{"", key[:len(key)-1] + string('a'+(key[len(key)-1]+1)%26)} {
		if _, err := store.Authenticate(t.Context(), secret); err != evidence.ErrUnknownKey {
			t.Errorf("%q: got %v", secret, err)
		}
	}
	if after := docs.count(); after != before {
		t.Errorf("they cost %d commands", after-before)
	}
}

func TestAuthenticateReturnsTheOwnerOfTheKey(t *testing.T) {
	store, _, _ := newTenancy(t)
	anna := authenticate(t, store, annasKey)
	bert := authenticate(t, store, bertsKey)
	if anna.Name != "anna" || bert.Name != "bert" || anna.ServiceAccount {
		t.Errorf("got %+v and %+v", anna, bert)
	}
	if anna.UserID == bert.UserID || anna.KeyID == bert.KeyID || anna.KeyID == evidence.HashAPIKey(annasKey) {
		t.Errorf("ids are not of their own: %+v and %+v", anna, bert)
	}
}

func TestAuthenticateAnswersEveryBadKeyAlike(t *testing.T) {
	store, docs, clock := newTenancy(t)
	authenticate(t, store, annasKey)
	declared := revoked(clock)
	declared.Users[1].Keys[0].ExpiresAt = clock.Now().Unix()
	apply(t, store, declared)

	mistyped := "att_0" + evidence.NewAPIKey().Reveal()[5:]
	if !evidence.MistypedAPIKey(mistyped) {
		mistyped = "att_1" + mistyped[5:] // the key began with the 0
	}
	for _, secret := range []string{"", "no-such-key-anywhere", annasKey, bertsKey, annasKey + " ", mistyped, "\x00\xff"} {
		_, err := store.Authenticate(t.Context(), secret)
		wantCode(t, err, evidence.Unauthorized)
		if err != nil && err.Error() != evidence.InvalidKeyMessage {
			t.Errorf("%q is answered %q", secret, err)
		}
	}
	store.Close() // waits until uses of keys are written
	before := docs.count()
	_, _ = store.Authenticate(t.Context(), mistyped)
	if docs.count() != before {
		t.Error("a mistyped key was looked up")
	}
}

func TestOnlySecretsThatWereNeverKeysAreUnknown(t *testing.T) {
	store, _, clock := newTenancy(t)
	for secret, want := range map[string]bool{"no-such-key-anywhere": true, "": true, annasKey: false} {
		apply(t, store, revoked(clock))
		_, err := store.Authenticate(t.Context(), secret)
		if got := errors.Is(err, evidence.ErrUnknownKey); got != want {
			t.Errorf("%q: unknown is %v: %v", secret, got, err)
		}
	}
}

func TestUnknownKeysAreCachedUntilTheyAreDeclared(t *testing.T) {
	const added = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2ln"
	here, docs, clock := newTenancy(t)
	there := open(t, docs, clock)
	stores := []*tenancy.Tenancy{here, there}
	for _, store := range stores {
		wantUnauthorized(t, store, added)
		before := docs.count()
		wantUnauthorized(t, store, added)
		if n := docs.count() - before; n != 0 {
			t.Errorf("looking it up again takes %d commands", n)
		}
	}
	declared := tenancyBootstrap()
	declared.Users[0].Keys = append(declared.Users[0].Keys, identity.DeclaredKey{Secret: added, Description: "older"})
	apply(t, here, declared)
	authenticate(t, here, added)
	clock.Advance(time.Second)
	authenticate(t, there, added)
}

func TestRemovedMemberWithoutAKeyLosesAccessInOtherProcesses(t *testing.T) {
	here, docs, clock := newTenancy(t)
	elsewhere := open(t, docs, clock)
	anna, err := elsewhere.UserPrincipal(t.Context(), "anna", clock.Now())
	evidencetest.Must(t, err)
	if access, err := elsewhere.Access(t.Context(), anna, "acme"); err != nil || access.Role != evidence.Snapshotter {
		t.Fatalf("has role %v: %v", access.Role, err)
	}
	if _, err := here.RemoveMember(t.Context(), "acme", "anna", annaActs); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Second)
	_, err = elsewhere.Access(t.Context(), anna, "acme")
	wantCode(t, err, evidence.Forbidden)
}

func TestRevocationTakesEffectAtOnceAndSoonInOtherProcesses(t *testing.T) {
	here, docs, clock := newTenancy(t)
	elsewhere := open(t, docs, clock)
	authenticate(t, here, annasKey)
	authenticate(t, elsewhere, annasKey)

	apply(t, here, revoked(clock))
	wantUnauthorized(t, here, annasKey)
	clock.Advance(time.Second)
	wantUnauthorized(t, elsewhere, annasKey)
}

func TestALookUpUnderWayDoesNotOutliveARevocation(t *testing.T) {
	store, docs, clock := newTenancy(t)
	authenticate(t, store, annasKey)
	store.Close()                       // the use of the key is written
	apply(t, store, tenancyBootstrap()) // empties the caches

	read, goOn := make(chan struct{}), make(chan struct{})
	var halted atomic.Bool
	docs.mu.Lock()
	docs.after = func(collection, _ string) {
		if collection == "keys" && halted.CompareAndSwap(false, true) {
			close(read)
			<-goOn
		}
	}
	docs.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = store.Authenticate(context.Background(), annasKey)
	}()
	<-read
	apply(t, store, revoked(clock))
	close(goOn)
	<-done
	wantUnauthorized(t, store, annasKey)
}

func TestAccessReturnsTheRoleOfTheMembership(t *testing.T) {
	store, _, _ := newTenancy(t)
	anna, bert := authenticate(t, store, annasKey), authenticate(t, store, bertsKey)
	cases := []struct {
		who  evidence.Principal
		org  string
		want evidence.Role
	}{
		{anna, "acme", evidence.Snapshotter},
		{anna, "anna", evidence.Admin},
		{anna, "open", evidence.Admin},
		{bert, "bert", evidence.Admin},
		{bert, "open", evidence.Reader},
	}
	for _, c := range cases {
		access, err := store.Access(t.Context(), c.who, c.org)
		if err != nil || access.Role != c.want || access.OrgName != c.org || access.OrgID == "" {
			t.Errorf("%s in %s: got %+v, %v, want %v", c.who.Name, c.org, access, err, c.want)
		}
	}
}

func TestBetaTakesEffectAtOnceAndSoonInOtherProcesses(t *testing.T) {
	here, docs, clock := newTenancy(t)
	elsewhere := open(t, docs, clock)
	anna := authenticate(t, here, annasKey)
	wantBeta := func(store *tenancy.Tenancy, want bool) {
		t.Helper()
		if access, err := store.Access(t.Context(), anna, "acme"); err != nil || access.Beta != want {
			t.Errorf("got %+v, %v, want beta %t", access, err, want)
		}
	}
	wantBeta(here, true)
	wantBeta(elsewhere, true)
	for _, enabled := range []bool{false, false, true} {
		evidencetest.Must(t, here.SetBeta(t.Context(), "acme", enabled))
		wantBeta(here, enabled)
		clock.Advance(500 * time.Millisecond)
		authenticate(t, elsewhere, annasKey)
		wantBeta(elsewhere, enabled)
	}
	evidencetest.Is(t, here.SetBeta(t.Context(), "no-such-org", true), storage.ErrNotFound)
}

func TestOnlyAChangeOfBetaUpdatesTheTimeOfModification(t *testing.T) {
	store, _, clock := newTenancy(t)
	created, err := store.Organization(t.Context(), "acme")
	evidencetest.Must(t, err)
	for _, enabled := range []bool{true, false} {
		clock.Advance(time.Second)
		evidencetest.Must(t, store.SetBeta(t.Context(), "acme", enabled))
		got, err := store.Organization(t.Context(), "acme")
		if err != nil || got.Beta != enabled || (got.LastModifiedAt > created.LastModifiedAt) == enabled || got.CreatedAt != created.CreatedAt {
			t.Errorf("beta %t: got %+v, %v; it was %+v", enabled, got, err, created)
		}
	}
}

func TestAccessHidesInvisibleOrganizations(t *testing.T) {
	store, _, _ := newTenancy(t)
	bert := authenticate(t, store, bertsKey)
	var texts []string
	for _, org := range []string{"acme", "anna", "no-such-org", "", "..", "a/b", "open\x00", "Open", "\xff"} {
		_, err := store.Access(t.Context(), bert, org)
		wantCode(t, err, evidence.Forbidden)
		texts = append(texts, err.Error())
	}
	for _, text := range texts {
		if text != texts[0] {
			t.Errorf("%q and %q can be told apart", text, texts[0])
		}
	}
}

func TestCachedRequestChecksOnlyForRevocations(t *testing.T) {
	store, docs, clock := newTenancy(t)
	request := func() {
		anna := authenticate(t, store, annasKey)
		if _, err := store.Access(t.Context(), anna, "acme"); err != nil {
			t.Fatal(err)
		}
	}
	request()
	store.Close() // the first use is written, and no other
	for _, step := range []struct {
		pause    time.Duration
		commands int
	}{
		{499 * time.Millisecond, 0},
		{time.Millisecond, 1},
		{9 * time.Second, 1},
		{time.Second, 5}, // the version, the key, its owner, the organization, the membership
	} {
		before := docs.count()
		clock.Advance(step.pause)
		request()
		if n := docs.count() - before; n != step.commands {
			t.Errorf("a request %v after another takes %d commands, want %d", step.pause, n, step.commands)
		}
	}
}

func TestInvisibleAndUnknownOrganizationsTakeTheSameCommands(t *testing.T) {
	store, docs, _ := newTenancy(t)
	bert := authenticate(t, store, bertsKey)
	store.Close() // the use of the key is written
	taken := map[string]int{}
	for _, org := range []string{"acme", "anna", "no-such-org"} {
		before := docs.count()
		_, err := store.Access(t.Context(), bert, org)
		wantCode(t, err, evidence.Forbidden)
		taken[org] = docs.count() - before
	}
	if taken["acme"] != taken["no-such-org"] || taken["anna"] != taken["no-such-org"] {
		t.Errorf("commands by organization: %v", taken)
	}
}

func TestLastUseIsWrittenOnceAMinute(t *testing.T) {
	store, docs, clock := newTenancy(t)
	elsewhere := open(t, docs, clock)
	before := docs.writes()
	authenticate(t, store, annasKey)
	waitFor(t, func() bool { return docs.writes() == before+1 })
	for range 59 {
		clock.Advance(time.Second)
		authenticate(t, store, annasKey)
		authenticate(t, elsewhere, annasKey)
	}
	clock.Advance(time.Second)
	authenticate(t, store, annasKey)
	store.Close()
	elsewhere.Close()
	if n := docs.writes() - before; n != 2 {
		t.Errorf("%d writes in a minute and one use after it, want 2", n)
	}
	evidencetest.Contains(t, docs.bodies(), `"last_used_at":1800000060`)
}

func TestUseOfAKeyInTwoProcessesIsWrittenOnce(t *testing.T) {
	store, docs, clock := newTenancy(t)
	elsewhere := open(t, docs, clock)
	goOn := make(chan struct{})
	docs.hook(func(command, _, _ string) error {
		if command == "replace" {
			<-goOn
		}
		return nil
	})
	before := docs.writes()
	authenticate(t, store, annasKey)
	clock.Advance(time.Second)
	authenticate(t, elsewhere, annasKey)
	close(goOn)
	store.Close()
	elsewhere.Close()
	if n := docs.writes() - before; n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
}

func TestUsesAreRecordedInTheBackground(t *testing.T) {
	store, docs, _ := newTenancy(t)
	goOn := make(chan struct{})
	docs.hook(func(command, collection, _ string) error {
		if command == "replace" && collection == "keys" {
			<-goOn
			return errors.New("the disk is full")
		}
		return nil
	})
	for range 100 {
		authenticate(t, store, annasKey)
	}
	close(goOn)
	store.Close()
	authenticate(t, store, annasKey)
}

func TestErrorsOfTheDatabaseHideKeysAndHashes(t *testing.T) {
	store, docs, _ := newTenancy(t)
	fault := errors.New("connection lost")
	docs.hook(func(_, collection, id string) error {
		if collection == "keys" {
			return errors.Join(fault, errors.New("key "+id))
		}
		return nil
	})
	_, err := store.Authenticate(t.Context(), annasKey)
	_, applied := store.ApplyBootstrap(t.Context(), tenancyBootstrap())
	for _, err := range []error{err, applied} {
		if !errors.Is(err, fault) {
			t.Fatalf("got %v, want the fault", err)
		}
		if strings.Contains(err.Error(), annasKey) || strings.Contains(err.Error(), evidence.HashAPIKey(annasKey)) {
			t.Errorf("a key or its hash shows in: %v", err)
		}
	}
}

func TestSecretsAreNotStored(t *testing.T) {
	store, docs, _ := newTenancy(t)
	declared := tenancyBootstrap()
	declared.Users[0].Keys = append(declared.Users[0].Keys, identity.DeclaredKey{Description: "made"})
	made := apply(t, store, declared)
	for _, secret := range []string{annasKey, bertsKey, made[0].Secret.Reveal()} {
		if strings.Contains(docs.bodies(), secret) {
			t.Error("a secret is stored in clear")
		}
	}
}

func TestDefaultOrganizationMustBeVisible(t *testing.T) {
	store, _, _ := newTenancy(t)
	bert := authenticate(t, store, bertsKey)
	if name, err := store.DefaultOrganization(t.Context(), bert); err != nil || name != "" {
		t.Errorf("before the choice: %q, %v", name, err)
	}
	wantCode(t, store.SetDefaultOrganization(t.Context(), bert, "acme"), evidence.Forbidden)
	evidencetest.Must(t, store.SetDefaultOrganization(t.Context(), bert, "open"))
	if name, err := store.DefaultOrganization(t.Context(), bert); err != nil || name != "open" {
		t.Errorf("after the choice: %q, %v", name, err)
	}
	_, err := store.SetMember(t.Context(), "acme", "bert", evidence.Reader, annaActs)
	if err == nil {
		err = store.SetDefaultOrganization(t.Context(), bert, "acme")
	}
	if err == nil {
		_, err = store.RemoveMember(t.Context(), "acme", "bert", annaActs)
	}
	if name, lost := store.DefaultOrganization(t.Context(), bert); err != nil || lost != nil || name != "" {
		t.Errorf("after the end of the membership: %q, %v, %v", name, lost, err)
	}
	robot := evidence.Principal{UserID: bert.UserID, Name: bert.Name, ServiceAccount: true}
	wantCode(t, store.SetDefaultOrganization(t.Context(), robot, "open"), evidence.Forbidden)
	if name, err := store.DefaultOrganization(t.Context(), robot); err != nil || name != "" {
		t.Errorf("a service account has the default organization %q, %v", name, err)
	}
}

func TestOrganizationsOfAUserAreThoseOfItsMembershipsAndItsOwn(t *testing.T) {
	store, _, _ := newTenancy(t)
	anna, bert := authenticate(t, store, annasKey), authenticate(t, store, bertsKey)
	want := func(who evidence.Principal, names ...string) {
		t.Helper()
		if got, err := store.OrganizationsOf(t.Context(), who); err != nil || !slices.Equal(got, names) {
			t.Errorf("those of %s are %v, %v, want %v", who.Name, got, err, names)
		}
	}
	want(anna, "acme", "open", "anna")
	want(bert, "bert")
	if _, err := store.SetMember(t.Context(), "acme", "bert", evidence.Reader, identity.Actor{}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.RemoveMember(t.Context(), "acme", "anna", identity.Actor{}); err != nil {
		t.Fatal(err)
	}
	want(anna, "open", "anna")
	want(bert, "acme", "bert")
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
		time.Sleep(time.Millisecond)
	}
}
