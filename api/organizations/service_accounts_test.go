package organizations_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
)

func accountPath(s *apitest.Service, name string) string { return "/service-accounts/" + s.Org + name }

// issue issues a key of a service account by the API and returns its id and the secret.
func issue(s *apitest.Service, account, caller, body string) (id, secret string) {
	s.T.Helper()
	got := s.Do(http.MethodPost, "/api/v2"+accountPath(s, account)+"/api-keys", caller, []byte(body))
	if got.Status != http.StatusCreated {
		s.T.Fatalf("status %d: %s", got.Status, got.Body)
	}
	key := got.Value(s.T)
	apitest.ClientReads(s.T, "new_api_key", key)
	return apitest.Lookup(s.T, key, "id").(string), apitest.Lookup(s.T, key, "key").(string)
}

func TestAServiceAccountIsCreatedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	created := s.Want(http.StatusCreated, http.MethodPost, accountPath(s, ""), []byte(`{"name":"ci","description":"builds","privilege":"member"}`)).Value(t)
	apitest.ClientReads(t, "service_account", created)
	apitest.WantMembers(t, created, map[string]any{
		"name": "ci", "display_name": "ci", "description": "builds", "privilege": "member", "for_webhook": false,
	})
	apitest.Equal(t, apitest.AsJSON(s.Read(accountPath(s, "/ci"))), apitest.AsJSON(created), "read as")
	listed := apitest.ClientReadsEach(t, "service_account", s.Read(accountPath(s, "")))
	if _, ok := listed[0].(map[string]any)["for_webhook"]; ok || len(listed) != 1 {
		t.Errorf("listed as %s", apitest.AsJSON(listed))
	}
	for _, step := range []struct{ body, description, privilege string }{
		{`{"description":"checks"}`, `"checks"`, "member"},
		{`{"privilege":"snapshotter"}`, `"checks"`, "snapshotter"},
		{`{"privilege":null,"description":""}`, `""`, "snapshotter"},
		{`{"description":null}`, `null`, "snapshotter"},
		{`{}`, `null`, "snapshotter"},
	} {
		got := s.Want(http.StatusOK, http.MethodPatch, accountPath(s, "/ci"), []byte(step.body)).Value(t)
		apitest.Equal(t, apitest.AsJSON(apitest.Lookup(t, got, "description")), step.description)
		apitest.WantMember(t, got, "privilege", step.privilege)
	}
	// Clients send null as the body of a DELETE.
	apitest.Equal(t, s.Want(http.StatusOK, http.MethodDelete, accountPath(s, "/ci"), []byte("null")).Text(t),
		"OK", "deleting answers")
	s.WantError(http.StatusNotFound, apitest.AccountNotFound, http.MethodGet, accountPath(s, "/ci"), "")
	s.WantError(http.StatusNotFound, apitest.AccountNotFound, http.MethodDelete, accountPath(s, "/ci"), "null")
	s.WantError(http.StatusNotFound, apitest.AccountNotFound, http.MethodPatch, accountPath(s, "/ci"), "{}")
	apitest.Equal(t, apitest.AsJSON(s.Read(accountPath(s, ""))), "[]", "listed")
}

func TestUnknownMembersAreIgnoredInBodiesOfServiceAccountsAndKeys(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.Want(http.StatusCreated, http.MethodPost, accountPath(s, ""), []byte(`{"name":"ci","colour":1}`))
	s.Want(http.StatusOK, http.MethodPatch, accountPath(s, "/ci"), []byte(`{"colour":1}`))
	id, _ := issue(s, "/ci", apitest.AdminKey, `{"description":"builds","colour":1}`)
	s.Want(http.StatusCreated, http.MethodPost, accountPath(s, "/ci/api-keys/"+id+"/rotate"), []byte(`{"colour":1}`))
}

func TestInvalidServiceAccountsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.Want(http.StatusCreated, http.MethodPost, accountPath(s, ""), []byte(`{"name":"taken"}`))
	type testCase struct {
		method, path, body, message string
		errors                      map[string]string
	}
	apitest.Each(s, map[string]testCase{
		"a taken name": {http.MethodPost, "", `{"name":"taken"}`, "Service account 'taken' already exists in organization '" + s.Org + "'", nil},
		"a wrong privilege in a change": {http.MethodPatch, "/taken", `{"privilege":"owner"}`, apitest.ValidationMessage,
			map[string]string{"privilege": "Input should be <Role.ADMIN: 'admin'>, <Role.MEMBER: 'member'>, <Role.SNAPSHOTTER: 'snapshotter'> or <Role.READER: 'reader'> [input: owner]"}},
		"a key that has expired": {http.MethodPost, "/taken/api-keys", `{"description":"x","expires_at":1500000000}`, "expires_at cannot be in the past", nil},
	}, func(s *apitest.Service, _ string, c testCase) {
		apitest.WantProblem(s.T, s.Do(c.method, "/api/v2"+accountPath(s, c.path), apitest.AdminKey, []byte(c.body)),
			http.StatusBadRequest, c.message, c.errors)
	})
	apitest.WantProblem(t, s.Do(http.MethodPost, "/api/v2/service-accounts/administrator", apitest.AdminKey, []byte(`{"name":"ci"}`)), http.StatusBadRequest,
		"Organization 'administrator' is personal and cannot have service accounts", nil)
}

func TestUsersCannotGrantMoreThanTheyHave(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	create := func(key, name, privilege string) apitest.Answer {
		t.Helper()
		return s.Do(http.MethodPost, "/api/v2"+accountPath(s, ""), key, fmt.Appendf(nil, `{"name":%q,"privilege":%q}`, name, privilege))
	}
	for i, c := range []struct {
		key, privilege string
		status         int
	}{
		{apitest.ReaderKey, "reader", 403}, {apitest.SnapshotterKey, "snapshotter", 201}, {apitest.SnapshotterKey, "member", 403},
		{apitest.MemberKey, "member", 201}, {apitest.MemberKey, "admin", 403}, {apitest.AdminKey, "admin", 201}, {apitest.StrangerKey, "reader", 403},
	} {
		apitest.WantAnswer(t, create(c.key, fmt.Sprint("account-", i), c.privilege), c.status)
	}
	create(apitest.MemberKey, "own", "reader")
	create(apitest.AdminKey, "other", "reader")
	patch := func(account, body string) apitest.Answer {
		return s.Do(http.MethodPatch, "/api/v2"+accountPath(s, account), apitest.MemberKey, []byte(body))
	}
	apitest.WantAnswer(t, patch("/own", `{"privilege":"member"}`), http.StatusOK)
	apitest.WantProblem(t, patch("/own", `{"privilege":"admin"}`), http.StatusForbidden, apitest.NoPermission, nil)
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPatch, "/other", `{"description":"mine"}`}, {http.MethodDelete, "/other", ""}, {http.MethodGet, "/other/api-keys", ""},
		{http.MethodPost, "/other/api-keys", `{"description":"mine"}`}, {http.MethodPost, "/other/api-keys/x/rotate", `{}`},
		{http.MethodGet, "/other/api-keys/x", ""}, {http.MethodDelete, "/other/api-keys/x", ""},
	} {
		apitest.WantProblem(t, s.Do(c.method, "/api/v2"+accountPath(s, c.path), apitest.MemberKey, []byte(c.body)), http.StatusForbidden, apitest.NoPermission, nil)
	}
	// The creator cannot manage an account with a higher privilege: a key of it would give the creator that privilege.
	s.Want(http.StatusOK, http.MethodPatch, accountPath(s, "/own"), []byte(`{"privilege":"admin"}`))
	apitest.WantProblem(t, s.Do(http.MethodPost, "/api/v2"+accountPath(s, "/own")+"/api-keys", apitest.MemberKey, []byte(`{"description":"up"}`)), http.StatusForbidden, apitest.NoPermission, nil)
	// A service account manages the accounts that it has created.
	_, robot := issue(s, "/account-3", apitest.MemberKey, `{"description":"robot"}`)
	apitest.WantAnswer(t, create(robot, "robots-own", "member"), http.StatusCreated)
	issue(s, "/robots-own", robot, `{"description":"of a robot"}`)
}

