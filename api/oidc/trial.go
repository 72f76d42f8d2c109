package oidc

import (
	"context"
	"errors"

	"attestry/evidence/expression"
	"attestry/evidence/identity"
)

// Trial is the result of trying a token with an identity provider.
type Trial struct {
	// Reason is why the token is not accepted, "" if it is.
	Reason string
	// Subject is the claim sub, "" unless the signature is valid.
	Subject string
	// Unmet are the parts of the provider's condition that do not hold.
	Unmet []string
}

// Try returns, for an administrator, whether a provider would accept a token. Unlike Verify, it returns the reason. A
// refused token is no error; other errors are those of Verify.
func (v *Verifier) Try(ctx context.Context, provider identity.IdentityProvider, token string) (Trial, error) {
	var verified verifiedToken
	parsed, err := parseToken(token)
	if err == nil && parsed.issuer != provider.Issuer {
		err = refusal("the claim iss is not the issuer of the provider")
	}
	if err == nil {
		verified, err = v.verifyToken(ctx, token, parsed)
	}
	if refused, ok := errors.AsType[refusal](err); ok {
		return Trial{Reason: string(refused), Subject: verified.subject}, nil
	}
	if err != nil {
		return Trial{}, err
	}
	trial := Trial{Subject: verified.subject}
	fits, reason := verified.meets(provider)
	if reason != nil {
		trial.Reason = reason.Error()
	}
	if condition, err := expression.ParseClaims(provider.Condition); err == nil && fits == otherClaims {
		trial.Unmet = condition.Unmet(verified.claims)
	}
	return trial, nil
}
