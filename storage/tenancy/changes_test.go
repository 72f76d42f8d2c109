package tenancy_test

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/tenancy"
)

// anna is an administrator of the shared organization "open", which is where most tests work.
var annaActs = identity.Actor{ID: "id-of-anna", Name: "anna", Source: identity.SourceApp}

// logOf returns the audit log of an organization as text, the oldest entry first.
func logOf(t *testing.T, store *tenancy.Tenancy, orgName string) []string {
	t.Helper()
	org, err := store.Organization(t.Context(), orgName)
	evidencetest.Must(t, err)
	entries, total, err := store.AuditLog(t.Context(), tenancy.AuditQuery{
		OrgID: org.ID, Order: tenancy.AuditByTime, Ascending: true, Limit: 1000,
	})
	if err != nil || total != int64(len(entries)) {
		t.Fatalf("%d of %d entries, %v", len(entries), total, err)
	}
	var words []string
	last := 0.0
	for _, e := range entries {
		if e.Time <= last {
			t.Errorf("entry %s at %f is not later than the one before, at %f", e.ID, e.Time, last)
		}
		last = e.Time
		text := fmt.Sprintf("%s %s %s %v->%v by %s (%s)", e.Event, e.Subject, e.Name, e.OldRole, e.NewRole, e.ChangedBy, e.Source)
		if e.Key != nil {
			text = fmt.Sprintf("%s key %q of %s %s by %s (%s)", e.Event, e.Key.Description, e.Subject, e.Name, e.ChangedBy, e.Source)
		}
		words = append(words, text)
	}
	return words
}

// wantLog checks the last entries of an audit log.
func wantLog(t *testing.T, store *tenancy.Tenancy, orgName string, want ...string) {
	t.Helper()
	got := logOf(t, store, orgName)
	if tail := got[max(0, len(got)-len(want)):]; !slices.Equal(tail, want) {
		t.Errorf("the log of %s ends with\n%s\nwant\n%s", orgName, strings.Join(tail, "\n"), strings.Join(want, "\n"))
	}
}

// access returns the role of the owner of a secret in an organization.
func access(t *testing.T, store *tenancy.Tenancy, secret, org string) evidence.Role {
	t.Helper()
	got, err := store.Access(t.Context(), authenticate(t, store, secret), org)
	if err != nil && evidence.CodeOf(err) != evidence.Forbidden {
		t.Fatal(err)
	}
	return got.Role
}

func TestServiceAccountsThatAMemberLeavesAreListedAndRevoked(t *testing.T) {
	store, _, _ := newTenancy(t)
	set := func(role evidence.Role) []string {
		t.Helper()
		change, err := store.SetMember(t.Context(), "open", "bert", role, annaActs)
		evidencetest.Must(t, err)
		return namesOf(change.Left)
	}
	set(evidence.Member)
	bert, _ := store.User(t.Context(), "bert")
	bertActs := identity.Actor{ID: bert.ID, Name: "bert", Source: identity.SourceApp}
	secrets := map[string]string{}
	for name, c := range map[string]struct {
		by        identity.Actor
		privilege evidence.Role
	}{"ci": {bertActs, evidence.Member}, "reporter": {bertActs, evidence.Snapshotter}, "other": {annaActs, evidence.Member}} {
		account, err := store.CreateServiceAccount(t.Context(), "open", c.by, identity.ServiceAccount{Name: name, Privilege: c.privilege})
		evidencetest.Must(t, err)
		owner := identity.KeyOwner{ID: account.ID, Name: name, OrgID: account.OrgID, OrgName: "open", ServiceAccount: true}
		_, secret, err := store.IssueKey(t.Context(), owner, c.by, tenancy.NewKey{Description: "key"})
		evidencetest.Must(t, err)
		secrets[name] = secret.Reveal()
	}
	for _, step := range []struct {
		role evidence.Role
		left []string
	}{
		{evidence.Member, nil},
		{evidence.Snapshotter, []string{"ci"}},
		{evidence.Snapshotter, []string{"ci"}},
		{evidence.Admin, nil},
		{evidence.Reader, []string{"ci", "reporter"}},
	} {
		if left := set(step.role); !slices.Equal(left, step.left) {
			t.Errorf("as %v bert has left %v, want %v", step.role, left, step.left)
		}
	}
	change, err := store.RemoveMember(t.Context(), "open", "bert", annaActs)
	if left := namesOf(change.Left); err != nil || !slices.Equal(left, []string{"ci", "reporter"}) {
		t.Fatalf("bert has left %v, %v", left, err)
	}
	org, _ := store.Organization(t.Context(), "open")
	entries, _, err := store.AuditLog(t.Context(), tenancy.AuditQuery{OrgID: org.ID, Order: tenancy.AuditByTime, Limit: 1})
	if err != nil || !slices.Equal(entries[0].LeftAccounts, []string{"ci", "reporter"}) {
		t.Errorf("the log tells %+v, %v", entries, err)
	}
	for _, secret := range secrets {
		authenticate(t, store, secret)
	}
	evidencetest.Must(t, store.RevokeServiceAccounts(t.Context(), "open", annaActs, change.Left))
	authenticate(t, store, secrets["other"])
	for _, name := range []string{"ci", "reporter"} {
		wantUnauthorized(t, store, secrets[name])
	}
	wantLog(t, store, "open", `removed key "key" of service_account ci by anna (app)`, `removed key "key" of service_account reporter by anna (app)`)
}

