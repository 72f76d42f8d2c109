package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// invitationLink matches the links of invitations: the organization and the secret.
var invitationLink = regexp.MustCompile(`/-/invitations/([^/"]+)/([A-Z2-7]{26})`)

// invitationOf returns the id and the secret of a created invitation.
func invitationOf(t *testing.T, made answer) (id, secret string) {
	t.Helper()
	link := invitationLink.FindSubmatch(made.body)
	if made.status != http.StatusCreated || link == nil {
		t.Fatalf("status %d: %s", made.status, made.body)
	}
	return lookup(t, made.value(t), "id").(string), string(link[2])
}

func (s *service) invitationsPath() string { return "/organizations/" + s.org + "/invitations" }

// invite creates an invitation as the administrator.
func (s *service) invite(body string) (id, secret string) {
	s.t.Helper()
	return invitationOf(s.t, s.want(http.StatusCreated, http.MethodPost, s.invitationsPath(), []byte(body)))
}

// accept accepts an invitation as the user of a key.
func (s *service) accept(key, secret string) answer {
	return s.do(http.MethodPost, "/api/v2/user/invitations/"+s.org, key, fmt.Appendf(nil, `{"secret":%q}`, secret))
}

const noInvitation = "The invitation was accepted or withdrawn, has expired, or never was."

