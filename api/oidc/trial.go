package oidc

import (
	"context"
	"errors"

	"attestry/evidence/expression"
	"attestry/evidence/identity"
)

// Trial is how far a token is good for an identity provider.
type Trial struct {
	// Reason says why it is not, "" if it is.
	Reason string
	// Subject is the claim sub, "" unless the token has been verified.
	Subject string
	// Unmet is what of the provider's condition does not hold.
	Unmet []string
}

// Try tells an administrator whether a token would be accepted by a provider. Unlike those of Verify, its answers say what
// is wrong. Errors are those of Verify that are not about the token.
func (v *Verifier) Try(ctx context.Context, provider identity.IdentityProvider, token string) (Trial, error) {
	verified, err := v.verifyFor(ctx, provider, token)
	if refused, ok := errors.AsType[refusal](err); ok {
		return Trial{Reason: string(refused)}, nil
	}
	if err != nil {
		return Trial{}, err
	}
	tried := Trial{Subject: verified.subject}
	fits, reason := verified.meets(provider)
	if reason != nil {
		tried.Reason = reason.Error()
	}
	if condition, err := expression.ParseClaims(provider.Condition); err == nil && fits == otherClaims {
		tried.Unmet = condition.Unmet(verified.claims)
	}
	return tried, nil
}

func (v *Verifier) verifyFor(ctx context.Context, provider identity.IdentityProvider, token string) (verifiedToken, error) {
	parsed, err := parseToken(token)
	if err == nil && parsed.issuer != provider.Issuer {
		err = refusal("the claim iss is not the issuer of the provider")
	}
	if err != nil {
		return verifiedToken{}, err
	}
	return v.verifyToken(ctx, token, parsed)
}
