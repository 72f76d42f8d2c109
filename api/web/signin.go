package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"attestry/api/oidc"
	"attestry/api/server"
	"attestry/api/web/session"
	"attestry/evidence"
	"attestry/evidence/identity"
)

type signInForm struct {
	Next   string
	Failed string // why the last attempt failed, "" before the first
	Login  string // the link to sign in with the identity provider, "" if there is none
}

func (s *Site) showSignIn(p *page) error {
	if _, err := s.sessions.Principal(p.C); err == nil {
		return p.C.Redirect(nextOf(p.C.Query("next")), http.StatusSeeOther)
	}
	return p.renderSignIn("")
}

func (p *page) renderSignIn(failed string) error {
	form := signInForm{Next: nextOf(p.C.Query("next", p.C.FormValue("next"))), Failed: failed}
	if p.Login != nil {
		form.Login = loginPath + "?next=" + url.QueryEscape(form.Next)
	}
	return p.Render("signin", "Sign in", form)
}

// signIn signs a user in with an API key. Keys of service accounts, which are for programs, are refused.
func (s *Site) signIn(p *page) error {
	secret, from := strings.TrimSpace(p.C.FormValue("key")), server.RequestOf(p.C.UserContext()).From
	principal, err := s.Identities.Authenticate(p.C.UserContext(), secret)
	err = s.Attempts.Judge(from, err)
	switch {
	case evidence.CodeOf(err) == evidence.Unauthorized:
		p.C.Status(http.StatusUnauthorized)
		return p.renderSignIn("This API key is not valid.")
	case err != nil:
		return err
	case !principal.IsUser():
		p.C.Status(http.StatusForbidden)
		return p.renderSignIn("This is the API key of a service account. Please sign in with a key of your own.")
	}
	if err := s.sessions.Begin(p.C, identity.Session{KeyHash: evidence.HashAPIKey(secret)}); err != nil {
		return err
	}
	return p.C.Redirect(nextOf(p.C.FormValue("next")), http.StatusSeeOther)
}

func (s *Site) showSignOut(p *page) error { return p.Render("signout", "Sign out", nil) }

func (s *Site) signOut(p *page) error {
	if err := s.sessions.End(p.C); err != nil {
		return err
	}
	return p.C.Redirect("/signin", http.StatusSeeOther)
}

// nextOf returns the path to redirect to after signing in: the one sent, if it is on this site, or else the home page.
func nextOf(sent string) string {
	if !strings.HasPrefix(sent, "/") || strings.HasPrefix(sent, "//") || strings.ContainsAny(sent, "\\\r\n\t") {
		return "/"
	}
	return sent
}

const (
	// loginPath redirects to the identity provider.
	loginPath = "/signin/oidc"
	// CallbackPath is the redirect URI of the identity provider.
	CallbackPath = "/signin/oidc/callback"
)

func (s *Site) beginLogin(p *page) error {
	attempt := oidc.NewAttempt()
	address, err := s.Login.Address(p.C.UserContext(), attempt)
	if err != nil {
		return err
	}
	s.sessions.KeepAttempt(p.C, session.Attempt{Attempt: attempt, Next: nextOf(p.C.Query("next"))})
	return p.C.Redirect(address, http.StatusSeeOther)
}

// endLogin signs in a user who returns from the identity provider.
func (s *Site) endLogin(p *page) error {
	kept := s.sessions.Attempt(p.C)
	answer := oidc.Answer{State: p.C.Query("state"), Code: p.C.Query("code"), Failure: p.C.Query("error"), Description: p.C.Query("error_description")}
	name, err := s.Login.Redeem(p.C.UserContext(), kept.Attempt, answer)
	if refused, ok := errors.AsType[*evidence.Error](err); ok && refused.Code == evidence.Unauthorized {
		return p.ShowError(http.StatusUnauthorized, refused.Message)
	}
	if err != nil {
		return err
	}
	_, err = s.Identities.UserPrincipal(p.C.UserContext(), name, s.Clock())
	if evidence.CodeOf(err) == evidence.Unauthorized {
		if err = s.addInvited(p, name, kept.Next); evidence.CodeOf(err) == evidence.NotFound {
			return p.ShowError(http.StatusForbidden, "There is no user '"+name+"' here. An administrator of an organization can invite you.")
		}
	}
	if err != nil {
		return err
	}
	s.sessions.EndAttempt(p.C)
	if err := s.sessions.Begin(p.C, identity.Session{User: name}); err != nil {
		return err
	}
	return p.C.Redirect(nextOf(kept.Next), http.StatusSeeOther)
}