func namesOf(accounts []identity.ServiceAccount) []string {
	return evidence.Map(accounts, func(account identity.ServiceAccount) string { return account.Name })
}

func TestInvalidMembershipsAreRefused(t *testing.T) {
	store, docs, _ := newTenancy(t)
	before := docs.stored()
	set := func(org, user string, role evidence.Role) error {
		_, err := store.SetMember(t.Context(), org, user, role, annaActs)
		return err
	}
	wantCode(t, set("anna", "bert", evidence.Reader), evidence.Invalid)
	wantCode(t, set("open", "nobody", evidence.Reader), evidence.NotFound)
	wantCode(t, set("open", "anna", evidence.Member), evidence.Invalid)
	for _, org := range []string{"open", "anna"} {
		_, err := store.RemoveMember(t.Context(), org, "anna", annaActs)
		wantCode(t, err, evidence.Invalid)
	}
	if _, err := store.RemoveMember(t.Context(), "open", "nobody", annaActs); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("removing an unknown user gives %v", err)
	}
	if after := docs.stored(); len(after) != len(before) {
		t.Errorf("%d documents, %d before", len(after), len(before))
	}
}

func TestTwoAdministratorsWhoRemoveEachOtherLeaveOne(t *testing.T) {
	store, docs, clock := newTenancy(t)
	if _, err := store.SetMember(t.Context(), "open", "bert", evidence.Admin, annaActs); err != nil {
		t.Fatal(err)
	}
	other := open(t, docs, clock)
	faults := make([]error, 2)
	var wg sync.WaitGroup
	wg.Go(func() { _, faults[0] = store.RemoveMember(t.Context(), "open", "bert", annaActs) })
	wg.Go(func() { _, faults[1] = other.RemoveMember(t.Context(), "open", "anna", annaActs) })
	wg.Wait()
	if (faults[0] == nil) == (faults[1] == nil) {
		t.Errorf("the removals gave %v and %v, want one to be refused", faults[0], faults[1])
	}
	removed := 0
	for _, entry := range logOf(t, store, "open") {
		if strings.HasPrefix(entry, "removed") {
			removed++
		}
	}
	if removed != 1 {
		t.Errorf("the log tells of %d removals", removed)
	}
}

