package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

const (
	noPermission      = "You don't have permission to access this resource"
	accountNotFound   = "Service account not found"
	keyNotFound       = "API key not found"
	invalidKey        = "A valid API key is required."
	validationMessage = "Input payload validation failed"
)

func (s *service) accountPath(name string) string { return "/service-accounts/" + s.org + name }

// issue issues a key of a service account by the API and returns its id and the secret.
func (s *service) issue(account, caller, body string) (id, secret string) {
	s.t.Helper()
	got := s.do(http.MethodPost, "/api/v2"+s.accountPath(account)+"/api-keys", caller, []byte(body))
	if got.status != http.StatusCreated {
		s.t.Fatalf("status %d: %s", got.status, got.body)
	}
	key := got.value(s.t)
	clientReads(s.t, "new_api_key", key)
	return lookup(s.t, key, "id").(string), lookup(s.t, key, "key").(string)
}

func TestAServiceAccountIsCreatedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	created := s.want(http.StatusCreated, http.MethodPost, s.accountPath(""), []byte(`{"name":"ci","description":"builds","privilege":"member"}`)).value(t)
	clientReads(t, "service_account", created)
	for member, want := range map[string]any{"name": "ci", "display_name": "ci", "description": "builds", "privilege": "member", "for_webhook": false} {
		if got := lookup(t, created, member); got != want {
			t.Errorf("%s is %v, want %v", member, got, want)
		}
	}
	if read := s.read(s.accountPath("/ci")); asJSON(read) != asJSON(created) {
		t.Errorf("read as %s, created as %s", asJSON(read), asJSON(created))
	}
	listed := clientReadsEach(t, "service_account", s.read(s.accountPath("")))
	if _, ok := listed[0].(map[string]any)["for_webhook"]; ok || len(listed) != 1 {
		t.Errorf("listed as %s", asJSON(listed))
	}
	for _, step := range []struct{ body, description, privilege string }{
		{`{"description":"checks"}`, `"checks"`, "member"},
		{`{"privilege":"snapshotter"}`, `"checks"`, "snapshotter"},
		{`{"privilege":null,"description":""}`, `""`, "snapshotter"},
		{`{"description":null}`, `null`, "snapshotter"},
		{`{}`, `null`, "snapshotter"},
	} {
		got := s.want(http.StatusOK, http.MethodPatch, s.accountPath("/ci"), []byte(step.body)).value(t)
		if asJSON(lookup(t, got, "description")) != step.description || lookup(t, got, "privilege") != step.privilege {
			t.Errorf("%s: %s", step.body, asJSON(got))
		}
	}
	// Clients send null as the body of a DELETE.
	if got := s.want(http.StatusOK, http.MethodDelete, s.accountPath("/ci"), []byte("null")).text(t); got != "OK" {
		t.Errorf("deleting answers %q", got)
	}
	s.wantError(http.StatusNotFound, accountNotFound, http.MethodGet, s.accountPath("/ci"), "")
	s.wantError(http.StatusNotFound, accountNotFound, http.MethodDelete, s.accountPath("/ci"), "null")
	s.wantError(http.StatusNotFound, accountNotFound, http.MethodPatch, s.accountPath("/ci"), "{}")
	if got := asJSON(s.read(s.accountPath(""))); got != "[]" {
		t.Errorf("listed are %s", got)
	}
}

func TestUnknownMembersAreIgnoredInBodiesOfServiceAccountsAndKeys(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.want(http.StatusCreated, http.MethodPost, s.accountPath(""), []byte(`{"name":"ci","colour":1}`))
	s.want(http.StatusOK, http.MethodPatch, s.accountPath("/ci"), []byte(`{"colour":1}`))
	id, _ := s.issue("/ci", adminKey, `{"description":"builds","colour":1}`)
	s.want(http.StatusCreated, http.MethodPost, s.accountPath("/ci/api-keys/"+id+"/rotate"), []byte(`{"colour":1}`))
}

func TestInvalidServiceAccountsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.want(http.StatusCreated, http.MethodPost, s.accountPath(""), []byte(`{"name":"taken"}`))
	for name, c := range map[string]struct {
		method, path, body, message string
		errors                      map[string]string
	}{
		"a taken name": {http.MethodPost, "", `{"name":"taken"}`, "Service account 'taken' already exists in organization '" + s.org + "'", nil},
		"a wrong privilege in a change": {http.MethodPatch, "/taken", `{"privilege":"owner"}`, validationMessage,
			map[string]string{"privilege": "Input should be <Role.ADMIN: 'admin'>, <Role.MEMBER: 'member'>, <Role.SNAPSHOTTER: 'snapshotter'> or <Role.READER: 'reader'> [input: owner]"}},
		"a key that has expired": {http.MethodPost, "/taken/api-keys", `{"description":"x","expires_at":1500000000}`, "expires_at cannot be in the past", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			wantProblem(t, s.do(c.method, "/api/v2"+s.accountPath(c.path), adminKey, []byte(c.body)), http.StatusBadRequest, c.message, c.errors)
		})
	}
	wantProblem(t, s.do(http.MethodPost, "/api/v2/service-accounts/administrator", adminKey, []byte(`{"name":"ci"}`)), http.StatusBadRequest,
		"Organization 'administrator' is personal and cannot have service accounts", nil)
}

func TestUsersCannotGrantMoreThanTheyHave(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	create := func(key, name, privilege string) answer {
		t.Helper()
		return s.do(http.MethodPost, "/api/v2"+s.accountPath(""), key, fmt.Appendf(nil, `{"name":%q,"privilege":%q}`, name, privilege))
	}
	for i, c := range []struct {
		key, privilege string
		status         int
	}{
		{readerKey, "reader", 403}, {snapshotterKey, "snapshotter", 201}, {snapshotterKey, "member", 403},
		{memberKey, "member", 201}, {memberKey, "admin", 403}, {adminKey, "admin", 201}, {strangerKey, "reader", 403},
	} {
		if got := create(c.key, fmt.Sprint("account-", i), c.privilege); got.status != c.status {
			t.Errorf("%s creates %s: status %d, want %d: %s", userOf(c.key), c.privilege, got.status, c.status, got.body)
		}
	}
	create(memberKey, "own", "reader")
	create(adminKey, "other", "reader")
	patch := func(account, body string) answer {
		return s.do(http.MethodPatch, "/api/v2"+s.accountPath(account), memberKey, []byte(body))
	}
	if got := patch("/own", `{"privilege":"member"}`); got.status != http.StatusOK {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	wantProblem(t, patch("/own", `{"privilege":"admin"}`), http.StatusForbidden, noPermission, nil)
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPatch, "/other", `{"description":"mine"}`}, {http.MethodDelete, "/other", ""}, {http.MethodGet, "/other/api-keys", ""},
		{http.MethodPost, "/other/api-keys", `{"description":"mine"}`}, {http.MethodPost, "/other/api-keys/x/rotate", `{}`},
		{http.MethodGet, "/other/api-keys/x", ""}, {http.MethodDelete, "/other/api-keys/x", ""},
	} {
		wantProblem(t, s.do(c.method, "/api/v2"+s.accountPath(c.path), memberKey, []byte(c.body)), http.StatusForbidden, noPermission, nil)
	}
	// The creator cannot manage an account with a higher privilege: a key of it would give the creator that privilege.
	s.want(http.StatusOK, http.MethodPatch, s.accountPath("/own"), []byte(`{"privilege":"admin"}`))
	wantProblem(t, s.do(http.MethodPost, "/api/v2"+s.accountPath("/own")+"/api-keys", memberKey, []byte(`{"description":"up"}`)), http.StatusForbidden, noPermission, nil)
	// A service account manages the accounts that it has created.
	_, robot := s.issue("/account-3", memberKey, `{"description":"robot"}`)
	if got := create(robot, "robots-own", "member"); got.status != http.StatusCreated {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	s.issue("/robots-own", robot, `{"description":"of a robot"}`)
}

