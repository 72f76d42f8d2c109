// Package oidc verifies the tokens of identity providers: OpenID Connect issuers that an
// organization trusts, such as the one of its CI service (docs/semantics.md 2.5).
package oidc

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage/tenancy"
)

// maxLoggedIssuer bounds a logged issuer, in bytes, as anybody may send any.
const maxLoggedIssuer = 256

// Identity is the identity that a token proves.
type Identity struct {
	// Provider is the organization's provider whose privilege the token has.
	Provider identity.IdentityProvider
	// Subject is the claim sub: 1 to 255 printable characters.
	Subject string
}

// Verifier verifies tokens. It is safe for concurrent use.
type Verifier struct {
	providers *tenancy.Tenancy
	issuers   *issuers
	clock     evidence.Clock
	log       *slog.Logger
}

// NewVerifier makes a verifier that fetches the keys of issuers with client. The client must limit the addresses, the
// time and the size of answers, as that of outbound.NewClient does.
func NewVerifier(providers *tenancy.Tenancy, client *http.Client, clock evidence.Clock, log *slog.Logger) *Verifier {
	return &Verifier{providers: providers, issuers: newIssuers(client, clock, log), clock: clock, log: log}
}

// Verify returns the identity that a token proves in an organization. Among the providers of the token's issuer whose
// audience and condition it meets, it is that of the provider with the greatest privilege. Nothing is fetched for an
// issuer that no organization trusts.
//
// The work before the signature is verified does not depend on the organization or its existence. So the time to refuse
// a forged token does not reveal which issuers an organization trusts.
//
// For a refused token the error is evidence.Unauthorized; the reason is logged. The error contains the reason only if
// the token is valid except for the audience or the condition of the organization's providers. If keys of the issuer
// are needed and cannot be fetched, the error is evidence.Unavailable. Errors of the database and of ctx are returned
// unchanged.
func (v *Verifier) Verify(ctx context.Context, orgName, token string) (Identity, error) {
	r := request{org: orgName}
	parsed, err := parseToken(token)
	if err != nil {
		return Identity{}, v.refuse(ctx, r, err)
	}
	r.issuer = parsed.issuer
	if r.providers, err = v.providersOf(ctx, orgName, parsed.issuer); err != nil {
		return Identity{}, err
	}
	verified, err := v.verifyToken(ctx, token, parsed)
	if err == nil && len(r.providers) == 0 {
		err = refusal("the organization does not trust the issuer")
	}
	if err != nil {
		return Identity{}, v.refuse(ctx, r, err)
	}
	return v.choose(ctx, r, verified)
}

// providersOf returns the providers of an organization with this issuer.
func (v *Verifier) providersOf(ctx context.Context, orgName, issuer string) ([]identity.IdentityProvider, error) {
	known, err := v.providers.IdentityProviders(ctx, orgName)
	return slices.DeleteFunc(slices.Clone(known), func(p identity.IdentityProvider) bool { return p.Issuer != issuer }), err
}

// request has the values that are logged about a token.
type request struct {
	org, issuer string
	providers   []identity.IdentityProvider
}

// choose returns the identity by the provider with the greatest privilege that accepts the token, and among equal ones
// by the first name.
func (v *Verifier) choose(ctx context.Context, r request, token verifiedToken) (Identity, error) {
	slices.SortFunc(r.providers, func(a, b identity.IdentityProvider) int {
		return cmp.Or(cmp.Compare(b.Privilege, a.Privilege), cmp.Compare(a.Name, b.Name))
	})
	var reasons []string
	best := unusable
	for _, provider := range r.providers {
		fits, reason := token.meets(provider)
		if reason == nil {
			return Identity{Provider: provider, Subject: token.subject}, nil
		}
		best = max(best, fits)
		reasons = append(reasons, reason.Error())
	}
	v.logRefusal(ctx, r, token.subject, strings.Join(reasons, "; "))
	return Identity{}, evidence.NewError(evidence.Unauthorized, best.message())
}

// refusal is why a token is refused. It contains nothing of the token, as it is logged.
type refusal string

func (r refusal) Error() string { return string(r) }

// refuse logs a refusal and returns an error without the reason. Other errors are returned unchanged.
func (v *Verifier) refuse(ctx context.Context, r request, err error) error {
	reason, ok := errors.AsType[refusal](err)
	if !ok {
		return err
	}
	v.logRefusal(ctx, r, "", string(reason))
	return evidence.NewError(evidence.Unauthorized, evidence.InvalidKeyMessage)
}

// logRefusal logs why a token is refused; the subject is "" unless it has been verified.
func (v *Verifier) logRefusal(ctx context.Context, r request, subject, reason string) {
	names := evidence.Map(r.providers, func(provider identity.IdentityProvider) string { return provider.Name })
	issuer := r.issuer[:min(len(r.issuer), maxLoggedIssuer)]
	v.log.InfoContext(ctx, "identity token refused", slog.String("org", r.org), slog.String("issuer", issuer),
		slog.String("provider", strings.Join(names, ", ")), slog.String("subject", subject), slog.String("reason", reason))
}