func TestKeysAreIssuedListedAndRevoked(t *testing.T) {
	store, _, clock := newTenancy(t)
	owner, err := store.UserKeys(t.Context(), "bert")
	evidencetest.Must(t, err)
	key, secret, err := store.IssueKey(t.Context(), owner, annaActs, tenancy.NewKey{Description: "ci", ExpiresAt: clock.Now().Unix() + 60})
	evidencetest.Must(t, err)
	if who := authenticate(t, store, secret.Reveal()); who.Name != "bert" || who.KeyID != key.ID || who.ServiceAccount {
		t.Errorf("the key is of %+v", who)
	}
	keys, err := store.Keys(t.Context(), owner.ID)
	if err != nil || len(keys) != 2 || keys[1].ID != key.ID {
		t.Fatalf("keys are %+v, %v", keys, err)
	}
	evidencetest.Must(t, store.RevokeKey(t.Context(), owner, annaActs, key.ID))
	wantUnauthorized(t, store, secret.Reveal())
	wantLog(t, store, "bert", `added key "ci" of user bert by anna (app)`, `removed key "ci" of user bert by anna (app)`)
	for name, err := range map[string]error{
		"revoked again":  store.RevokeKey(t.Context(), owner, annaActs, key.ID),
		"unknown":        store.RevokeKey(t.Context(), owner, annaActs, "unknown"),
		"somebody's own": store.RevokeKey(t.Context(), identity.KeyOwner{ID: "x", OrgName: "anna"}, annaActs, keys[0].ID),
	} {
		if !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARevokedKeyStaysRevokedWhateverClocksSay(t *testing.T) {
	for name, revoke := range map[string]func(*tenancy.Tenancy, identity.KeyOwner, string) error{
		"the key is revoked": func(store *tenancy.Tenancy, owner identity.KeyOwner, id string) error {
			return store.RevokeKey(t.Context(), owner, annaActs, id)
		},
		"its owner is removed and restored": func(store *tenancy.Tenancy, _ identity.KeyOwner, _ string) error {
			return errors.Join(store.RemoveUser(t.Context(), "bert", annaActs), store.CreateUser(t.Context(), "bert", "", annaActs))
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, docs, clock := newTenancy(t)
			slow := tenancy.New(docs, func() time.Time { return clock.Now().Add(-time.Minute) }, slog.New(slog.DiscardHandler))
			t.Cleanup(slow.Close)
			owner, err := store.UserKeys(t.Context(), "bert")
			evidencetest.Must(t, err)
			key, secret, err := store.IssueKey(t.Context(), owner, annaActs, tenancy.NewKey{Description: "ci"})
			evidencetest.Must(t, err)
			evidencetest.Must(t, revoke(store, owner, key.ID))
			wantUnauthorized(t, slow, secret.Reveal())
			clock.Advance(-time.Hour)
			wantUnauthorized(t, store, secret.Reveal())
			if keys, err := store.Keys(t.Context(), owner.ID); err != nil || slices.ContainsFunc(keys, func(one evidence.Key) bool { return one.ID == key.ID }) {
				t.Errorf("the key is still listed, %v", err)
			}
		})
	}
}

func TestARotatedKeyWorksUntilTheEndOfItsGracePeriod(t *testing.T) {
	store, _, clock := newTenancy(t)
	owner, _ := store.UserKeys(t.Context(), "bert")
	now := clock.Now().Unix()
	old, oldSecret, err := store.IssueKey(t.Context(), owner, annaActs, tenancy.NewKey{Description: "ci"})
	evidencetest.Must(t, err)
	fresh, freshSecret, ends, err := store.RotateKey(t.Context(), owner, annaActs, old.ID, 2*time.Hour, now+9*3600)
	if err != nil || ends != now+2*3600 || fresh.Description != "ci" || fresh.ExpiresAt != now+9*3600 || fresh.ID == old.ID {
		t.Fatalf("the old key ends at %d, the new one is %+v, %v", ends, fresh, err)
	}
	// A later rotation does not prolong the life of the old key; an earlier end shortens it.
	if _, _, again, err := store.RotateKey(t.Context(), owner, annaActs, old.ID, 3*time.Hour, 0); err != nil || again != ends {
		t.Errorf("rotated again, the old key ends at %d, %v, want %d", again, err, ends)
	}
	clock.Advance(2*time.Hour - time.Second)
	authenticate(t, store, oldSecret.Reveal())
	authenticate(t, store, freshSecret.Reveal())
	clock.Advance(time.Second)
	wantUnauthorized(t, store, oldSecret.Reveal())
	authenticate(t, store, freshSecret.Reveal())
	if _, err := store.Key(t.Context(), owner.ID, old.ID); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the old key is found: %v", err)
	}
	if _, _, _, err := store.RotateKey(t.Context(), owner, annaActs, old.ID, time.Hour, 0); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the old key can be rotated: %v", err)
	}
}

func TestNewKeyOfARotationHasTheExpiryThatWasAskedFor(t *testing.T) {
	store, _, clock := newTenancy(t)
	owner, _ := store.UserKeys(t.Context(), "bert")
	expiry := clock.Now().Unix() + 60
	key, _, err := store.IssueKey(t.Context(), owner, annaActs, tenancy.NewKey{Description: "ci", ExpiresAt: expiry})
	evidencetest.Must(t, err)
	for _, expiresAt := range []int64{0, expiry + 1} {
		fresh, _, oldEnds, err := store.RotateKey(t.Context(), owner, annaActs, key.ID, time.Hour, expiresAt)
		if err != nil || fresh.ExpiresAt != expiresAt {
			t.Errorf("the new key expires at %d, %v, want %d", fresh.ExpiresAt, err, expiresAt)
		}
		if oldEnds != expiry {
			t.Errorf("the old key ends at %d, want its expiry %d", oldEnds, expiry)
		}
	}
}

