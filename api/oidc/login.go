package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"attestry/config"
	"attestry/evidence"
)

const (
	// documentAge is how long the issuer's document is used. Keys are read for each sign-in.
	documentAge = time.Hour
	// emailClaim names a user only if the issuer has verified that the address is theirs.
	emailClaim, emailVerifiedClaim = "email", "email_verified"
)

var errUnreachable = &evidence.Error{
	Code: evidence.Unavailable, Message: "The identity provider cannot be reached, please try again.", RetryAfter: attemptPause,
}

// Login signs people in with an OpenID Connect issuer that the operator trusts, by the authorization code flow with PKCE. It is
// safe for concurrent use. The discovery document is fetched when the first person signs in.
type Login struct {
	config.SignIn
	// Redirect is the address that the issuer sends people back to.
	Redirect string
	// Client calls the issuer.
	Client *http.Client
	Clock  evidence.Clock
	Log    *slog.Logger

	// mu is held while the discovery document is fetched, so that concurrent sign-ins fetch it once.
	mu sync.Mutex
	// provider is the discovery document as fetched at readAt, nil before that.
	provider *oidc.Provider
	readAt   time.Time
	// failedAt is when fetching the document failed last.
	failedAt time.Time
}

// Attempt is what ties the answer of the issuer to the browser that was sent there.
type Attempt struct{ State, Nonce, Verifier string }

// NewAttempt makes a random attempt.
func NewAttempt() Attempt {
	return Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
}

// Address is where the browser is sent to. An issuer that cannot be reached is evidence.Unavailable.
func (l *Login) Address(ctx context.Context, a Attempt) (string, error) {
	provider, err := l.ask(ctx)
	if err != nil {
		return "", err
	}
	return l.flow(provider).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Redeem returns the name of the user whom the issuer has sent back with a code and a state. Whatever is
// wrong with these is one evidence.Unauthorized error; the reason is logged.
func (l *Login) Redeem(ctx context.Context, a Attempt, state, code string) (user string, err error) {
	if a.State == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(state)) != 1 {
		return "", l.refuse(ctx, errors.New("the state is not that of the browser"))
	}
	provider, err := l.ask(ctx)
	if err != nil {
		return "", err
	}
	ctx = oidc.ClientContext(ctx, l.Client)
	token, verified, err := l.exchange(ctx, provider, a, code)
	if err != nil {
		return "", err
	}
	if subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(a.Nonce)) != 1 {
		return "", l.refuse(ctx, errors.New("the nonce is not that of the browser"))
	}
	return l.userOf(ctx, token, verified)
}

// exchange has the issuer give tokens for a code, and verifies the one that says who has signed in.
func (l *Login) exchange(ctx context.Context, provider *oidc.Provider, a Attempt, code string) (*oauth2.Token, *oidc.IDToken, error) {
	token, err := l.flow(provider).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return nil, nil, l.refuseOrRetry(ctx, fmt.Errorf("exchange the code: %w", err))
	}
	sent, _ := token.Extra("id_token").(string)
	verified, err := l.verify(ctx, provider, sent)
	return token, verified, err
}

// verify verifies the token that says who has signed in. If that fails, the issuer may have a new key:
// the discovery document is fetched again, unless that was done within attemptPause.
func (l *Login) verify(ctx context.Context, provider *oidc.Provider, sent string) (*oidc.IDToken, error) {
	config := &oidc.Config{ClientID: l.ClientID, Now: l.Clock}
	verified, err := provider.VerifierContext(ctx, config).Verify(ctx, sent)
	if err == nil {
		return verified, nil
	}
	again, readErr := l.read(ctx, attemptPause)
	if readErr != nil {
		return nil, readErr
	}
	if again != provider {
		verified, err = again.VerifierContext(ctx, config).Verify(ctx, sent)
	}
	if err != nil {
		return nil, l.refuse(ctx, fmt.Errorf("verify the token: %w", err))
	}
	return verified, nil
}

