package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"attestry/config"
	"attestry/evidence"
)

const (
	// documentAge is how long the issuer's discovery document is used. The keys are fetched for each sign-in.
	documentAge = time.Hour
	// emailClaim names a user only if the issuer has verified the address.
	emailClaim, emailVerifiedClaim = "email", "email_verified"
)

var errUnreachable = &evidence.Error{
	Code: evidence.Unavailable, Message: "The identity provider cannot be reached, please try again.", RetryAfter: attemptPause,
}

// Login signs people in with an OpenID Connect issuer that the operator trusts, by the authorization code flow with
// PKCE. It is safe for concurrent use. The discovery document is fetched at the first sign-in.
type Login struct {
	config.SignIn
	// Redirect is the redirect URI.
	Redirect string
	Client   *http.Client // for requests to the issuer
	Clock    evidence.Clock
	Log      *slog.Logger

	// mu is held while the discovery document is fetched, so that concurrent sign-ins fetch it once.
	mu sync.Mutex
	// provider is the discovery document, fetched at readAt, nil before.
	provider *oidc.Provider
	readAt   time.Time
	// failedAt is the time of the last failure to fetch the document.
	failedAt time.Time
}

// Attempt binds the answer of the issuer to the browser that was redirected there.
type Attempt struct{ State, Nonce, Verifier string }

// NewAttempt makes a random attempt.
func NewAttempt() Attempt {
	return Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
}

// Address is the URL to redirect the browser to. If the issuer cannot be reached, the error is evidence.Unavailable.
func (l *Login) Address(ctx context.Context, a Attempt) (string, error) {
	provider, err := l.read(ctx, documentAge)
	if err != nil {
		return "", err
	}
	return l.flow(provider).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Answer is what the issuer has added to the redirect URI: either a code or why there is none (RFC 6749, 4.1.2).
type Answer struct{ State, Code, Failure, Description string }

// Redeem returns the name of the user whom the issuer has redirected back with a code and a state. If these are not
// valid, the error is evidence.Unauthorized without the reason, which is logged.
func (l *Login) Redeem(ctx context.Context, a Attempt, answer Answer) (user string, err error) {
	if a.State == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(answer.State)) != 1 {
		return "", l.refuse(ctx, errors.New("the state is not that of the browser"))
	}
	if answer.Failure != "" || answer.Code == "" {
		return "", l.refuse(ctx, fmt.Errorf("the issuer has sent no code, but the error %.100q: %.400q", answer.Failure, answer.Description))
	}
	provider, err := l.read(ctx, documentAge)
	if err != nil {
		return "", err
	}
	ctx = oidc.ClientContext(ctx, l.Client)
	token, verified, err := l.exchange(ctx, provider, a, answer.Code)
	if err != nil {
		return "", err
	}
	if subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(a.Nonce)) != 1 {
		return "", l.refuse(ctx, errors.New("the nonce is not that of the browser"))
	}
	return l.userOf(ctx, token, verified)
}

// exchange exchanges a code for tokens, and verifies the ID token.
func (l *Login) exchange(ctx context.Context, provider *oidc.Provider, a Attempt, code string) (*oauth2.Token, *oidc.IDToken, error) {
	token, err := l.flow(provider).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return nil, nil, l.refuseOrRetry(ctx, fmt.Errorf("exchange the code: %w", err))
	}
	sent, _ := token.Extra("id_token").(string)
	verified, err := l.verify(ctx, provider, sent)
	return token, verified, err
}

// verify verifies the ID token. If that fails, the issuer may have its keys at a new URL: the discovery document is
// fetched again, unless it was fetched within attemptPause.
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

// userOf returns the claim that names the user, from the ID token or else from the UserInfo endpoint (OpenID Connect
// Core 5.4).
func (l *Login) userOf(ctx context.Context, token *oauth2.Token, verified *oidc.IDToken) (string, error) {
	if user := l.claimOf(verified); user != "" {
		return user, nil
	}
	provider, err := l.read(ctx, documentAge)
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

// wantedClaim describes the claim that names the user, for the log.
func (l *Login) wantedClaim() string {
	if l.UserClaim == emailClaim {
		return emailClaim + " that is verified"
	}
	return l.UserClaim
}

// claimOf returns the claim that names the user, "" if it is missing, not a string, or an unverified e-mail address.
func (l *Login) claimOf(source interface{ Claims(into any) error }) string {
	var claims map[string]any
	if err := source.Claims(&claims); err != nil {
		return ""
	}
	// Some issuers send the boolean as a string.
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

// refuse logs why a sign-in is refused. The error does not contain the reason.
func (l *Login) refuse(ctx context.Context, reason error) error {
	l.Log.InfoContext(ctx, "sign-in by the issuer refused", slog.String("issuer", string(l.Issuer)), slog.Any("reason", reason))
	return evidence.NewError(evidence.Unauthorized, "The identity provider's answer is not accepted. Please try again.")
}

// read returns the discovery document, at most maxAge old. After a failure it waits attemptPause to fetch it again.
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
	// The provider keeps its context for later calls, so it must outlive the request.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), l.Client), string(l.Issuer))
	if err != nil {
		l.failedAt = l.Clock()
		return nil, l.unreachable(ctx, err)
	}
	l.provider, l.readAt = provider, l.Clock()
	return provider, nil
}

func (l *Login) flow(provider *oidc.Provider) *oauth2.Config {
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = l.authStyle(provider)
	return &oauth2.Config{
		ClientID: l.ClientID, ClientSecret: l.ClientSecret.Reveal(), Endpoint: endpoint, RedirectURL: l.Redirect,
		Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}
}

// authStyle is how the client authenticates to the issuer. If the issuer does not say which way it supports, oauth2 tries
// one and then the other at each sign-in. This sends the code twice, and the issuer may accept it only once.
func (l *Login) authStyle(provider *oidc.Provider) oauth2.AuthStyle {
	var document struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	_ = provider.Claims(&document) // if the list is not valid, it says nothing
	switch {
	case l.ClientSecret == "": // a header would have an empty secret
		return oauth2.AuthStyleInParams
	case slices.Contains(document.Methods, "client_secret_basic"):
		return oauth2.AuthStyleInHeader
	case slices.Contains(document.Methods, "client_secret_post"):
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleAutoDetect
}