func TestServiceAccountsWorkInTheirOrganizationAlone(t *testing.T) {
	store, _, _ := newTenancy(t)
	robot, err := store.CreateServiceAccount(t.Context(), "acme", annaActs, identity.ServiceAccount{Name: "robot", Privilege: evidence.Member})
	if err != nil || robot.CreatorID != annaActs.ID {
		t.Fatal(robot, err)
	}
	_, err = store.CreateServiceAccount(t.Context(), "acme", annaActs, identity.ServiceAccount{Name: "robot"})
	wantCode(t, err, evidence.Invalid)
	_, err = store.CreateServiceAccount(t.Context(), "anna", annaActs, identity.ServiceAccount{Name: "robot"})
	wantCode(t, err, evidence.Invalid)
	owner := identity.KeyOwner{ID: robot.ID, Name: "robot", OrgID: robot.OrgID, OrgName: "acme", ServiceAccount: true}
	_, secret, err := store.IssueKey(t.Context(), owner, annaActs, tenancy.NewKey{Description: "ci"})
	evidencetest.Must(t, err)
	if who := authenticate(t, store, secret.Reveal()); !who.ServiceAccount || who.Name != "robot" {
		t.Errorf("the key is of %+v", who)
	}
	for org, want := range map[string]evidence.Role{"acme": evidence.Member, "open": evidence.Reader, "anna": evidence.NoRole, "robot": evidence.NoRole} {
		if got := access(t, store, secret.Reveal(), org); got != want {
			t.Errorf("%v in %s, want %v", got, org, want)
		}
	}
	if _, err := store.UpdateServiceAccount(t.Context(), "acme", annaActs, robot, func(a *identity.ServiceAccount) { a.Privilege = evidence.Reader }); err != nil {
		t.Fatal(err)
	}
	if got := access(t, store, secret.Reveal(), "acme"); got != evidence.Reader {
		t.Errorf("after the change %v", got)
	}
	evidencetest.Must(t, store.DeleteServiceAccount(t.Context(), "acme", annaActs, robot))
	wantUnauthorized(t, store, secret.Reveal())
	wantLog(t, store, "acme",
		"added service_account robot none->member by anna (app)",
		`added key "ci" of service_account robot by anna (app)`,
		"changed service_account robot member->reader by anna (app)",
		"removed service_account robot reader->none by anna (app)")
}

func TestKeyOfADeletedServiceAccountIsInvalidForItsSuccessor(t *testing.T) {
	store, _, _ := newTenancy(t)
	create := func() (identity.ServiceAccount, identity.KeyOwner) {
		robot, err := store.CreateServiceAccount(t.Context(), "acme", annaActs, identity.ServiceAccount{Name: "robot", Privilege: evidence.Admin})
		evidencetest.Must(t, err)
		return robot, identity.KeyOwner{ID: robot.ID, Name: "robot", OrgID: robot.OrgID, OrgName: "acme", ServiceAccount: true}
	}
	robot, owner := create()
	_, secret, err := store.IssueKey(t.Context(), owner, annaActs, tenancy.NewKey{Description: "ci"})
	evidencetest.Must(t, err)
	evidencetest.Must(t, store.DeleteServiceAccount(t.Context(), "acme", annaActs, robot))
	create()
	wantUnauthorized(t, store, secret.Reveal())
	if _, _, err := store.IssueKey(t.Context(), owner, annaActs, tenancy.NewKey{Description: "ci"}); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a key for the deleted account gives %v", err)
	}
	if _, err := store.UpdateServiceAccount(t.Context(), "acme", annaActs, robot, func(*identity.ServiceAccount) {}); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a change of the deleted account gives %v", err)
	}
	evidencetest.Is(t, store.DeleteServiceAccount(t.Context(), "acme", annaActs, robot), storage.ErrNotFound)
}

