package organizations_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

// createUser creates a user of the test and returns the name and a key.
func createUser(s *apitest.Service, name string) (user, key string) {
	s.T.Helper()
	user, key = name+"-of-"+s.Org, "key-of-"+name+"-of-"+s.Org
	_, err := s.Process.Store.Tenancy.ApplyBootstrap(s.T.Context(), identity.Bootstrap{Users: []identity.DeclaredUser{
		{Name: user, Keys: []identity.DeclaredKey{{Secret: evidence.Secret(key), Description: "of a test"}}},
	}})
	s.Must(err)
	return user, key
}

// memberWithAccount creates a user of the test who is a member and has created a service account.
func memberWithAccount(s *apitest.Service, name, account string) (user, key string) {
	s.T.Helper()
	user, key = createUser(s, name)
	s.Want(http.StatusCreated, http.MethodPut, memberPath(s, "/"+user), []byte(`{"role":"member"}`))
	if got := s.Do(http.MethodPost, "/api/v2"+accountPath(s, ""), key, fmt.Appendf(nil, `{"name":%q,"privilege":"member"}`, account)); got.Status != http.StatusCreated {
		s.T.Fatalf("status %d: %s", got.Status, got.Body)
	}
	return user, key
}

func memberPath(s *apitest.Service, user string) string {
	return "/organizations/" + s.Org + "/members" + user
}

func TestMembersAreAddedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	user, key := createUser(s, "newcomer")
	address := "/api/v2/flows/" + s.Org
	denied := "Access denied to " + address
	apitest.WantProblem(t, s.Do(http.MethodGet, address, key, nil), http.StatusForbidden, denied, nil)
	s.Want(http.StatusCreated, http.MethodPut, memberPath(s, "/"+user), []byte(`{"role":"reader"}`))
	apitest.WantAnswer(t, s.Do(http.MethodGet, address, key, nil), http.StatusOK)
	s.Want(http.StatusOK, http.MethodPut, memberPath(s, "/"+user), []byte(`{"role":"member"}`))
	apitest.WantAnswer(t, s.Do(http.MethodPut, address, key, []byte(`{"name":"shop","description":"","template":[]}`)),
		http.StatusCreated)
	if got := apitest.Lookup(t, s.Read(memberPath(s, "/"+user)), "role"); got != "member" {
		t.Errorf("role %v", got)
	}
	names := ""
	for _, member := range s.Read(memberPath(s, "")).([]any) {
		names += fmt.Sprint(apitest.Lookup(t, member, "user"), " ", apitest.Lookup(t, member, "role"), ", ")
	}
	if want := "administrator admin, member member, " + user + " member, reader reader, snapshotter snapshotter, "; names != want {
		t.Errorf("members are %s, want %s", names, want)
	}
	s.Want(http.StatusOK, http.MethodDelete, memberPath(s, "/"+user), nil)
	apitest.WantProblem(t, s.Do(http.MethodGet, address, key, nil), http.StatusForbidden, denied, nil)
	noMember := "User '" + user + "' is not a member of organization '" + s.Org + "'"
	s.WantError(http.StatusNotFound, noMember, http.MethodDelete, memberPath(s, "/"+user), "")
	s.WantError(http.StatusNotFound, noMember, http.MethodGet, memberPath(s, "/"+user), "")
	s.WantError(http.StatusNotFound, "User 'nobody' does not exist", http.MethodPut, memberPath(s, "/nobody"), `{"role":"reader"}`)
	s.WantError(http.StatusBadRequest, "User 'administrator' is the last admin of organization '"+s.Org+"'", http.MethodDelete, memberPath(s, "/administrator"), "")
	s.WantError(http.StatusBadRequest, "User 'administrator' is the last admin of organization '"+s.Org+"'", http.MethodPut, memberPath(s, "/administrator"), `{"role":"member"}`)
	s.WantError(http.StatusBadRequest, "Organization 'administrator' is personal and cannot have other members", http.MethodPut,
		"/organizations/administrator/members/member", `{"role":"reader"}`)
	apitest.WantProblem(t, s.Do(http.MethodPut, "/api/v2"+memberPath(s, "/"+user), apitest.AdminKey, []byte(`{"role":"owner"}`)), http.StatusBadRequest, apitest.ValidationMessage,
		map[string]string{"role": "Input should be 'admin', 'member', 'snapshotter' or 'reader' [input: owner]"})
}

func TestServiceAccountsOfALeavingMemberAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	user, key := createUser(s, "leaver")
	change := func(status int, method, query, body string) []any {
		t.Helper()
		answer := s.Want(status, method, memberPath(s, "/"+user+query), []byte(body)).Value(t)
		apitest.WantMember(t, answer, "message", "OK")
		return apitest.Lookup(t, answer, "left_service_accounts").([]any)
	}
	change(http.StatusCreated, http.MethodPut, "", `{"role":"member"}`)
	created := s.Do(http.MethodPost, "/api/v2"+accountPath(s, ""), key, []byte(`{"name":"leavers-robot","privilege":"member"}`))
	if created.Status != http.StatusCreated {
		t.Fatalf("status %d: %s", created.Status, created.Body)
	}
	_, robot := issue(s, "/leavers-robot", key, `{"description":"ci"}`)
	if left := change(http.StatusOK, http.MethodPut, "", `{"role":"member"}`); len(left) != 0 {
		t.Errorf("left are %s", apitest.AsJSON(left))
	}
	apitest.Equal(t, apitest.AsJSON(change(http.StatusOK, http.MethodPut, "", `{"role":"reader"}`)),
		`[{"keys_revoked":false,"name":"leavers-robot","privilege":"member"}]`, "left")
	for _, account := range s.Read(accountPath(s, "")).([]any) {
		_, left := account.(map[string]any)["left_by_creator"]
		if left != (apitest.Lookup(t, account, "name") == "leavers-robot") {
			t.Errorf("listed is %s", apitest.AsJSON(account))
		}
	}
	webclient.SignedIn(s, apitest.ReaderKey).WantPage(http.StatusOK, "/"+s.Org+"/settings/service-accounts", `<td data-label="Left by creator"><bdi>true</bdi>`)
	apitest.Equal(t, s.Do(http.MethodGet, "/api/v2/flows/"+s.Org, robot, nil).Status, http.StatusOK, "its key answers")
	apitest.Equal(t, apitest.AsJSON(change(http.StatusOK, http.MethodDelete, "?revoke_service_accounts=true", "")),
		`[{"keys_revoked":true,"name":"leavers-robot","privilege":"member"}]`, "left")
	apitest.WantMessage(t, s.Do(http.MethodGet, "/api/v2/flows/"+s.Org, robot, nil), apitest.InvalidKey)
	entries := apitest.Lookup(t, s.Read("/membership-audit-log/"+s.Org+"?event_type=removed&search="+user), "entries").([]any)
	if len(entries) == 0 || apitest.AsJSON(apitest.Lookup(t, entries[len(entries)-1], "left_service_accounts")) != `["leavers-robot"]` {
		t.Errorf("the log has %s", apitest.AsJSON(entries))
	}
}

// TestARepeatedRemovalRevokesTheKeysThatWereLeft repeats the removal of a member, after a first request that did not
// revoke keys, as one that ended early.
func TestARepeatedRemovalRevokesTheKeysThatWereLeft(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	user, key := memberWithAccount(s, "dropout", "dropouts-robot")
	_, robot := issue(s, "/dropouts-robot", key, `{"description":"ci"}`)
	s.Want(http.StatusOK, http.MethodDelete, memberPath(s, "/"+user), nil)
	remove := func(query string) {
		t.Helper()
		s.Want(http.StatusNotFound, http.MethodDelete, memberPath(s, "/"+user+query), nil)
	}
	remove("")
	apitest.Equal(t, s.Do(http.MethodGet, "/api/v2/flows/"+s.Org, robot, nil).Status, http.StatusOK, "its key answers")
	remove("?revoke_service_accounts=true")
	apitest.WantMessage(t, s.Do(http.MethodGet, "/api/v2/flows/"+s.Org, robot, nil), apitest.InvalidKey)
}

