package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"attestry/evidence"
	"attestry/evidence/identity"
)

// createUser creates a user of the test and returns the name and a key.
func (s *service) createUser(name string) (user, key string) {
	s.t.Helper()
	user, key = name+"-of-"+s.org, "key-of-"+name+"-of-"+s.org
	_, err := s.Process.Store.Tenancy.ApplyBootstrap(s.t.Context(), identity.Bootstrap{Users: []identity.DeclaredUser{
		{Name: user, Keys: []identity.DeclaredKey{{Secret: evidence.Secret(key), Description: "of a test"}}},
	}})
	s.must(err)
	return user, key
}

// memberWithAccount creates a user of the test who is a member and has created a service account.
func (s *service) memberWithAccount(name, account string) (user, key string) {
	s.t.Helper()
	user, key = s.createUser(name)
	s.want(http.StatusCreated, http.MethodPut, s.memberPath("/"+user), []byte(`{"role":"member"}`))
	if got := s.do(http.MethodPost, "/api/v2"+s.accountPath(""), key, fmt.Appendf(nil, `{"name":%q,"privilege":"member"}`, account)); got.status != http.StatusCreated {
		s.t.Fatalf("status %d: %s", got.status, got.body)
	}
	return user, key
}

func (s *service) memberPath(user string) string {
	return "/organizations/" + s.org + "/members" + user
}

func TestMembersAreAddedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	user, key := s.createUser("newcomer")
	address := "/api/v2/flows/" + s.org
	denied := "Access denied to " + address
	wantProblem(t, s.do(http.MethodGet, address, key, nil), http.StatusForbidden, denied, nil)
	s.want(http.StatusCreated, http.MethodPut, s.memberPath("/"+user), []byte(`{"role":"reader"}`))
	if got := s.do(http.MethodGet, address, key, nil); got.status != http.StatusOK {
		t.Errorf("a reader gets %d: %s", got.status, got.body)
	}
	s.want(http.StatusOK, http.MethodPut, s.memberPath("/"+user), []byte(`{"role":"member"}`))
	if got := s.do(http.MethodPut, address, key, []byte(`{"name":"shop","description":"","template":[]}`)); got.status != http.StatusCreated {
		t.Errorf("a member gets %d: %s", got.status, got.body)
	}
	if got := lookup(t, s.read(s.memberPath("/"+user)), "role"); got != "member" {
		t.Errorf("role %v", got)
	}
	names := ""
	for _, member := range s.read(s.memberPath("")).([]any) {
		names += fmt.Sprint(lookup(t, member, "user"), " ", lookup(t, member, "role"), ", ")
	}
	if want := "administrator admin, member member, " + user + " member, reader reader, snapshotter snapshotter, "; names != want {
		t.Errorf("members are %s, want %s", names, want)
	}
	s.want(http.StatusOK, http.MethodDelete, s.memberPath("/"+user), nil)
	wantProblem(t, s.do(http.MethodGet, address, key, nil), http.StatusForbidden, denied, nil)
	noMember := "User '" + user + "' is not a member of organization '" + s.org + "'"
	s.wantError(http.StatusNotFound, noMember, http.MethodDelete, s.memberPath("/"+user), "")
	s.wantError(http.StatusNotFound, noMember, http.MethodGet, s.memberPath("/"+user), "")
	s.wantError(http.StatusNotFound, "User 'nobody' does not exist", http.MethodPut, s.memberPath("/nobody"), `{"role":"reader"}`)
	s.wantError(http.StatusBadRequest, "User 'administrator' is the last admin of organization '"+s.org+"'", http.MethodDelete, s.memberPath("/administrator"), "")
	s.wantError(http.StatusBadRequest, "User 'administrator' is the last admin of organization '"+s.org+"'", http.MethodPut, s.memberPath("/administrator"), `{"role":"member"}`)
	s.wantError(http.StatusBadRequest, "Organization 'administrator' is personal and cannot have other members", http.MethodPut,
		"/organizations/administrator/members/member", `{"role":"reader"}`)
	wantProblem(t, s.do(http.MethodPut, "/api/v2"+s.memberPath("/"+user), adminKey, []byte(`{"role":"owner"}`)), http.StatusBadRequest, validationMessage,
		map[string]string{"role": "Input should be 'admin', 'member', 'snapshotter' or 'reader' [input: owner]"})
}

func TestServiceAccountsOfALeavingMemberAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	s := share(t)
	user, key := s.createUser("leaver")
	change := func(status int, method, query, body string) []any {
		t.Helper()
		answer := s.want(status, method, s.memberPath("/"+user+query), []byte(body)).value(t)
		if lookup(t, answer, "message") != "OK" {
			t.Errorf("it answers %s", asJSON(answer))
		}
		return lookup(t, answer, "left_service_accounts").([]any)
	}
	change(http.StatusCreated, http.MethodPut, "", `{"role":"member"}`)
	created := s.do(http.MethodPost, "/api/v2"+s.accountPath(""), key, []byte(`{"name":"leavers-robot","privilege":"member"}`))
	if created.status != http.StatusCreated {
		t.Fatalf("status %d: %s", created.status, created.body)
	}
	_, robot := s.issue("/leavers-robot", key, `{"description":"ci"}`)
	if left := change(http.StatusOK, http.MethodPut, "", `{"role":"member"}`); len(left) != 0 {
		t.Errorf("left are %s", asJSON(left))
	}
	if left := asJSON(change(http.StatusOK, http.MethodPut, "", `{"role":"reader"}`)); left != `[{"keys_revoked":false,"name":"leavers-robot","privilege":"member"}]` {
		t.Errorf("left are %s", left)
	}
	for _, account := range s.read(s.accountPath("")).([]any) {
		_, left := account.(map[string]any)["left_by_creator"]
		if left != (lookup(t, account, "name") == "leavers-robot") {
			t.Errorf("listed is %s", asJSON(account))
		}
	}
	s.signedIn(readerKey).wantPage(http.StatusOK, "/"+s.org+"/settings/service-accounts", `<td data-label="Left by creator"><bdi>true</bdi>`)
	if got := s.do(http.MethodGet, "/api/v2/flows/"+s.org, robot, nil); got.status != http.StatusOK {
		t.Errorf("its key answers %d", got.status)
	}
	if left := asJSON(change(http.StatusOK, http.MethodDelete, "?revoke_service_accounts=true", "")); left != `[{"keys_revoked":true,"name":"leavers-robot","privilege":"member"}]` {
		t.Errorf("left are %s", left)
	}
	wantMessage(t, s.do(http.MethodGet, "/api/v2/flows/"+s.org, robot, nil), invalidKey)
	entries := lookup(t, s.read("/membership-audit-log/"+s.org+"?event_type=removed&search="+user), "entries").([]any)
	if len(entries) == 0 || asJSON(lookup(t, entries[len(entries)-1], "left_service_accounts")) != `["leavers-robot"]` {
		t.Errorf("the log has %s", asJSON(entries))
	}
}

// TestARepeatedRemovalRevokesTheKeysThatWereLeft repeats the removal of a member, after a first request that did not
// revoke keys, as one that ended early.
func TestARepeatedRemovalRevokesTheKeysThatWereLeft(t *testing.T) {
	t.Parallel()
	s := share(t)
	user, key := s.memberWithAccount("dropout", "dropouts-robot")
	_, robot := s.issue("/dropouts-robot", key, `{"description":"ci"}`)
	s.want(http.StatusOK, http.MethodDelete, s.memberPath("/"+user), nil)
	remove := func(query string) {
		t.Helper()
		s.want(http.StatusNotFound, http.MethodDelete, s.memberPath("/"+user+query), nil)
	}
	remove("")
	if got := s.do(http.MethodGet, "/api/v2/flows/"+s.org, robot, nil); got.status != http.StatusOK {
		t.Errorf("its key answers %d", got.status)
	}
	remove("?revoke_service_accounts=true")
	wantMessage(t, s.do(http.MethodGet, "/api/v2/flows/"+s.org, robot, nil), invalidKey)
}

