package oidc

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"attestry/evidence/jsontext"
)

const (
	// MaxTokenLength is the longest token that is looked at, in bytes: with it, the head of a
	// request has room for its other headers.
	MaxTokenLength = 12 << 10
	// maxIssuer is the longest issuer that is looked up, in bytes.
	maxIssuer = 2048
)

// algorithms are those that tokens may be signed with.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}
}

// IsToken reports whether a secret has the form of a signed JWT: three parts in base64url, of
// which the first is a JSON object with an algorithm. Nothing is verified. No key that was made
// here has this form.
func IsToken(secret string) bool {
	parts := strings.Split(secret, ".")
	if len(secret) > MaxTokenLength || len(parts) != 3 {
		return false
	}
	for _, part := range parts {
		if part == "" || strings.ContainsFunc(part, isNotBase64) {
			return false
		}
	}
	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil {
		return false
	}
	var fields struct {
		Algorithm string `json:"alg"`
	}
	return json.Unmarshal(header, &fields) == nil && fields.Algorithm != ""
}

// isNotBase64 is true for line breaks, too, which decoders skip.
func isNotBase64(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
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
	var algorithm *jose.ErrUnexpectedSignatureAlgorithm
	if errors.As(err, &algorithm) {
		return parsedToken{}, refusal("the token is not signed with RS256, ES256 or EdDSA")
	}
	if err != nil {
		return parsedToken{}, refusal("the token is malformed")
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	payload := jws.UnsafePayloadWithoutVerification()
	if jsontext.Invalid(payload) >= 0 || json.Unmarshal(payload, &claims) != nil {
		return parsedToken{}, refusal("the claims are not a JSON object with a text iss")
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
