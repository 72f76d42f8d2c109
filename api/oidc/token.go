package oidc

import (
	"encoding/json"
	"errors"
	"net/url"

	"github.com/go-jose/go-jose/v4"

	"attestry/evidence"
	"attestry/evidence/jsontext"
)

const (
	// MaxTokenLength is the longest token that is looked at, in bytes: with it, the head of a
	// request has room for its other headers.
	MaxTokenLength = 12 << 10
	// maxIssuer is the longest issuer that is looked up, in bytes.
	maxIssuer = 2048
	// maxDepth is how deep objects and lists of the claims may be nested.
	maxDepth = 10
)

// algorithms are those that tokens may be signed with.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}
}

// IsToken reports whether a secret has the form of a signed JWT, and is not too long. Nothing is verified.
func IsToken(secret string) bool {
	return len(secret) <= MaxTokenLength && evidence.IsSignedToken(secret)
}

// parsedToken is a token of which nothing has been verified.
type parsedToken struct {
	jws *jose.JSONWebSignature
	// issuer is an https URL, or "" if the token could not be read.
	issuer string
}

// parseToken reads a token. Its errors are refusals.
func parseToken(token string) (parsedToken, error) {
	if !IsToken(token) {
		return parsedToken{}, refusal("the token is not a signed JWT")
	}
	jws, err := jose.ParseSignedCompact(token, algorithms())
	if _, other := errors.AsType[*jose.ErrUnexpectedSignatureAlgorithm](err); other {
		return parsedToken{}, refusal("the token is not signed with RS256, ES256 or EdDSA")
	}
	if err != nil {
		return parsedToken{}, refusal("the token is malformed")
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	payload := jws.UnsafePayloadWithoutVerification()
	if jsontext.NestsDeeper(payload, maxDepth) {
		return parsedToken{}, refusal("the claims are nested too deep")
	}
	if jsontext.Invalid(payload) >= 0 || json.Unmarshal(payload, &claims) != nil {
		return parsedToken{}, refusal("the claims are not a JSON object with a text iss")
	}
	// Readers of the token could take it for two different ones. go-jose refuses such a header.
	if _, _, repeated := jsontext.Repeated(payload); repeated {
		return parsedToken{}, refusal("the claims have a key twice")
	}
	if len(claims.Issuer) > maxIssuer || !isHTTPS(claims.Issuer) {
		return parsedToken{}, refusal("the issuer is not an https URL")
	}
	return parsedToken{jws: jws, issuer: claims.Issuer}, nil
}

// isHTTPS reports whether a text is an https URL without credentials or a fragment.
func isHTTPS(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && parsed.Scheme == "https" && parsed.Host != "" && parsed.User == nil && parsed.Fragment == ""
}
