package web

import (
	"context"
	"errors"
	"net/http"

	"attestry/api/oidc"
	"attestry/api/web/session"
	"attestry/evidence"
	"attestry/evidence/identity"
)

// Login signs people in with an identity provider.
type Login interface {
	// Address is where the browser is sent to.
	Address(ctx context.Context, attempt oidc.Attempt) (string, error)
	// Redeem returns the name of the user whom the identity provider has sent back.
	Redeem(ctx context.Context, attempt oidc.Attempt, state, code string) (user string, err error)
}

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
	s.sessions.KeepAttempt(p.c, session.Attempt{
		State: attempt.State, Nonce: attempt.Nonce, Verifier: attempt.Verifier, Next: nextOf(p.c.Query("next")),
	})
	return p.c.Redirect(address, http.StatusSeeOther)
}

// endLogin signs a person in whom the identity provider has sent back.
func (s *Site) endLogin(p *page) error {
	kept := s.sessions.Attempt(p.c)
	attempt := oidc.Attempt{State: kept.State, Nonce: kept.Nonce, Verifier: kept.Verifier}
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
	s.sessions.EndAttempt(p.c)
	if err := s.sessions.Begin(p.c, identity.Session{User: name}); err != nil {
		return err
	}
	return p.c.Redirect(nextOf(kept.Next), http.StatusSeeOther)
}
