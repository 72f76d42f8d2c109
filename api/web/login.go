package web

import (
	"context"
	"errors"
	"net/http"

	"attestry/api/oidc"
	"attestry/api/web/session"
	"attestry/evidence"
)

// Login signs people in with an identity provider.
type Login interface {
	// Address is where the browser is sent to.
	Address(ctx context.Context, attempt oidc.Attempt) (string, error)
	// Redeem returns the name of the user whom the identity provider has sent back.
	Redeem(ctx context.Context, attempt oidc.Attempt, state, code string) (user string, err error)
}

// The members of the session of somebody who was sent to the identity provider.
const (
	stateMember    = "state"
	nonceMember    = "nonce"
	verifierMember = "verifier"
	nextMember     = "next"
)

const (
	// loginPath is where people go who sign in with the identity provider.
	loginPath = "/signin/oidc"
	// CallbackPath is where the identity provider sends them back to.
	CallbackPath = "/signin/oidc/callback"
)

// beginLogin sends a browser to the identity provider.
func (s *Site) beginLogin(p *page) error {
	attempt := oidc.NewAttempt()
	address, err := s.Login.Address(p.c.UserContext(), attempt)
	if err != nil {
		return err
	}
	known, err := s.sessions.Get(p.c)
	if err != nil {
		return err
	}
	for member, value := range map[string]string{
		stateMember: attempt.State, nonceMember: attempt.Nonce, verifierMember: attempt.Verifier, nextMember: nextOf(p.c.Query("next")),
	} {
		known.Set(member, value)
	}
	if err := known.Save(); err != nil {
		return err
	}
	return p.c.Redirect(address, http.StatusSeeOther)
}

// endLogin signs a person in whom the identity provider has sent back.
func (s *Site) endLogin(p *page) error {
	known, err := s.sessions.Get(p.c)
	if err != nil {
		return err
	}
	text := func(member string) string {
		value, _ := known.Get(member).(string)
		return value
	}
	attempt, next := oidc.Attempt{State: text(stateMember), Nonce: text(nonceMember), Verifier: text(verifierMember)}, nextOf(text(nextMember))
	name, err := s.Login.Redeem(p.c.UserContext(), attempt, p.c.Query("state"), p.c.Query("code"))
	var refused *evidence.Error
	if errors.As(err, &refused) && refused.Code == evidence.Unauthorized {
		return p.showError(http.StatusUnauthorized, refused.Message)
	}
	if err != nil {
		return err
	}
	if _, err := s.Identities.UserPrincipal(p.c.UserContext(), name, s.Clock()); err != nil {
		if evidence.CodeOf(err) == evidence.Unauthorized {
			return p.showError(http.StatusForbidden, "There is no user '"+name+"' here. An administrator of an organization can add one.")
		}
		return err
	}
	if err := s.sessions.Begin(p.c, session.User, name); err != nil {
		return err
	}
	return p.c.Redirect(next, http.StatusSeeOther)
}