func TestUsersCreateOrganizations(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	user, key := createUser(s, "founder")
	name := "startup-" + s.Org
	create := func(body string) apitest.Answer {
		return s.Do(http.MethodPost, "/api/v2/organizations", key, []byte(body))
	}
	got := create(`{"name":"` + name + `"}`)
	if got.Status != http.StatusCreated || apitest.Lookup(t, got.Value(t), "kind") != "shared" {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	members := s.Do(http.MethodGet, "/api/v2/organizations/"+name+"/members", key, nil).Value(t).([]any)
	if len(members) != 1 || apitest.Lookup(t, members[0], "user") != user || apitest.Lookup(t, members[0], "role") != "admin" {
		t.Errorf("members are %s", apitest.AsJSON(members))
	}
	for _, taken := range []string{name, s.Org, user} {
		apitest.WantProblem(t, create(`{"name":"`+taken+`"}`), http.StatusBadRequest, "Organization named '"+taken+"' already exists", nil)
	}
	apitest.WantProblem(t, create(`{"name":"`+strings.ToUpper(name)+`"}`), http.StatusBadRequest, "Organization named '"+name+"' already exists", nil)
	for _, wrong := range []string{"", "..", "a/b", "default-org", "api-keys"} {
		apitest.WantAnswer(t, create(`{"name":"`+wrong+`"}`), http.StatusBadRequest)
	}
	apitest.WantProblem(t, s.Do(http.MethodGet, "/api/v2/flows/"+name, apitest.AdminKey, nil), http.StatusForbidden, "Access denied to /api/v2/flows/"+name, nil)
}

func TestUsersManageTheirOwnKeys(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	_, key := createUser(s, "owner")
	_, others := createUser(s, "other")
	call := func(method, path, secret, body string, status int) apitest.Answer {
		t.Helper()
		got := s.Do(method, "/api/v2/user/api-keys"+path, secret, []byte(body))
		if got.Status != status {
			t.Fatalf("%s %s: status %d, want %d: %s", method, path, got.Status, status, got.Body)
		}
		return got
	}
	created := call(http.MethodPost, "", key, `{"description":"laptop"}`, http.StatusCreated).Value(t)
	apitest.ClientReads(t, "new_api_key", created)
	id, secret := apitest.Lookup(t, created, "id").(string), apitest.Lookup(t, created, "key").(string)
	if listed := call(http.MethodGet, "", secret, "", http.StatusOK).Value(t).([]any); len(listed) != 2 {
		t.Errorf("listed are %s", apitest.AsJSON(listed))
	}
	for _, request := range []struct{ method, path string }{
		{http.MethodGet, "/" + id}, {http.MethodDelete, "/" + id}, {http.MethodPost, "/" + id + "/rotate"},
	} {
		apitest.WantMessage(t, call(request.method, request.path, others, "{}", http.StatusNotFound), apitest.KeyNotFound)
	}
	rotated := call(http.MethodPost, "/"+id+"/rotate", key, `{"grace_period_hours":1}`, http.StatusCreated).Value(t)
	apitest.ClientReads(t, "rotated_api_key", rotated)
	shown := call(http.MethodGet, "/"+id, key, "", http.StatusOK).Value(t)
	if apitest.Lookup(t, shown, "grace_period_expires_at") != apitest.Lookup(t, rotated, "grace_period_expires_at") {
		t.Errorf("the old key is %s, rotating answered %s", apitest.AsJSON(shown), apitest.AsJSON(rotated))
	}
	call(http.MethodDelete, "/"+id, key, "null", http.StatusOK)
	apitest.WantMessage(t, call(http.MethodGet, "", secret, "", http.StatusUnauthorized), apitest.InvalidKey)
	// A key can revoke itself and is invalid afterwards.
	fresh := apitest.Lookup(t, rotated, "key").(string)
	call(http.MethodDelete, "/"+apitest.Lookup(t, rotated, "id").(string), fresh, "null", http.StatusOK)
	call(http.MethodGet, "", fresh, "", http.StatusUnauthorized)
}

func TestAuditLogRecordsChangesOfAccess(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	user, _ := createUser(s, "audited")
	log := "/membership-audit-log/" + s.Org
	begun := s.Clock.Read()
	s.Want(http.StatusCreated, http.MethodPut, memberPath(s, "/"+user), []byte(`{"role":"reader"}`))
	for range 2 { // the second one changes nothing
		s.Want(http.StatusOK, http.MethodPut, memberPath(s, "/"+user), []byte(`{"role":"member"}`))
	}
	s.Want(http.StatusCreated, http.MethodPost, accountPath(s, ""), []byte(`{"name":"audited-robot","privilege":"snapshotter"}`))
	issue(s, "/audited-robot", apitest.AdminKey, `{"description":"first"}`)
	s.Want(http.StatusOK, http.MethodDelete, memberPath(s, "/"+user), nil)
	listEntries := func(query string) string {
		t.Helper()
		words := ""
		for _, entry := range apitest.Lookup(t, s.Read(log+query), "entries").([]any) {
			words += fmt.Sprint(apitest.Lookup(t, entry, "event_type"), " ", apitest.Lookup(t, entry, "user"), " ", apitest.AsJSON(apitest.Lookup(t, entry, "old_role")), " ", apitest.AsJSON(apitest.Lookup(t, entry, "new_role")), "; ")
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
		apitest.Equal(t, listEntries(query), want, query)
	}
	first := s.Read(log + "?source=app&per_page=2")
	if apitest.Lookup(t, first, "total_count") != 5.0 || apitest.Lookup(t, first, "total_pages") != 3.0 || apitest.Lookup(t, first, "entries", 0, "changed_by") != "administrator" {
		t.Errorf("the first page is %s", apitest.AsJSON(first))
	}
	for query, errors := range map[string]map[string]string{
		"?sort_by=name":                         {"query.sort_by": "Input should be 'when', 'user', 'role', 'changed_by' or 'source' [input: name]"},
		"?event_type=moved":                     {"query.event_type": "Input should be 'added', 'changed' or 'removed' [input: moved]"},
		"?per_page=101":                         {"query.per_page": "Input should be less than or equal to 100 [input: 101]"},
		"?from_timestamp=x":                     {"query.from_timestamp": "Input should be a valid number, unable to parse string as a number [input: x]"},
		"?" + strings.Repeat("role=a&", 1001):   {"query.role": apitest.TooManyTexts},
		"?" + strings.Repeat("source=a&", 1001): {"query.source": apitest.TooManyTexts},
	} {
		apitest.WantProblem(t, s.Do(http.MethodGet, "/api/v2"+log+query, apitest.AdminKey, nil), http.StatusBadRequest, apitest.ValidationMessage, errors)
	}
	s.WantError(http.StatusForbidden, apitest.BetaOffMessage, http.MethodGet, "/membership-audit-log/"+s.Public, "")
}

func TestTheAuditLogIsReadOnceForTheCSV(t *testing.T) {
	t.Parallel()
	s, counting := apitest.StartCounting(t, apitest.Options{WithoutWorker: true})
	s.Want(http.StatusCreated, http.MethodPost, accountPath(s, ""), []byte(`{"name":"robot","privilege":"reader"}`))
	schemas := app.Schemas()
	schema := schemas[slices.IndexFunc(schemas, func(schema *storage.Schema) bool { return schema.Name == "audit_log" })]
	records, err := s.Process.Store.Documents.List(t.Context(), schema, "", 1000, 1<<20)
	s.Must(err)
	i := slices.IndexFunc(records, func(record storage.Record) bool { return record.Text("user") == "robot" })
	// The entry is copied, as making so many would take seconds.
	for page := range 3 {
		var writes []storage.Write
		for number := range storage.MaxMany {
			record := records[i]
			record.ID = fmt.Sprintf("copy-%d-%03d", page, number)
			record.Body = bytes.ReplaceAll(record.Body, []byte(records[i].ID), []byte(record.ID))
			record.Fields = maps.Clone(record.Fields)
			record.Fields["time"] = record.Float("time") + float64(page*storage.MaxMany+number+1)
			writes = append(writes, storage.Write{Kind: storage.WriteInsert, Schema: schema, Record: record})
		}
		s.Must(s.Process.Store.Documents.Write(t.Context(), writes...))
	}
	path := "/membership-audit-log/" + s.Org + "/csv?search=robot"
	lines := strings.Split(strings.TrimSpace(string(s.Want(http.StatusOK, http.MethodGet, path, nil).Body)), "\n")
	if ids := lines[2:]; len(ids) != 3000 || !slices.IsSorted(ids) || len(evidence.Distinct(ids)) != 3000 {
		t.Errorf("the file has %d lines of copies", len(ids))
	}
	if commands := apitest.FewestCommands(counting, func() { s.Want(http.StatusOK, http.MethodGet, path, nil) }); commands > 10 {
		t.Errorf("it takes %d commands to send 3,001 entries", commands)
	}
}

func TestNoKeyOutlivesAConcurrentRemovalWithRevocation(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	user, key := memberWithAccount(s, "leaver", "robot")
	issued := make(chan string, 10_000)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for {
				got := s.Do(http.MethodPost, "/api/v2"+accountPath(s, "/robot/api-keys"), key, []byte(`{"description":"one more"}`))
				if got.Status != http.StatusCreated {
					return
				}
				issued <- apitest.Lookup(t, got.Value(t), "key").(string)
			}
		})
	}
	first := <-issued
	s.Want(http.StatusOK, http.MethodDelete, memberPath(s, "/"+user+"?revoke_service_accounts=true"), nil)
	group.Wait()
	issued <- first
	close(issued)
	for secret := range issued {
		if got := s.Do(http.MethodGet, "/api/v2/flows/"+s.Org, secret, nil); got.Status != http.StatusUnauthorized {
			t.Fatalf("a key that the member issued is answered with %d", got.Status)
		}
	}
}