func TestRevocationsReachOtherProcessesWithinASecond(t *testing.T) {
	here, docs, clock := newTenancy(t)
	elsewhere := open(t, docs, clock)
	owner, _ := here.UserKeys(t.Context(), "anna")
	key, secret, err := here.IssueKey(t.Context(), owner, annaActs, tenancy.NewKey{Description: "ci"})
	evidencetest.Must(t, err)
	if got := access(t, elsewhere, secret.Reveal(), "acme"); got != evidence.Snapshotter {
		t.Fatalf("anna is %v", got)
	}
	if _, err := here.SetMember(t.Context(), "acme", "anna", evidence.Reader, annaActs); err != nil {
		t.Fatal(err)
	}
	clock.Advance(500 * time.Millisecond)
	if got := access(t, elsewhere, secret.Reveal(), "acme"); got != evidence.Reader {
		t.Errorf("half a second later anna is %v elsewhere", got)
	}
	evidencetest.Must(t, here.RevokeKey(t.Context(), owner, annaActs, key.ID))
	wantUnauthorized(t, here, secret.Reveal())
	clock.Advance(500 * time.Millisecond)
	wantUnauthorized(t, elsewhere, secret.Reveal())
}

func TestARemovedUserCanDoNothing(t *testing.T) {
	store, _, _ := newTenancy(t)
	anna := authenticate(t, store, annasKey)
	evidencetest.Must(t, store.RemoveUser(t.Context(), "anna", identity.Operator()))
	wantUnauthorized(t, store, annasKey)
	for _, org := range []string{"acme", "open", "anna"} {
		got, err := store.Access(t.Context(), anna, org)
		if err == nil && got.Role != evidence.Reader {
			t.Errorf("anna is %v in %s", got.Role, org)
		}
	}
	wantLog(t, store, "acme", "removed user anna snapshotter->none by  (script)")
	wantLog(t, store, "anna", "removed user anna admin->none by  (script)", `removed key "laptop" of user anna by  (script)`)
	if _, err := store.User(t.Context(), "anna"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("anna is found: %v", err)
	}
	if err := store.RemoveUser(t.Context(), "anna", identity.Operator()); err != nil {
		t.Errorf("removing anna again: %v", err)
	}
	// A user who is created again under the name is the same user, but the old keys stay revoked.
	evidencetest.Must(t, store.CreateUser(t.Context(), "anna", "", identity.Operator()))
	wantUnauthorized(t, store, annasKey)
	// Sessions from before stay invalid, too.
	_, err := store.UserPrincipal(t.Context(), "anna", time.Unix(0, 0))
	wantCode(t, err, evidence.Unauthorized)
	if _, err := store.UserPrincipal(t.Context(), "anna", time.Now().AddDate(100, 0, 0)); err != nil {
		t.Errorf("a new session of anna: %v", err)
	}
	var names []string
	if err := store.EachUser(t.Context(), func(user *evidence.User) error { names = append(names, user.Name); return nil }); err != nil || !slices.Equal(names, []string{"anna", "bert"}) {
		t.Errorf("users are %v, %v", names, err)
	}
}

func TestOrganizationsAreCreatedWithTheirAdministrator(t *testing.T) {
	store, _, _ := newTenancy(t)
	bert, err := store.User(t.Context(), "bert")
	evidencetest.Must(t, err)
	by := identity.Actor{ID: bert.ID, Name: "bert", Source: identity.SourceApp}
	if _, err := store.CreateOrganization(t.Context(), "fresh", bert, by); err != nil {
		t.Fatal(err)
	}
	if got := access(t, store, bertsKey, "fresh"); got != evidence.Admin {
		t.Errorf("bert is %v", got)
	}
	wantLog(t, store, "fresh", "added user bert none->admin by bert (app)")
	for _, taken := range []string{"fresh", "acme", "anna"} {
		_, err := store.CreateOrganization(t.Context(), taken, bert, by)
		wantCode(t, err, evidence.Invalid)
	}
	if got := access(t, store, bertsKey, "acme"); got != evidence.NoRole {
		t.Errorf("bert is %v in an organization of others", got)
	}
}

