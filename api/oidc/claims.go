package oidc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	openid "github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"attestry/evidence"
	"attestry/evidence/expression"
	"attestry/evidence/identity"
)

const (
	// maxSubject bounds a subject, in characters.
	maxSubject = 255
	// leeway is how far iat may be in the future, as the clock of an issuer may be ahead. go-oidc allows the same for
	// nbf. There is no leeway for exp.
	leeway = 5 * time.Minute
)

// verifiedToken is a token whose signature, times and other claims have been verified, except for the audience.
type verifiedToken struct {
	subject  string
	audience []string
	claims   expression.Claims
}

// verifyToken verifies what does not depend on a provider. If it refuses a token whose signature is valid, the returned
// token still has the subject.
func (v *Verifier) verifyToken(ctx context.Context, token string, parsed parsedToken) (verifiedToken, error) {
	trusted, err := v.providers.IsTrusted(ctx, parsed.issuer)
	if err != nil {
		return verifiedToken{}, err
	}
	if !trusted {
		v.issuers.verifyWith(issuer{}, parsed.jws)
		return verifiedToken{}, refusal("no organization trusts the issuer")
	}
	signature := &signature{issuers: v.issuers, token: parsed}
	names := evidence.Map(algorithms(), func(algorithm jose.SignatureAlgorithm) string { return string(algorithm) })
	config := openid.Config{SkipClientIDCheck: true, Now: v.clock, SupportedSigningAlgs: names}
	checked, err := openid.NewVerifier(parsed.issuer, signature, &config).Verify(ctx, token)
	if signature.err != nil {
		return verifiedToken{}, signature.err
	}
	if err := checkClaims(checked, err, v.clock()); err != nil {
		return verifiedToken{subject: subjectOf(signature.payload)}, err
	}
	claims, err := flatten(signature.payload)
	return verifiedToken{subject: checked.Subject, audience: checked.Audience, claims: claims}, err
}

// signature is the openid.KeySet for one token. It keeps the error, as go-oidc returns only its text.
type signature struct {
	issuers *issuers
	token   parsedToken

	payload []byte
	err     error
}

// VerifySignature returns the payload of the token if a key of the issuer verifies its signature.
func (s *signature) VerifySignature(ctx context.Context, _ string) ([]byte, error) {
	s.payload, s.err = s.issuers.verify(ctx, s.token)
	return s.payload, s.err
}

// checkClaims makes the checks that go-oidc does not make, unless those of go-oidc have failed with err.
func checkClaims(token *openid.IDToken, err error, now time.Time) error {
	var expired *openid.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return refusal("the token has expired, or has no claim exp")
	case err != nil: // not logged, as its text may repeat claims
		return refusal("the token is not valid yet, or a registered claim has a wrong type")
	case !now.Before(token.Expiry):
		return refusal("the token has expired")
	case token.Expiry.Unix() > evidence.MaxKeyExpiry:
		return refusal("the token expires after the year 2100")
	case token.IssuedAt.After(now.Add(leeway)) || token.IssuedAt.After(token.Expiry):
		return refusal("the claim iat is in the future or after exp")
	case !isSubject(token.Subject):
		return refusal("the claim sub is missing, longer than 255 characters or not printable")
	}
	return nil
}

// subjectOf returns the claim sub of a payload, "" if it is not valid.
func subjectOf(payload []byte) string {
	var claims map[string]any
	_ = json.Unmarshal(payload, &claims) // there are none unless the signature is valid
	subject, _ := claims["sub"].(string)
	if !isSubject(subject) {
		return ""
	}
	return subject
}

func isSubject(subject string) bool {
	isNotPrint := func(r rune) bool { return !unicode.IsPrint(r) }
	return subject != "" && utf8.RuneCountInString(subject) <= maxSubject && !strings.ContainsFunc(subject, isNotPrint)
}

// flatten decodes the claims for conditions.
func flatten(payload []byte) (expression.Claims, error) {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	var decoded map[string]any
	if err := decoder.Decode(&decoded); err != nil {
		return expression.Claims{}, refusal("the claims are not a JSON object")
	}
	for name, claim := range decoded {
		// go-oidc also accepts numbers as strings.
		if _, number := claim.(json.Number); !number && (name == "exp" || name == "nbf" || name == "iat") {
			return expression.Claims{}, refusal("the claim exp, nbf or iat is not a number")
		}
		if isAlmostRegistered(name) {
			return expression.Claims{}, refusal("a claim has the name of a registered one in other case")
		}
	}
	claims, err := expression.FlattenClaims(decoded)
	if err != nil {
		return claims, refusal(err.Error())
	}
	return claims, nil
}

// isAlmostRegistered reports whether the name of a claim differs only in case from one that go-oidc checks. As
// encoding/json ignores case, somebody who may choose the name of a claim could replace aud by "Aud".
func isAlmostRegistered(name string) bool {
	return slices.ContainsFunc([]string{"iss", "sub", "aud", "exp", "nbf", "iat"}, func(registered string) bool {
		return name != registered && strings.EqualFold(name, registered)
	})
}

// fit is how well a token matches a provider, from the worst to the best.
type fit int

const (
	unusable fit = iota // the provider accepts no token
	otherAudience
	otherClaims // the provider's condition does not hold
	accepted
)

// message is the answer to a token whose best match is f. It does not reveal the provider.
func (f fit) message() string {
	switch f {
	case otherAudience:
		return "The audience of the token is not the one that the organization expects."
	case otherClaims:
		return "The claims of the token do not meet the condition that the organization sets."
	}
	return evidence.InvalidKeyMessage
}

// meets returns how well a token matches a provider, and the reason if it is not accepted.
func (t verifiedToken) meets(provider identity.IdentityProvider) (fit, error) {
	if provider.Audience == "" || !slices.Contains(t.audience, provider.Audience) {
		return otherAudience, refusal("the claim aud does not contain the audience of the provider")
	}
	condition, err := expression.ParseClaims(provider.Condition)
	if err != nil {
		return unusable, refusal("the condition of the provider is not valid: " + err.Error())
	}
	holds, err := condition.Evaluate(t.claims)
	switch {
	case err != nil: // not logged, as its text repeats a claim
		return otherClaims, refusal("the condition of the provider compares a number with a claim that is none")
	case !holds:
		return otherClaims, refusal("the condition of the provider does not hold")
	}
	return accepted, nil
}
