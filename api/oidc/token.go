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
	// MaxTokenLength bounds a token, in bytes, so that the header of a request has room for other fields.
	MaxTokenLength = 12 << 10
	// maxIssuer bounds the name of an issuer, in bytes.
	maxIssuer = 2048
	// maxDepth bounds the nesting of the claims.
	maxDepth = 10
)

// algorithms are the accepted signature algorithms of tokens.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}
}

// IsToken reports whether a secret has the form of a signed JWT and is not too long. It verifies nothing.
func IsToken(secret string) bool {
	return len(secret) <= MaxTokenLength && evidence.IsSignedToken(secret)
}

// parsedToken is an unverified token.
type parsedToken struct {
	jws *jose.JSONWebSignature
	// issuer is an https URL.
	issuer string
}

// parseToken parses a token. Its errors are refusals.
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
	// Parsers could read different values. go-jose refuses repeated keys in the header.
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
