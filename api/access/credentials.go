package access

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"strings"

	"attestry/api/oidc"
	"attestry/api/validation"
	"attestry/evidence"
)

const (
	keyMissingMessage   = "An API key is required"
	keyMalformedMessage = "The Authorization header is malformed"
	// maxSecret bounds a key, in bytes. Tokens may be longer.
	maxSecret = 1024
)

// secretOf returns the key of an Authorization header: a bearer token, or the user name of Basic with any password.
func secretOf(header string) (string, error) {
	if strings.TrimSpace(header) == "" {
		return "", evidence.NewError(evidence.Unauthorized, keyMissingMessage)
	}
	scheme, credentials, _ := strings.Cut(strings.TrimSpace(header), " ")
	secret, ok := strings.TrimSpace(credentials), true
	switch {
	case strings.EqualFold(scheme, "Bearer"):
	case strings.EqualFold(scheme, "Basic"):
		secret, _, ok = basicParts(secret)
	default:
		ok = false
	}
	tooLong := len(secret) > maxSecret && !oidc.IsToken(secret)
	if !ok || secret == "" || tooLong || !validation.PlainText(secret) {
		return "", evidence.NewError(evidence.Unauthorized, keyMalformedMessage)
	}
	return secret, nil
}

// Credentials lists the texts of an Authorization header that may be a key. They must not be in logs or answers.
func Credentials(header string) []string {
	credentials := strings.Fields(header)
	for _, field := range credentials {
		if user, password, ok := basicParts(field); ok {
			credentials = append(credentials, user, password)
		}
	}
	// A key may contain spaces.
	_, whole, _ := strings.Cut(strings.TrimSpace(header), " ")
	return append(credentials, strings.TrimSpace(whole))
}

// basicParts returns the user name and the password of Basic credentials. The colon is required.
func basicParts(credentials string) (user, password string, ok bool) {
	decoded, err := base64.StdEncoding.DecodeString(credentials)
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(decoded), ":")
}

const (
	certificateUnknownMessage = "The certificate of the client is that of no service account"
	certificateExpiredMessage = "The certificate of the client has expired"
)

// certified returns the service account that the settings give to a verified certificate, by its common name or else by
// one of its DNS names.
func (g *Gate) certified(ctx context.Context, certificate *x509.Certificate) (evidence.Principal, error) {
	// A connection can outlive the client's certificate.
	if g.Clock().After(certificate.NotAfter) {
		return evidence.Principal{}, evidence.NewError(evidence.Unauthorized, certificateExpiredMessage)
	}
	for _, name := range append([]string{certificate.Subject.CommonName}, certificate.DNSNames...) {
		if account, ok := g.Certificates[name]; ok {
			return g.Identities.AuthenticateAccount(ctx, account.Org, account.Name)
		}
	}
	return evidence.Principal{}, evidence.NewError(evidence.Unauthorized, certificateUnknownMessage)
}