func TestIdentityProvidersArePutReadAndDeleted(t *testing.T) {
	here, docs, clock := newTenancy(t)
	elsewhere := open(t, docs, clock)
	provider := identity.IdentityProvider{Name: "forge", Issuer: "https://forge.example", Audience: "attestry", Privilege: evidence.Member}
	stored, created, err := here.PutIdentityProvider(t.Context(), "acme", annaActs, provider)
	if err != nil || !created || stored.OrgName != "acme" || stored.CreatedAt == 0 {
		t.Fatalf("stored %+v, %v", stored, err)
	}
	if _, created, err := here.PutIdentityProvider(t.Context(), "acme", annaActs, provider); err != nil || created {
		t.Errorf("put again: created %t, %v", created, err)
	}
	trusts := func(store *tenancy.Tenancy, org string) int {
		found, err := store.IdentityProviders(t.Context(), org)
		evidencetest.Must(t, err)
		return len(found)
	}
	isTrusted := func(store *tenancy.Tenancy, issuer string) bool {
		trusted, err := store.IsTrusted(t.Context(), issuer)
		evidencetest.Must(t, err)
		return trusted
	}
	for org, want := range map[string]int{"acme": 1, "open": 0, "nowhere": 0, "no name": 0} {
		if got := trusts(elsewhere, org); got != want {
			t.Errorf("%s trusts %d, want %d", org, got, want)
		}
	}
	if !isTrusted(elsewhere, "https://forge.example") || isTrusted(elsewhere, "https://forge.example/") {
		t.Error("not exactly the issuer is trusted")
	}
	evidencetest.Must(t, here.DeleteIdentityProvider(t.Context(), "acme", annaActs, "forge"))
	clock.Advance(500 * time.Millisecond)
	for name, store := range map[string]*tenancy.Tenancy{"here": here, "elsewhere": elsewhere} {
		if trusts(store, "acme") != 0 || isTrusted(store, "https://forge.example") {
			t.Errorf("%s, a deleted identity provider is trusted", name)
		}
	}
	evidencetest.Is(t, here.DeleteIdentityProvider(t.Context(), "acme", annaActs, "forge"), storage.ErrNotFound)
	wantLog(t, here, "acme", "added identity_provider forge none->member by anna (app)", "removed identity_provider forge member->none by anna (app)")
	_, _, err = here.PutIdentityProvider(t.Context(), "anna", annaActs, provider)
	wantCode(t, err, evidence.Invalid)
}

func TestTrustedAndUntrustedIssuersTakeTheSameCommands(t *testing.T) {
	store, docs, _ := newTenancy(t)
	provider := identity.IdentityProvider{Name: "forge", Issuer: "https://forge.example", Audience: "attestry", Privilege: evidence.Member}
	if _, _, err := store.PutIdentityProvider(t.Context(), "acme", annaActs, provider); err != nil {
		t.Fatal(err)
	}
	if _, err := store.IdentityProviders(t.Context(), "warm"); err != nil { // the version is read
		t.Fatal(err)
	}
	for range 2 { // not cached, then cached
		taken := map[string]int{}
		for _, org := range []string{"acme", "open", "nowhere"} {
			before := docs.count()
			_, err := store.IdentityProviders(t.Context(), org)
			wantCode(t, err, "")
			taken[org] = docs.count() - before
		}
		if taken["open"] != taken["acme"] || taken["nowhere"] != taken["acme"] {
			t.Errorf("commands by organization: %v", taken)
		}
		for _, issuer := range []string{"https://forge.example", "https://other.example"} {
			before := docs.count()
			_, err := store.IsTrusted(t.Context(), issuer)
			wantCode(t, err, "")
			taken[issuer] = docs.count() - before
		}
		if taken["https://forge.example"] != taken["https://other.example"] {
			t.Errorf("commands by issuer: %v", taken)
		}
	}
}