func TestKeysOfServiceAccounts(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true})
	s.Want(http.StatusCreated, http.MethodPost, accountPath(s, ""), []byte(`{"name":"ci","privilege":"member"}`))
	s.Want(http.StatusCreated, http.MethodPut, "/flows/"+s.Org, []byte(`{"name":"shop","description":"","template":["artifact"]}`))
	use := func(secret string) int {
		t.Helper()
		return s.Do(http.MethodGet, "/api/v2/flows/"+s.Org, secret, nil).Status
	}
	wantStatus := func(when, secret string, want int) {
		t.Helper()
		apitest.Equal(t, use(secret), want, when)
	}
	now := s.Clock.Read().Unix()
	id, secret := issue(s, "/ci", apitest.AdminKey, fmt.Sprintf(`{"description":"for the pipeline","expires_at":%d}`, now+100))
	if got := s.Form(http.MethodPut, "/trails/"+s.Org+"/shop", secret, "data_json", `{"name":"release"}`); got.Status != http.StatusCreated {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	if got := apitest.Lookup(t, s.Read("/trails/"+s.Org+"/shop/release"), "created_by"); got != "ci" {
		t.Errorf("the trail was begun by %v", got)
	}
	t.Run("is listed without its secret", func(t *testing.T) {
		s := s.In(t)
		apitest.Eventually(t, "the use of the key is recorded", func() bool {
			return apitest.Lookup(t, s.Read(accountPath(s, "/ci/api-keys/"+id)), "last_used_at") != nil
		})
		listed := apitest.ClientReadsEach(t, "api_key", s.Read(accountPath(s, "/ci/api-keys")))
		if one := s.Read(accountPath(s, "/ci/api-keys/"+id)); len(listed) != 1 || apitest.AsJSON(one) != apitest.AsJSON(listed[0]) {
			t.Errorf("listed as %s, read as %s", apitest.AsJSON(listed), apitest.AsJSON(one))
		}
		apitest.Equal[any](t, apitest.Lookup(t, listed[0], "expires_at"), float64(now+100), "expires")
	})
	t.Run("stops the second it expires", func(t *testing.T) {
		s := s.In(t)
		s.Clock.Advance(time.Duration(now+99-s.Clock.Read().Unix()) * time.Second)
		wantStatus("a second before", secret, http.StatusOK)
		s.Clock.Advance(time.Second)
		wantStatus("at the second", secret, http.StatusUnauthorized)
		s.WantError(http.StatusNotFound, apitest.KeyNotFound, http.MethodGet, accountPath(s, "/ci/api-keys/"+id), "")
		apitest.Equal(t, apitest.AsJSON(s.Read(accountPath(s, "/ci/api-keys"))), "[]", "listed")
	})
	t.Run("works for the grace period after it was rotated", func(t *testing.T) {
		s := s.In(t)
		id, old := issue(s, "/ci", apitest.AdminKey, `{"description":"rotating"}`)
		rotated := s.Want(http.StatusCreated, http.MethodPost, accountPath(s, "/ci/api-keys/"+id+"/rotate"), []byte(`{}`)).Value(t)
		apitest.ClientReads(t, "rotated_api_key", rotated)
		ends := int64(apitest.Lookup(t, rotated, "grace_period_expires_at").(float64))
		if left := ends - s.Clock.Read().Unix(); left < 24*3600-5 || left > 24*3600 {
			t.Errorf("the old key has %d s left", left)
		}
		s.Clock.Advance(time.Duration(ends-s.Clock.Read().Unix()-2) * time.Second)
		wantStatus("the old key within the grace period", old, http.StatusOK)
		s.Clock.Advance(3 * time.Second)
		wantStatus("the old key after it", old, http.StatusUnauthorized)
		wantStatus("the new key", apitest.Lookup(t, rotated, "key").(string), http.StatusOK)
		s.WantError(http.StatusNotFound, apitest.KeyNotFound, http.MethodPost, accountPath(s, "/ci/api-keys/"+id+"/rotate"), "{}")
	})
	t.Run("passes its expiry to no key that replaces it", func(t *testing.T) {
		s := s.In(t)
		id, _ := issue(s, "/ci", apitest.AdminKey, fmt.Sprintf(`{"description":"expiring","expires_at":%d}`, s.Clock.Read().Unix()+1000))
		for _, body := range []string{`{}`, `{"expires_at":null}`, `{"expires_at":0}`} {
			rotated := s.Want(http.StatusCreated, http.MethodPost, accountPath(s, "/ci/api-keys/"+id+"/rotate"), []byte(body)).Value(t)
			if got := apitest.Lookup(t, rotated, "expires_at"); got != 0.0 {
				t.Errorf("%s: the new key expires at %v", body, got)
			}
		}
	})
	t.Run("stops at once when it is revoked", func(t *testing.T) {
		s := s.In(t)
		id, secret := issue(s, "/ci", apitest.AdminKey, `{"description":"leaked"}`)
		wantStatus("before", secret, http.StatusOK)
		apitest.Equal(t, s.Want(http.StatusOK, http.MethodDelete, accountPath(s, "/ci/api-keys/"+id), []byte("null")).Text(t),
			"revoked", "revoking answers")
		apitest.WantProblem(t, s.Do(http.MethodGet, "/api/v2/flows/"+s.Org, secret, nil), http.StatusUnauthorized, apitest.InvalidKey, nil)
		s.WantError(http.StatusNotFound, apitest.KeyNotFound, http.MethodDelete, accountPath(s, "/ci/api-keys/"+id), "null")
	})
	t.Run("stops when its account is deleted, and trails keep the account's name", func(t *testing.T) {
		s := s.In(t)
		_, secret := issue(s, "/ci", apitest.AdminKey, `{"description":"last"}`)
		s.Want(http.StatusOK, http.MethodDelete, accountPath(s, "/ci"), []byte("null"))
		wantStatus("after", secret, http.StatusUnauthorized)
		if got := apitest.Lookup(t, s.Read("/trails/"+s.Org+"/shop/release"), "created_by"); got != "ci" {
			t.Errorf("the trail was begun by %v", got)
		}
	})
}