// userOf returns the claim that names the user. Issuers may return it from their
// UserInfo endpoint only (OpenID Connect Core 5.4).
func (l *Login) userOf(ctx context.Context, token *oauth2.Token, verified *oidc.IDToken) (string, error) {
	if user := l.claimOf(verified); user != "" {
		return user, nil
	}
	provider, err := l.ask(ctx)
	if err != nil {
		return "", err
	}
	if provider.UserInfoEndpoint() == "" {
		return "", l.refuse(ctx, fmt.Errorf("the token has no claim %s", l.wantedClaim()))
	}
	info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return "", l.unreachable(ctx, fmt.Errorf("ask for the claims: %w", err))
	}
	if info.Subject != verified.Subject {
		return "", l.refuse(ctx, errors.New("the claims are of another subject than the token"))
	}
	user := l.claimOf(info)
	if user == "" {
		return "", l.refuse(ctx, fmt.Errorf("neither the token nor the UserInfo endpoint has a claim %s", l.wantedClaim()))
	}
	return user, nil
}

// wantedClaim says in the log which claim names the user.
func (l *Login) wantedClaim() string {
	if l.UserClaim == emailClaim {
		return emailClaim + " that is verified"
	}
	return l.UserClaim
}

// claimOf returns the claim that names the user, "" if there is none that can be read or taken.
func (l *Login) claimOf(source interface{ Claims(into any) error }) string {
	var claims map[string]any
	if err := source.Claims(&claims); err != nil {
		return ""
	}
	// Some issuers write the boolean as a text.
	if isVerified := claims[emailVerifiedClaim]; l.UserClaim == emailClaim && isVerified != true && isVerified != "true" {
		return ""
	}
	user, _ := claims[l.UserClaim].(string)
	return user
}

// refuseOrRetry refuses the sign-in if the issuer refused the code, and asks for a retry if it did not answer.
func (l *Login) refuseOrRetry(ctx context.Context, err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < http.StatusInternalServerError {
		return l.refuse(ctx, err)
	}
	return l.unreachable(ctx, err)
}

func (l *Login) unreachable(ctx context.Context, err error) error {
	l.Log.WarnContext(ctx, "the issuer that people sign in with cannot be reached", slog.String("issuer", string(l.Issuer)), slog.Any("error", err))
	return errUnreachable
}

// refuse logs why a sign-in is refused. The error does not repeat the reason.
func (l *Login) refuse(ctx context.Context, reason error) error {
	l.Log.InfoContext(ctx, "sign-in by the issuer refused", slog.String("issuer", string(l.Issuer)), slog.Any("reason", reason))
	return evidence.NewError(evidence.Unauthorized, "The identity provider's answer is not accepted. Please try again.")
}

// ask returns the discovery document.
func (l *Login) ask(ctx context.Context) (*oidc.Provider, error) { return l.read(ctx, documentAge) }

// read returns the discovery document, which is not older than maxAge. After a failure it is not fetched again
// within attemptPause.
func (l *Login) read(ctx context.Context, maxAge time.Duration) (*oidc.Provider, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// An age below zero means that the clock was set back.
	if age := l.Clock().Sub(l.readAt); l.provider != nil && age >= 0 && age < maxAge {
		return l.provider, nil
	}
	if l.Clock().Before(l.failedAt.Add(attemptPause)) {
		return nil, errUnreachable
	}
	// The provider keeps its context for later calls, so it must not end with the request.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), l.Client), string(l.Issuer))
	if err != nil {
		l.failedAt = l.Clock()
		return nil, l.unreachable(ctx, err)
	}
	l.provider, l.readAt = provider, l.Clock()
	return provider, nil
}

// flow is the authorization code flow with the issuer.
func (l *Login) flow(provider *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: l.ClientID, ClientSecret: l.ClientSecret.Reveal(), Endpoint: provider.Endpoint(), RedirectURL: l.Redirect,
		Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}
}