func TestConcurrentChangesAreAllMadeAndRecordedOnce(t *testing.T) {
	store, docs, clock := newTenancy(t)
	other := open(t, docs, clock)
	owner, _ := store.UserKeys(t.Context(), "bert")
	const each = 5
	var wg sync.WaitGroup
	for i := range 2 * each {
		process := []*tenancy.Tenancy{store, other}[i%2]
		wg.Go(func() {
			if _, _, err := process.IssueKey(t.Context(), owner, annaActs, tenancy.NewKey{Description: fmt.Sprint("key ", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	keys, err := store.Keys(t.Context(), owner.ID)
	if err != nil || len(keys) != 1+2*each {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	counts := map[string]int{}
	for _, entry := range logOf(t, store, "bert") {
		counts[entry]++
	}
	for entry, times := range counts {
		if times != 1 {
			t.Errorf("%q is logged %d times", entry, times)
		}
	}
	if len(counts) != 2+2*each { // bert's membership and first key
		t.Errorf("the log has %d entries", len(counts))
	}
}

func TestARefusedChangeLeavesNoEntry(t *testing.T) {
	store, docs, _ := newTenancy(t)
	if _, err := store.SetMember(t.Context(), "open", "bert", evidence.Admin, annaActs); err != nil {
		t.Fatal(err)
	}
	before := logOf(t, store, "open")
	// Between the entry and the change, another process changes the same membership.
	interfered := false
	docs.hook(func(command, collection, id string) error {
		if command != "replace" || collection != "members" || interfered {
			return nil
		}
		interfered = true
		return &storage.RefusedWrite{Reason: storage.ErrMoved}
	})
	if _, err := store.RemoveMember(t.Context(), "open", "bert", annaActs); err != nil {
		t.Fatal(err)
	}
	docs.hook(nil)
	if got := logOf(t, store, "open"); !interfered || len(got) != len(before)+1 {
		t.Errorf("the log went from %d to %d entries", len(before), len(got))
	}
}

func TestTheAuditLogIsFilteredAndSorted(t *testing.T) {
	store, _, clock := newTenancy(t)
	start := evidence.Seconds(clock.Now())
	by := func(name string) identity.Actor { return identity.Actor{Name: name, Source: identity.SourceApp} }
	for i, step := range []struct {
		role evidence.Role
		by   string
	}{{evidence.Reader, "zoe"}, {evidence.Member, "Yann"}, {evidence.Snapshotter, "zoe"}, {evidence.Reader, "xenia"}} {
		clock.Advance(time.Second)
		if _, err := store.SetMember(t.Context(), "open", "bert", step.role, by(step.by)); err != nil {
			t.Fatal(i, err)
		}
	}
	org, _ := store.Organization(t.Context(), "open")
	for name, c := range map[string]struct {
		query tenancy.AuditQuery
		want  string
	}{
		"all, newest first":     {tenancy.AuditQuery{Order: tenancy.AuditByTime}, "xenia zoe Yann zoe -"},
		"by actor":              {tenancy.AuditQuery{Order: tenancy.AuditByActor, Ascending: true}, "- Yann xenia zoe zoe"},
		"by source, descending": {tenancy.AuditQuery{Order: tenancy.AuditBySource}, "- xenia zoe Yann zoe"},
		"by user":               {tenancy.AuditQuery{Order: tenancy.AuditByUser, Ascending: true}, "- zoe Yann zoe xenia"},
		"by role":               {tenancy.AuditQuery{Order: tenancy.AuditByRole, Ascending: true}, "- Yann zoe xenia zoe"},
		"searched":              {tenancy.AuditQuery{Order: tenancy.AuditByTime, Search: "YAN"}, "Yann"},
		"searched by subject":   {tenancy.AuditQuery{Order: tenancy.AuditByTime, Search: "ert"}, "xenia zoe Yann zoe"},
		"added":                 {tenancy.AuditQuery{Order: tenancy.AuditByTime, Event: identity.AuditAdded}, "zoe -"},
		"of two roles":          {tenancy.AuditQuery{Order: tenancy.AuditByTime, Roles: []string{"member", "snapshotter"}}, "zoe Yann"},
		"by script":             {tenancy.AuditQuery{Order: tenancy.AuditByTime, Sources: []string{"script", "scim"}}, "-"},
		"from, inclusive":       {tenancy.AuditQuery{Order: tenancy.AuditByTime, From: new(start + 3)}, "xenia zoe"},
		"to, inclusive":         {tenancy.AuditQuery{Order: tenancy.AuditByActor, To: new(start + 2)}, "zoe Yann -"},
		"the second page":       {tenancy.AuditQuery{Order: tenancy.AuditByTime, Offset: 2, Limit: 2}, "Yann zoe"},
		"beyond the last page":  {tenancy.AuditQuery{Order: tenancy.AuditByTime, Offset: 9}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			query := c.query
			query.OrgID = org.ID
			if query.Limit == 0 {
				query.Limit = 100
			}
			entries, _, err := store.AuditLog(t.Context(), query)
			evidencetest.Must(t, err)
			actors := evidence.Map(entries, func(entry identity.AuditEntry) string {
				return cmp.Or(entry.ChangedBy, "-")
			})
			if got := strings.Join(actors, " "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestKeysAndIdentityProvidersAreLimited(t *testing.T) {
	store, docs, _ := newTenancy(t)
	bert, err := store.UserKeys(t.Context(), "bert")
	evidencetest.Must(t, err)
	// The declared key is copied, as issuing so many keys would take seconds.
	schemas, record := tenancy.Schemas(), docs.all("keys")["keys/"+evidence.HashAPIKey(bertsKey)]
	keys := schemas[slices.IndexFunc(schemas, func(schema *storage.Schema) bool { return schema.Name == "keys" })]
	for i := range 998 {
		record.ID = fmt.Sprint("copy-", i)
		evidencetest.Must(t, docs.Documents.Write(t.Context(), storage.Write{Kind: storage.WriteInsert, Schema: keys, Record: record}))
	}
	last := ""
	issue := func() error {
		key, _, err := store.IssueKey(t.Context(), bert, annaActs, tenancy.NewKey{Description: "one more"})
		if err == nil {
			last = key.ID
		}
		return err
	}
	put := func(name int, audience string) func() error {
		provider := identity.IdentityProvider{Name: fmt.Sprint(name), Issuer: "https://forge.example", Audience: audience, Privilege: evidence.Member}
		return func() error {
			_, _, err := store.PutIdentityProvider(t.Context(), "open", annaActs, provider)
			return err
		}
	}
	for i := range 49 {
		evidencetest.Must(t, put(i, "a")())
	}
	for _, step := range []struct {
		name    string
		change  func() error
		refused bool
	}{
		{"the 1000th key", issue, false},
		{"the 1001st key", issue, true},
		{"revoking one", func() error { return store.RevokeKey(t.Context(), bert, annaActs, last) }, false},
		{"another 1000th key", issue, false},
		{"the 50th provider", put(49, "a"), false},
		{"the 51st provider", put(50, "a"), true},
		{"a change of one of 50", put(49, "b"), false},
		{"deleting one", func() error { return store.DeleteIdentityProvider(t.Context(), "open", annaActs, "0") }, false},
		{"another 50th provider", put(50, "a"), false},
	} {
		if err := step.change(); (err != nil) != step.refused || step.refused && evidence.CodeOf(err) != evidence.Invalid {
			t.Errorf("%s: %v", step.name, err)
		}
	}
}

func TestChangesOfActorsWhoLostTheirRoleAreRefused(t *testing.T) {
	ctx := t.Context()
	store, _, _ := newTenancy(t)
	must := func(err error) {
		t.Helper()
		evidencetest.Must(t, err)
	}
	admitted := func(principal evidence.Principal, org string) identity.Actor {
		t.Helper()
		access, err := store.Access(ctx, principal, org)
		must(err)
		return identity.ActorOf(principal, access.Role)
	}
	_, err := store.SetMember(ctx, "open", "bert", evidence.Admin, annaActs)
	must(err)
	bert := admitted(authenticate(t, store, bertsKey), "open")
	account, err := store.CreateServiceAccount(ctx, "open", bert, identity.ServiceAccount{Name: "ci", Privilege: evidence.Admin})
	must(err)
	robot := admitted(evidence.Principal{UserID: account.ID, Name: "ci", ServiceAccount: true}, "open")
	token := identity.ActorOf(evidence.Principal{UserID: "oidc:x", Name: "oidc:x", Federated: true}, evidence.Admin)
	owner := identity.KeyOwner{ID: account.ID, Name: "ci", OrgID: account.OrgID, OrgName: "open", ServiceAccount: true}
	issue := func(by identity.Actor) error {
		_, _, err := store.IssueKey(ctx, owner, by, tenancy.NewKey{Description: "key"})
		return err
	}
	for _, actor := range []identity.Actor{bert, robot, token} {
		must(issue(actor))
	}
	account, err = store.UpdateServiceAccount(ctx, "open", bert, account, func(a *identity.ServiceAccount) { a.Privilege = evidence.Member })
	must(err)
	wantCode(t, issue(robot), evidence.Forbidden)
	_, err = store.SetMember(ctx, "open", "bert", evidence.Member, annaActs)
	must(err)
	wantCode(t, issue(bert), evidence.Forbidden)
	// Whoever leaves revokes the keys that stay behind.
	bert = admitted(authenticate(t, store, bertsKey), "open")
	change, err := store.RemoveMember(ctx, "open", "bert", bert)
	must(err)
	wantCode(t, issue(bert), evidence.Forbidden)
	must(store.RevokeServiceAccounts(ctx, "open", bert, change.Left))
	if keys, err := store.Keys(ctx, account.ID); err != nil || len(keys) > 0 {
		t.Errorf("%d keys stay, %v", len(keys), err)
	}
	must(issue(token))
}
