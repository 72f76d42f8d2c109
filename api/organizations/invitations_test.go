package organizations_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
)

// accept accepts an invitation as the user of a key.
func accept(s *apitest.Service, key, secret string) apitest.Answer {
	return s.Do(http.MethodPost, "/api/v2/user/invitations/"+s.Org, key, fmt.Appendf(nil, `{"secret":%q}`, secret))
}

const noInvitation = "The invitation was accepted or withdrawn, has expired, or never was."

func TestAnInvitationMakesOnePersonAMember(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	id, secret := s.Invite(`{"role":"member","description":"Grace"}`)
	listed := s.Read(s.InvitationsPath())
	if apitest.Lookup(t, listed, 0, "id") != id || apitest.Lookup(t, listed, 0, "description") != "Grace" || strings.Contains(apitest.AsJSON(listed), secret) {
		t.Errorf("listed as %s", apitest.AsJSON(listed))
	}
	apitest.WantMessage(t, accept(s, apitest.AdminKey, secret), "User '"+apitest.UserOf(apitest.AdminKey)+"' is a member of organization '"+s.Org+"' already")
	got := accept(s, apitest.StrangerKey, secret)
	if got.Status != http.StatusOK || apitest.Lookup(t, got.Value(t), "role") != "member" {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	if member := s.Read("/organizations/" + s.Org + "/members/" + apitest.UserOf(apitest.StrangerKey)); apitest.Lookup(t, member, "role") != "member" {
		t.Errorf("the member is %s", apitest.AsJSON(member))
	}
	s.Want(http.StatusOK, http.MethodDelete, "/organizations/"+s.Org+"/members/"+apitest.UserOf(apitest.StrangerKey), nil)
	apitest.WantAnswer(t, accept(s, apitest.StrangerKey, secret), http.StatusNotFound)
	log := s.Read("/membership-audit-log/" + s.Org + "?source=invitation")
	if apitest.Lookup(t, log, "entries", 0, "user") != apitest.UserOf(apitest.StrangerKey) || apitest.Lookup(t, log, "entries", 0, "changed_by") != apitest.UserOf(apitest.AdminKey) {
		t.Errorf("the audit log has %s", apitest.AsJSON(log))
	}
	if open := s.Read(s.InvitationsPath()).([]any); len(open) > 0 {
		t.Errorf("open are %s", apitest.AsJSON(open))
	}
}

func TestInvalidInvitationsAreNotAccepted(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true})
	withdrawn, secret := s.Invite(`{"role":"admin"}`)
	s.Want(http.StatusOK, http.MethodDelete, s.InvitationsPath()+"/"+withdrawn, nil)
	s.Want(http.StatusNotFound, http.MethodDelete, s.InvitationsPath()+"/"+withdrawn, nil)
	apitest.WantMessage(t, accept(s, apitest.StrangerKey, secret), noInvitation)

	_, secret = s.Invite(`{"role":"member","expires_in_days":1}`)
	s.Clock.Advance(24 * time.Hour)
	apitest.WantMessage(t, accept(s, apitest.StrangerKey, secret), noInvitation)

	// The inviter must still have the right to invite.
	s.Want(http.StatusCreated, http.MethodPost, accountPath(s, ""), []byte(`{"name":"inviter","privilege":"admin"}`))
	_, key := issue(s, "/inviter", apitest.AdminKey, `{"description":"x"}`)
	_, secret = apitest.InvitationOf(t, s.Do(http.MethodPost, "/api/v2"+s.InvitationsPath(), key, []byte(`{"role":"admin"}`)))
	s.Want(http.StatusOK, http.MethodPatch, accountPath(s, "/inviter"), []byte(`{"privilege":"member"}`))
	apitest.WantMessage(t, accept(s, apitest.StrangerKey, secret), noInvitation)
	s.Want(http.StatusOK, http.MethodPatch, accountPath(s, "/inviter"), []byte(`{"privilege":"admin"}`))
	for name, c := range map[string]struct{ org, secret string }{
		"another organization": {s.Public, secret},
		"no name":              {"a%2Fb", secret},
		"another secret":       {s.Org, "x"},
		"no secret":            {s.Org, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.Do(http.MethodPost, "/api/v2/user/invitations/"+c.org, apitest.StrangerKey, fmt.Appendf(nil, `{"secret":%q}`, c.secret))
			if message, _ := got.Problem(t); got.Status != http.StatusNotFound || message != noInvitation {
				t.Errorf("status %d: %s", got.Status, got.Body)
			}
		})
	}
	apitest.WantAnswer(t, accept(s, key, secret), http.StatusForbidden)
	apitest.WantAnswer(t, accept(s, apitest.StrangerKey, secret), http.StatusOK)
}

func TestInvalidInvitationsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	apitest.Each(s, map[string]struct{ body, field string }{
		"no role":             {`{}`, "role"},
		"unknown role":        {`{"role":"owner"}`, "role"},
		"too long":            {`{"role":"reader","expires_in_days":31}`, "expires_in_days"},
		"a long text":         {`{"role":"reader","description":"` + strings.Repeat("x", 257) + `"}`, "description"},
		"a control character": {`{"role":"reader","description":"a\u0000b"}`, "description"},
	}, func(s *apitest.Service, _ string, c struct{ body, field string }) {
		apitest.WantFault(s.T, s.Want(http.StatusBadRequest, http.MethodPost, s.InvitationsPath(), []byte(c.body)), c.field)
	})
	s.Want(http.StatusBadRequest, http.MethodPost, "/organizations/"+apitest.UserOf(apitest.AdminKey)+"/invitations", []byte(`{"role":"reader"}`))
	for range 100 {
		s.Invite(`{"role":"reader"}`)
	}
	apitest.WantMessage(t, s.Want(http.StatusBadRequest, http.MethodPost, s.InvitationsPath(), []byte(`{"role":"reader"}`)),
		"Organization '"+s.Org+"' has 100 invitations that are open, and cannot have more")
}

func TestNewUsersJoinByInvitation(t *testing.T) {
	t.Parallel()
	s, i := webclient.StartWithIssuer(t)
	settings := webclient.SignedIn(s, apitest.AdminKey)
	made := settings.Post("/"+s.Org+"/settings/invitations/create_invitation", url.Values{"role": {"member"}, "description": {"<b>Grace</b>"}})
	link := apitest.InvitationLink.FindSubmatch(made.Body)
	if link == nil || made.Status != http.StatusOK {
		t.Fatalf("status %d: %s", made.Status, made.Body)
	}
	s.Secrets.Add(string(link[2]))
	settings.WantSetting("invitations", "&lt;b&gt;Grace")
	page := string(link[0])
	v := webclient.NewVisitor(s)
	if got := v.SignInAsInvited(i, page, "grace"); got.Status != http.StatusSeeOther || got.Header.Get("Location") != page {
		t.Fatalf("signing in leads to %d %s: %s", got.Status, got.Header.Get("Location"), got.Body)
	}
	v.WantPage(http.StatusOK, page, "Join as <bdi>grace</bdi>")
	apitest.Equal(t, v.Open("/"+s.Org).Status, http.StatusForbidden, "before joining, the organization answers")
	if got := v.Post(page, nil); got.Status != http.StatusSeeOther || got.Header.Get("Location") != "/"+s.Org {
		t.Fatalf("joining leads to %d %s: %s", got.Status, got.Header.Get("Location"), got.Body)
	}
	v.WantPage(http.StatusOK, "/"+s.Org, "grace")
	apitest.WantAnswer(t, v.Open(page), http.StatusNotFound, noInvitation)
}

func TestSignInWithoutAValidInvitationCreatesNoUser(t *testing.T) {
	t.Parallel()
	s, i := webclient.StartWithIssuer(t)
	_, secret := s.Invite(`{"role":"member"}`)
	page := "/-/invitations/" + s.Org + "/" + secret
	type testCase struct {
		page, user string
		status     int
	}
	apitest.Each(s, map[string]testCase{
		"without an invitation":            {"/" + s.Org, "grace", http.StatusForbidden},
		"with a wrong secret":              {page + "x", "grace", http.StatusForbidden},
		"with an invalid name":             {page, "grace@example.com", http.StatusBadRequest},
		"with the name of an organization": {page, s.Public, http.StatusBadRequest},
	}, func(s *apitest.Service, _ string, c testCase) {
		v := webclient.NewVisitor(s)
		redirect, err := url.Parse(v.Open("/signin/oidc?next=" + url.QueryEscape(c.page)).Header.Get("Location"))
		v.Must(err)
		i.Claims = map[string]any{"preferred_username": c.user, "nonce": redirect.Query().Get("nonce")}
		got := v.Open("/signin/oidc/callback?code=c&state=" + redirect.Query().Get("state"))
		apitest.Equal(s.T, got.Status, c.status, got.Body)
		if home := v.Open("/"); home.Status != http.StatusSeeOther ||
			!strings.HasPrefix(home.Header.Get("Location"), "/signin") {
			s.T.Errorf("somebody is signed in: %d", home.Status)
		}
	})
	if got := webclient.NewVisitor(s).Post(page, nil); got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Header.Get("Location"), "/signin?next=") {
		t.Errorf("joining without signing in answers %d: %s", got.Status, got.Body)
	}
}