func TestListsSayWhichServiceAccountHasAKeyThatExpires(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	for _, name := range []string{"ci", "quiet"} {
		s.Want(http.StatusCreated, http.MethodPost, accountPath(s, ""), fmt.Appendf(nil, `{"name":%q,"privilege":"member"}`, name))
	}
	now := s.Clock.Read()
	in := func(days int) int64 { return now.Add(time.Duration(days) * 24 * time.Hour).Unix() }
	soon, _ := issue(s, "/ci", apitest.AdminKey, fmt.Sprintf(`{"description":"soon","expires_at":%d}`, in(5)))
	issue(s, "/ci", apitest.AdminKey, fmt.Sprintf(`{"description":"later","expires_at":%d}`, in(10)))
	issue(s, "/quiet", apitest.AdminKey, fmt.Sprintf(`{"description":"much later","expires_at":%d}`, in(31)))
	issue(s, "/quiet", apitest.AdminKey, `{"description":"never"}`)
	wantExpiries := func(want ...any) {
		t.Helper()
		accounts := s.Read(accountPath(s, "")).([]any)
		if len(accounts) != len(want) {
			t.Fatalf("there are %d accounts", len(accounts))
		}
		for i, account := range accounts {
			if got := account.(map[string]any)["key_expires_at"]; got != want[i] {
				t.Errorf("%s, want a key that expires at %v", apitest.AsJSON(account), want[i])
			}
		}
	}
	wantExpiries(float64(in(5)), nil)
	s.Want(http.StatusCreated, http.MethodPost, accountPath(s, "/ci/api-keys/"+soon+"/rotate"), fmt.Appendf(nil, `{"expires_at":%d}`, in(90)))
	wantExpiries(float64(in(10)), nil)
	webclient.SignedIn(s, apitest.ReaderKey).WantPage(http.StatusOK, "/"+s.Org, "A key of service account <bdi>ci</bdi> expires")
}
