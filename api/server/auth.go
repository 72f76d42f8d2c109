package server

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"attestry/api/validation"
	"attestry/evidence"
)

// Authenticator knows keys.
type Authenticator interface {
	// Authenticate returns whoever the secret speaks for. A secret that is
	// unknown, expired or revoked gives an evidence.Unauthorized error.
	Authenticate(ctx context.Context, secret string) (evidence.Principal, error)
}

// Memberships knows who may do what where.
type Memberships interface {
	// Access returns what the principal may do in the organization of that name.
	// One that does not exist and one that the principal must not see both give
	// an evidence.Forbidden error. A public organization gives everyone at least
	// evidence.Reader.
	Access(ctx context.Context, principal evidence.Principal, org string) (evidence.OrgAccess, error)
}

const (
	keyMissingMessage   = "An API key is required"
	keyMalformedMessage = "The Authorization header is malformed"
	// maxSecret bounds what is looked up at all, in bytes.
	maxSecret = 1024
)

// secretOf returns the key that an Authorization header carries: as a bearer
// token, or as the user name of Basic with any password.
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
	if !ok || secret == "" || len(secret) > maxSecret || !validation.PlainText(secret) {
		return "", evidence.NewError(evidence.Unauthorized, keyMalformedMessage)
	}
	return secret, nil
}

// credentialsOf lists the texts of an Authorization header that may be a key, be the
// header right or wrong: they must not show in logs or answers.
func credentialsOf(header string) []string {
	credentials := strings.Fields(header)
	for _, field := range credentials {
		if user, password, ok := basicParts(field); ok {
			credentials = append(credentials, user, password)
		}
	}
	// A key may hold blanks.
	_, whole, _ := strings.Cut(strings.TrimSpace(header), " ")
	return append(credentials, strings.TrimSpace(whole))
}

// basicParts returns the user name and the password of Basic credentials. The colon
// is required.
func basicParts(credentials string) (user, password string, ok bool) {
	decoded, err := base64.StdEncoding.DecodeString(credentials)
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(decoded), ":")
}

// admit lets a request through to an operation, or says why not: first whether
// the key is good, then whether its owner may see the organization, then whether
// the role suffices, then whether beta features that are needed are on. What it
// finds out stays in the request. org is as it stands in the path.
func (s *Server) admit(ctx context.Context, route Route, r *Request, org string) error {
	if route.Public {
		return nil
	}
	secret, err := secretOf(r.header("Authorization"))
	if err != nil {
		return err
	}
	if r.principal, err = s.authenticator.Authenticate(ctx, secret); err != nil {
		return err
	}
	if !route.ofOrganization() {
		return nil
	}
	if r.org, err = unescape("org", org); err != nil {
		return err
	}
	if r.access, err = s.memberships.Access(ctx, r.principal, r.org); err != nil {
		return deniedAt(r.path, err)
	}
	if !r.access.Role.Allows(route.MinRole) {
		return evidence.NewError(evidence.Forbidden, roleTooLowMessage)
	}
	if route.Beta {
		return RequireBeta(r.access)
	}
	return nil
}

// RequireBeta refuses what needs the beta features of an organization where they are off.
func RequireBeta(org evidence.OrgAccess) error {
	if !org.Beta {
		return evidence.NewError(evidence.Forbidden, betaOffMessage)
	}
	return nil
}

// deniedAt words a refusal with the path that was asked for.
func deniedAt(path string, err error) error {
	var refused *evidence.Error
	if errors.As(err, &refused) && refused.Code == evidence.Forbidden {
		return evidence.NewError(evidence.Forbidden, "Access denied to "+path)
	}
	return err
}