func TestUsersCreateOrganizations(t *testing.T) {
	t.Parallel()
	s := share(t)
	user, key := s.createUser("founder")
	name := "startup-" + s.org
	create := func(body string) answer { return s.do(http.MethodPost, "/api/v2/organizations", key, []byte(body)) }
	got := create(`{"name":"` + name + `"}`)
	if got.status != http.StatusCreated || lookup(t, got.value(t), "kind") != "shared" {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	members := s.do(http.MethodGet, "/api/v2/organizations/"+name+"/members", key, nil).value(t).([]any)
	if len(members) != 1 || lookup(t, members[0], "user") != user || lookup(t, members[0], "role") != "admin" {
		t.Errorf("members are %s", asJSON(members))
	}
	for _, taken := range []string{name, s.org, user} {
		wantProblem(t, create(`{"name":"`+taken+`"}`), http.StatusBadRequest, "Organization named '"+taken+"' already exists", nil)
	}
	wantProblem(t, create(`{"name":"`+strings.ToUpper(name)+`"}`), http.StatusBadRequest, "Organization named '"+name+"' already exists", nil)
	for _, wrong := range []string{"", "..", "a/b", "default-org", "api-keys"} {
		if got := create(`{"name":"` + wrong + `"}`); got.status != http.StatusBadRequest {
			t.Errorf("%q: status %d: %s", wrong, got.status, got.body)
		}
	}
	wantProblem(t, s.do(http.MethodGet, "/api/v2/flows/"+name, adminKey, nil), http.StatusForbidden, "Access denied to /api/v2/flows/"+name, nil)
}

func TestUsersManageTheirOwnKeys(t *testing.T) {
	t.Parallel()
	s := share(t)
	_, key := s.createUser("owner")
	_, others := s.createUser("other")
	call := func(method, path, secret, body string, status int) answer {
		t.Helper()
		got := s.do(method, "/api/v2/user/api-keys"+path, secret, []byte(body))
		if got.status != status {
			t.Fatalf("%s %s: status %d, want %d: %s", method, path, got.status, status, got.body)
		}
		return got
	}
	created := call(http.MethodPost, "", key, `{"description":"laptop"}`, http.StatusCreated).value(t)
	clientReads(t, "new_api_key", created)
	id, secret := lookup(t, created, "id").(string), lookup(t, created, "key").(string)
	if listed := call(http.MethodGet, "", secret, "", http.StatusOK).value(t).([]any); len(listed) != 2 {
		t.Errorf("listed are %s", asJSON(listed))
	}
	for _, request := range []struct{ method, path string }{
		{http.MethodGet, "/" + id}, {http.MethodDelete, "/" + id}, {http.MethodPost, "/" + id + "/rotate"},
	} {
		wantMessage(t, call(request.method, request.path, others, "{}", http.StatusNotFound), keyNotFound)
	}
	rotated := call(http.MethodPost, "/"+id+"/rotate", key, `{"grace_period_hours":1}`, http.StatusCreated).value(t)
	clientReads(t, "rotated_api_key", rotated)
	shown := call(http.MethodGet, "/"+id, key, "", http.StatusOK).value(t)
	if lookup(t, shown, "grace_period_expires_at") != lookup(t, rotated, "grace_period_expires_at") {
		t.Errorf("the old key is %s, rotating answered %s", asJSON(shown), asJSON(rotated))
	}
	call(http.MethodDelete, "/"+id, key, "null", http.StatusOK)
	wantMessage(t, call(http.MethodGet, "", secret, "", http.StatusUnauthorized), invalidKey)
	// A key can revoke itself and is invalid afterwards.
	fresh := lookup(t, rotated, "key").(string)
	call(http.MethodDelete, "/"+lookup(t, rotated, "id").(string), fresh, "null", http.StatusOK)
	call(http.MethodGet, "", fresh, "", http.StatusUnauthorized)
}

func TestAuditLogRecordsChangesOfAccess(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	user, _ := s.createUser("audited")
	log := "/membership-audit-log/" + s.org
	begun := s.clock.read()
	s.want(http.StatusCreated, http.MethodPut, s.memberPath("/"+user), []byte(`{"role":"reader"}`))
	s.want(http.StatusOK, http.MethodPut, s.memberPath("/"+user), []byte(`{"role":"member"}`))
	s.want(http.StatusCreated, http.MethodPost, s.accountPath(""), []byte(`{"name":"audited-robot","privilege":"snapshotter"}`))
	s.issue("/audited-robot", adminKey, `{"description":"first"}`)
	s.want(http.StatusOK, http.MethodDelete, s.memberPath("/"+user), nil)
	listEntries := func(query string) string {
		t.Helper()
		words := ""
		for _, entry := range lookup(t, s.read(log+query), "entries").([]any) {
			words += fmt.Sprint(lookup(t, entry, "event_type"), " ", lookup(t, entry, "user"), " ", asJSON(lookup(t, entry, "old_role")), " ", asJSON(lookup(t, entry, "new_role")), "; ")
		}
		return words
	}
	added, changed, removed := "added "+user+" null \"reader\"; ", "changed "+user+" \"reader\" \"member\"; ", "removed "+user+" \"member\" null; "
	robot, itsKey := "added audited-robot null \"snapshotter\"; ", "added audited-robot null null; "
	for query, want := range map[string]string{
		"?search=audited":                         removed + itsKey + robot + changed + added,
		"?search=AUDITED-of&sort_dir=asc":         added + changed + removed,
		"?search=audited&event_type=removed":      removed,
		"?search=audited&role=member&role=reader": changed + added,
		"?search=audited&source=script":           "",
		"?source=app&per_page=2&page=2":           robot + changed,
		"?search=administrator&sort_by=user&sort_dir=asc&source=app&event_type=added":     added + robot + itsKey,
		fmt.Sprintf("?from_timestamp=%d.5&source=app&event_type=changed", begun.Unix()-1): changed,
		fmt.Sprintf("?to_timestamp=%d&source=app", begun.Unix()-1):                        "",
	} {
		if got := listEntries(query); got != want {
			t.Errorf("%s: %s\nwant %s", query, got, want)
		}
	}
	first := s.read(log + "?source=app&per_page=2")
	if lookup(t, first, "total_count") != 5.0 || lookup(t, first, "total_pages") != 3.0 || lookup(t, first, "entries", 0, "changed_by") != "administrator" {
		t.Errorf("the first page is %s", asJSON(first))
	}
	for query, errors := range map[string]map[string]string{
		"?sort_by=name":                         {"query.sort_by": "Input should be 'when', 'user', 'role', 'changed_by' or 'source' [input: name]"},
		"?event_type=moved":                     {"query.event_type": "Input should be 'added', 'changed' or 'removed' [input: moved]"},
		"?per_page=101":                         {"query.per_page": "Input should be less than or equal to 100 [input: 101]"},
		"?from_timestamp=x":                     {"query.from_timestamp": "Input should be a valid number, unable to parse string as a number [input: x]"},
		"?" + strings.Repeat("role=a&", 1001):   {"query.role": tooManyTexts},
		"?" + strings.Repeat("source=a&", 1001): {"query.source": tooManyTexts},
	} {
		wantProblem(t, s.do(http.MethodGet, "/api/v2"+log+query, adminKey, nil), http.StatusBadRequest, validationMessage, errors)
	}
	s.wantError(http.StatusForbidden, betaOffMessage, http.MethodGet, "/membership-audit-log/"+s.public, "")
}

func TestNoKeyOutlivesAConcurrentRemovalWithRevocation(t *testing.T) {
	t.Parallel()
	s := share(t)
	user, key := s.memberWithAccount("leaver", "robot")
	issued := make(chan string, 10_000)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for {
				got := s.do(http.MethodPost, "/api/v2"+s.accountPath("/robot/api-keys"), key, []byte(`{"description":"one more"}`))
				if got.status != http.StatusCreated {
					return
				}
				issued <- lookup(t, got.value(t), "key").(string)
			}
		})
	}
	first := <-issued
	s.want(http.StatusOK, http.MethodDelete, s.memberPath("/"+user+"?revoke_service_accounts=true"), nil)
	group.Wait()
	issued <- first
	close(issued)
	for secret := range issued {
		if got := s.do(http.MethodGet, "/api/v2/flows/"+s.org, secret, nil); got.status != http.StatusUnauthorized {
			t.Fatalf("a key that the member issued is answered with %d", got.status)
		}
	}
}