func TestKeysOfServiceAccounts(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	s.want(http.StatusCreated, http.MethodPost, s.accountPath(""), []byte(`{"name":"ci","privilege":"member"}`))
	s.want(http.StatusCreated, http.MethodPut, "/flows/"+s.org, []byte(`{"name":"shop","description":"","template":["artifact"]}`))
	use := func(secret string) int {
		t.Helper()
		return s.do(http.MethodGet, "/api/v2/flows/"+s.org, secret, nil).status
	}
	wantStatus := func(when, secret string, want int) {
		t.Helper()
		if got := use(secret); got != want {
			t.Errorf("%s: status %d, want %d", when, got, want)
		}
	}
	now := s.clock.read().Unix()
	id, secret := s.issue("/ci", adminKey, fmt.Sprintf(`{"description":"for the pipeline","expires_at":%d}`, now+100))
	if got := s.form(http.MethodPut, "/trails/"+s.org+"/shop", secret, "data_json", `{"name":"release"}`); got.status != http.StatusCreated {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if got := lookup(t, s.read("/trails/"+s.org+"/shop/release"), "created_by"); got != "ci" {
		t.Errorf("the trail was begun by %v", got)
	}
	t.Run("is listed without its secret", func(t *testing.T) {
		s := s.in(t)
		eventually(t, "the use of the key is recorded", func() bool {
			return lookup(t, s.read(s.accountPath("/ci/api-keys/"+id)), "last_used_at") != nil
		})
		listed := clientReadsEach(t, "api_key", s.read(s.accountPath("/ci/api-keys")))
		if one := s.read(s.accountPath("/ci/api-keys/" + id)); len(listed) != 1 || asJSON(one) != asJSON(listed[0]) {
			t.Errorf("listed as %s, read as %s", asJSON(listed), asJSON(one))
		}
		if got := lookup(t, listed[0], "expires_at"); got != float64(now+100) {
			t.Errorf("expires at %v", got)
		}
	})
	t.Run("stops the second it expires", func(t *testing.T) {
		s := s.in(t)
		s.clock.advance(time.Duration(now+99-s.clock.read().Unix()) * time.Second)
		wantStatus("a second before", secret, http.StatusOK)
		s.clock.advance(time.Second)
		wantStatus("at the second", secret, http.StatusUnauthorized)
		s.wantError(http.StatusNotFound, keyNotFound, http.MethodGet, s.accountPath("/ci/api-keys/"+id), "")
		if got := asJSON(s.read(s.accountPath("/ci/api-keys"))); got != "[]" {
			t.Errorf("listed are %s", got)
		}
	})
	t.Run("works for the grace period after it was rotated", func(t *testing.T) {
		s := s.in(t)
		id, old := s.issue("/ci", adminKey, `{"description":"rotating"}`)
		rotated := s.want(http.StatusCreated, http.MethodPost, s.accountPath("/ci/api-keys/"+id+"/rotate"), []byte(`{}`)).value(t)
		clientReads(t, "rotated_api_key", rotated)
		ends := int64(lookup(t, rotated, "grace_period_expires_at").(float64))
		if left := ends - s.clock.read().Unix(); left < 24*3600-5 || left > 24*3600 {
			t.Errorf("the old key has %d s left", left)
		}
		s.clock.advance(time.Duration(ends-s.clock.read().Unix()-2) * time.Second)
		wantStatus("the old key within the grace period", old, http.StatusOK)
		s.clock.advance(3 * time.Second)
		wantStatus("the old key after it", old, http.StatusUnauthorized)
		wantStatus("the new key", lookup(t, rotated, "key").(string), http.StatusOK)
		s.wantError(http.StatusNotFound, keyNotFound, http.MethodPost, s.accountPath("/ci/api-keys/"+id+"/rotate"), "{}")
	})
	t.Run("passes its expiry to no key that replaces it", func(t *testing.T) {
		s := s.in(t)
		id, _ := s.issue("/ci", adminKey, fmt.Sprintf(`{"description":"expiring","expires_at":%d}`, s.clock.read().Unix()+1000))
		for _, body := range []string{`{}`, `{"expires_at":null}`, `{"expires_at":0}`} {
			rotated := s.want(http.StatusCreated, http.MethodPost, s.accountPath("/ci/api-keys/"+id+"/rotate"), []byte(body)).value(t)
			if got := lookup(t, rotated, "expires_at"); got != 0.0 {
				t.Errorf("%s: the new key expires at %v", body, got)
			}
		}
	})
	t.Run("stops at once when it is revoked", func(t *testing.T) {
		s := s.in(t)
		id, secret := s.issue("/ci", adminKey, `{"description":"leaked"}`)
		wantStatus("before", secret, http.StatusOK)
		if got := s.want(http.StatusOK, http.MethodDelete, s.accountPath("/ci/api-keys/"+id), []byte("null")).text(t); got != "revoked" {
			t.Errorf("revoking answers %q", got)
		}
		wantProblem(t, s.do(http.MethodGet, "/api/v2/flows/"+s.org, secret, nil), http.StatusUnauthorized, invalidKey, nil)
		s.wantError(http.StatusNotFound, keyNotFound, http.MethodDelete, s.accountPath("/ci/api-keys/"+id), "null")
	})
	t.Run("stops when its account is deleted, and trails keep the account's name", func(t *testing.T) {
		s := s.in(t)
		_, secret := s.issue("/ci", adminKey, `{"description":"last"}`)
		s.want(http.StatusOK, http.MethodDelete, s.accountPath("/ci"), []byte("null"))
		wantStatus("after", secret, http.StatusUnauthorized)
		if got := lookup(t, s.read("/trails/"+s.org+"/shop/release"), "created_by"); got != "ci" {
			t.Errorf("the trail was begun by %v", got)
		}
	})
}

func TestListsSayWhichServiceAccountHasAKeyThatExpires(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	for _, name := range []string{"ci", "quiet"} {
		s.want(http.StatusCreated, http.MethodPost, s.accountPath(""), fmt.Appendf(nil, `{"name":%q,"privilege":"member"}`, name))
	}
	now := s.clock.read()
	in := func(days int) int64 { return now.Add(time.Duration(days) * 24 * time.Hour).Unix() }
	soon, _ := s.issue("/ci", adminKey, fmt.Sprintf(`{"description":"soon","expires_at":%d}`, in(5)))
	s.issue("/ci", adminKey, fmt.Sprintf(`{"description":"later","expires_at":%d}`, in(10)))
	s.issue("/quiet", adminKey, fmt.Sprintf(`{"description":"much later","expires_at":%d}`, in(31)))
	s.issue("/quiet", adminKey, `{"description":"never"}`)
	wantExpiries := func(want ...any) {
		t.Helper()
		accounts := s.read(s.accountPath("")).([]any)
		if len(accounts) != len(want) {
			t.Fatalf("there are %d accounts", len(accounts))
		}
		for i, account := range accounts {
			if got := account.(map[string]any)["key_expires_at"]; got != want[i] {
				t.Errorf("%s, want a key that expires at %v", asJSON(account), want[i])
			}
		}
	}
	wantExpiries(float64(in(5)), nil)
	s.want(http.StatusCreated, http.MethodPost, s.accountPath("/ci/api-keys/"+soon+"/rotate"), fmt.Appendf(nil, `{"expires_at":%d}`, in(90)))
	wantExpiries(float64(in(10)), nil)
	s.signedIn(readerKey).wantPage(http.StatusOK, "/"+s.org, "A key of service account <bdi>ci</bdi> expires")
}