func TestAnInvitationMakesOnePersonAMember(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	id, secret := s.invite(`{"role":"member","description":"Grace"}`)
	listed := s.read(s.invitationsPath())
	if lookup(t, listed, 0, "id") != id || lookup(t, listed, 0, "description") != "Grace" || strings.Contains(asJSON(listed), secret) {
		t.Errorf("listed as %s", asJSON(listed))
	}
	wantMessage(t, s.accept(adminKey, secret), "User '"+userOf(adminKey)+"' is a member of organization '"+s.org+"' already")
	got := s.accept(strangerKey, secret)
	if got.status != http.StatusOK || lookup(t, got.value(t), "role") != "member" {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if member := s.read("/organizations/" + s.org + "/members/" + userOf(strangerKey)); lookup(t, member, "role") != "member" {
		t.Errorf("the member is %s", asJSON(member))
	}
	s.want(http.StatusOK, http.MethodDelete, "/organizations/"+s.org+"/members/"+userOf(strangerKey), nil)
	if again := s.accept(strangerKey, secret); again.status != http.StatusNotFound {
		t.Errorf("accepted again: %d %s", again.status, again.body)
	}
	log := s.read("/membership-audit-log/" + s.org + "?source=invitation")
	if lookup(t, log, "entries", 0, "user") != userOf(strangerKey) || lookup(t, log, "entries", 0, "changed_by") != userOf(adminKey) {
		t.Errorf("the audit log has %s", asJSON(log))
	}
	if open := s.read(s.invitationsPath()).([]any); len(open) > 0 {
		t.Errorf("open are %s", asJSON(open))
	}
}

func TestInvalidInvitationsAreNotAccepted(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	withdrawn, secret := s.invite(`{"role":"admin"}`)
	s.want(http.StatusOK, http.MethodDelete, s.invitationsPath()+"/"+withdrawn, nil)
	s.want(http.StatusNotFound, http.MethodDelete, s.invitationsPath()+"/"+withdrawn, nil)
	wantMessage(t, s.accept(strangerKey, secret), noInvitation)

	_, secret = s.invite(`{"role":"member","expires_in_days":1}`)
	s.clock.advance(24 * time.Hour)
	wantMessage(t, s.accept(strangerKey, secret), noInvitation)

	// The inviter must still have the right to invite.
	s.want(http.StatusCreated, http.MethodPost, s.accountPath(""), []byte(`{"name":"inviter","privilege":"admin"}`))
	_, key := s.issue("/inviter", adminKey, `{"description":"x"}`)
	_, secret = invitationOf(t, s.do(http.MethodPost, "/api/v2"+s.invitationsPath(), key, []byte(`{"role":"admin"}`)))
	s.want(http.StatusOK, http.MethodPatch, s.accountPath("/inviter"), []byte(`{"privilege":"member"}`))
	wantMessage(t, s.accept(strangerKey, secret), noInvitation)
	s.want(http.StatusOK, http.MethodPatch, s.accountPath("/inviter"), []byte(`{"privilege":"admin"}`))
	for name, c := range map[string]struct{ org, secret string }{
		"another organization": {s.public, secret},
		"no name":              {"a%2Fb", secret},
		"another secret":       {s.org, "x"},
		"no secret":            {s.org, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.do(http.MethodPost, "/api/v2/user/invitations/"+c.org, strangerKey, fmt.Appendf(nil, `{"secret":%q}`, c.secret))
			if message, _ := got.problem(t); got.status != http.StatusNotFound || message != noInvitation {
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
	if got := s.accept(key, secret); got.status != http.StatusForbidden {
		t.Errorf("a service account gets %d: %s", got.status, got.body)
	}
	if got := s.accept(strangerKey, secret); got.status != http.StatusOK {
		t.Errorf("the right one is answered %d: %s", got.status, got.body)
	}
}

func TestInvalidInvitationsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	for name, c := range map[string]struct{ body, field string }{
		"no role":             {`{}`, "role"},
		"unknown role":        {`{"role":"owner"}`, "role"},
		"too long":            {`{"role":"reader","expires_in_days":31}`, "expires_in_days"},
		"a long text":         {`{"role":"reader","description":"` + strings.Repeat("x", 257) + `"}`, "description"},
		"a control character": {`{"role":"reader","description":"a\u0000b"}`, "description"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			_, errors := s.want(http.StatusBadRequest, http.MethodPost, s.invitationsPath(), []byte(c.body)).problem(t)
			if errors[c.field] == "" {
				t.Errorf("the errors are %q", errors)
			}
		})
	}
	s.want(http.StatusBadRequest, http.MethodPost, "/organizations/"+userOf(adminKey)+"/invitations", []byte(`{"role":"reader"}`))
	for range 100 {
		s.invite(`{"role":"reader"}`)
	}
	wantMessage(t, s.want(http.StatusBadRequest, http.MethodPost, s.invitationsPath(), []byte(`{"role":"reader"}`)),
		"Organization '"+s.org+"' has 100 invitations that are open, and cannot have more")
}

// signInAsInvited follows an invitation to the issuer and signs in there with a name.
func (v *visitor) signInAsInvited(i *issuer, page, name string) answer {
	v.t.Helper()
	v.wantPage(http.StatusOK, page, `href="/signin/oidc?next=`+url.QueryEscape(page))
	redirect, err := url.Parse(v.open("/signin/oidc?next=" + url.QueryEscape(page)).header.Get("Location"))
	v.must(err)
	i.claims = map[string]any{"preferred_username": name, "nonce": redirect.Query().Get("nonce")}
	return v.open("/signin/oidc/callback?code=c&state=" + redirect.Query().Get("state"))
}

func TestNewUsersJoinByInvitation(t *testing.T) {
	t.Parallel()
	s, i := startWithIssuer(t)
	settings := s.signedIn(adminKey)
	made := settings.post("/"+s.org+"/settings/invitations/create_invitation", url.Values{"role": {"member"}, "description": {"<b>Grace</b>"}})
	link := invitationLink.FindSubmatch(made.body)
	if link == nil || made.status != http.StatusOK {
		t.Fatalf("status %d: %s", made.status, made.body)
	}
	s.secrets.add(string(link[2]))
	settings.wantSetting("invitations", "&lt;b&gt;Grace")
	page := string(link[0])
	v := s.visitor()
	if got := v.signInAsInvited(i, page, "grace"); got.status != http.StatusSeeOther || got.header.Get("Location") != page {
		t.Fatalf("signing in leads to %d %s: %s", got.status, got.header.Get("Location"), got.body)
	}
	v.wantPage(http.StatusOK, page, "Join as <bdi>grace</bdi>")
	if got := v.open("/" + s.org).status; got != http.StatusForbidden {
		t.Errorf("before joining, the organization answers %d", got)
	}
	if got := v.post(page, nil); got.status != http.StatusSeeOther || got.header.Get("Location") != "/"+s.org {
		t.Fatalf("joining leads to %d %s: %s", got.status, got.header.Get("Location"), got.body)
	}
	v.wantPage(http.StatusOK, "/"+s.org, "grace")
	if got := v.open(page); got.status != http.StatusNotFound || !strings.Contains(string(got.body), noInvitation) {
		t.Errorf("the page of the accepted invitation answers %d: %s", got.status, got.body)
	}
}

func TestSignInWithoutAValidInvitationCreatesNoUser(t *testing.T) {
	t.Parallel()
	s, i := startWithIssuer(t)
	_, secret := s.invite(`{"role":"member"}`)
	page := "/-/invitations/" + s.org + "/" + secret
	for name, c := range map[string]struct {
		page, user string
		status     int
	}{
		"without an invitation":            {"/" + s.org, "grace", http.StatusForbidden},
		"with a wrong secret":              {page + "x", "grace", http.StatusForbidden},
		"with an invalid name":             {page, "grace@example.com", http.StatusBadRequest},
		"with the name of an organization": {page, s.public, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			v := s.in(t).visitor()
			redirect, err := url.Parse(v.open("/signin/oidc?next=" + url.QueryEscape(c.page)).header.Get("Location"))
			v.must(err)
			i.claims = map[string]any{"preferred_username": c.user, "nonce": redirect.Query().Get("nonce")}
			got := v.open("/signin/oidc/callback?code=c&state=" + redirect.Query().Get("state"))
			if got.status != c.status {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			if home := v.open("/"); home.status != http.StatusSeeOther || !strings.HasPrefix(home.header.Get("Location"), "/signin") {
				t.Errorf("somebody is signed in: %d", home.status)
			}
		})
	}
	if got := s.visitor().post(page, nil); got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/signin?next=") {
		t.Errorf("joining without signing in answers %d: %s", got.status, got.body)
	}
}
