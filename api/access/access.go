// Package access authenticates requests and checks whether the principal may call an operation (docs/semantics.md 1.2).
package access

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"

	"attestry/api/limits"
	"attestry/api/oidc"
	"attestry/config"
	"attestry/evidence"
	"attestry/storage/tenancy"
)

const betaOffMessage = "Experimental features are not enabled for this organization"

// Gate authenticates and authorizes requests.
type Gate struct {
	Identities *tenancy.Tenancy
	Tokens     *oidc.Verifier
	// Certificates are the service accounts of client certificates.
	Certificates config.ClientAccounts
	Clock        evidence.Clock
	// Attempts and Rates are the rate limits; nil for none.
	Attempts *limits.Attempts
	Rates    *limits.Rates
}

// Request is the input of Gate.Admit.
type Request struct {
	From limits.Origin
	// SignedIn is the user for whom a page of the service makes the request, nil for requests of clients.
	SignedIn *evidence.Principal
	// Authorization is the header field.
	Authorization string
	// Certificate is the verified certificate of the client, nil without one.
	Certificate *x509.Certificate
	// Path is the path as it was sent.
	Path string
	// Org is the name of the organization in the path, if OfOrg.
	Org string
}

// Rule is the access rule of an operation.
type Rule struct {
	// OfOrg operations have an organization in their path.
	OfOrg bool
	// MinRole is the minimum role in that organization. Operations without an organization accept any valid key.
	MinRole evidence.Role
	// UsersOnly operations refuse service accounts and identity tokens.
	UsersOnly bool
	// RefuseTokens operations refuse identity tokens with any role, as they change who has access. Otherwise somebody
	// who runs a pipeline once could keep its access forever.
	RefuseTokens bool
	// MembersOnly operations refuse visitors of public organizations.
	MembersOnly bool
	// Beta operations need the organization's beta features.
	Beta bool
}

// Admit returns the principal of a request and its access to the organization. It checks first the key or token, then
// whether the principal may see the organization, then the role, then the beta features. Invalid keys count for the
// client's address. With an error, the principal and the access are also returned as far as they are known.
func (g *Gate) Admit(ctx context.Context, r Request, rule Rule) (principal evidence.Principal, org evidence.OrgAccess, err error) {
	if r.SignedIn != nil {
		return g.admitPrincipal(ctx, *r.SignedIn, r, rule)
	}
	if r.Authorization == "" && r.Certificate != nil {
		if principal, err = g.certified(ctx, r.Certificate); err != nil {
			return principal, org, err
		}
		return g.admitPrincipal(ctx, principal, r, rule)
	}
	secret, err := secretOf(r.Authorization)
	if err != nil {
		return principal, org, err
	}
	if principal, err = g.Identities.Authenticate(ctx, secret); err == nil {
		principal, org, err = g.admitPrincipal(ctx, principal, r, rule)
	}
	// Keys may have any form, so a secret is verified as a token only if it is not a key.
	if errors.Is(err, evidence.ErrUnknownKey) && oidc.IsToken(secret) {
		principal, org, err = g.identify(ctx, r, rule, secret)
	}
	return principal, org, g.Attempts.Judge(r.From, err)
}

// admitPrincipal is Admit for a request whose sender is authenticated.
func (g *Gate) admitPrincipal(ctx context.Context, sender evidence.Principal, r Request, rule Rule) (principal evidence.Principal, org evidence.OrgAccess, err error) {
	principal = sender
	if rule.OfOrg {
		org, err = g.Identities.Access(ctx, principal, r.Org)
		err = deniedAt(r.Path, err)
	}
	if err == nil {
		err = rule.Check(principal, org)
	}
	return principal, org, err
}

// identify is Admit for a token of an identity provider. Providers belong to organizations, so a token is valid only
// for operations on an organization.
func (g *Gate) identify(ctx context.Context, r Request, rule Rule, token string) (principal evidence.Principal, org evidence.OrgAccess, err error) {
	if !rule.OfOrg {
		return principal, org, evidence.NewError(evidence.Unauthorized, evidence.InvalidKeyMessage)
	}
	proven, err := g.Tokens.Verify(ctx, r.Org, token)
	if err != nil {
		return principal, org, err
	}
	name := evidence.FederatedPrefix + proven.Provider.Issuer + ":" + proven.Subject
	principal = evidence.Principal{UserID: name, Name: name, Federated: true}
	org, err = g.Identities.FederatedAccess(ctx, r.Org, proven.Provider.Privilege)
	if err == nil {
		err = rule.Check(principal, org)
	}
	return principal, org, err
}

// Check returns an error if the principal may not call the operation.
func (r Rule) Check(principal evidence.Principal, org evidence.OrgAccess) error {
	switch {
	case r.UsersOnly && !principal.IsUser(), r.RefuseTokens && principal.Federated, r.MembersOnly && org.Visitor:
		return Refused()
	case !r.OfOrg:
		return nil
	case !r.Beta:
		return RequireRole(org, r.MinRole)
	}
	return cmp.Or(RequireRole(org, r.MinRole), RequireBeta(org))
}

// Limit counts an admitted request for its key and its organization, and refuses it beyond their rate limits. It
// returns the state of the limit. Requests of visitors do not count for the organization, as they must not use up its
// limit.
func (g *Gate) Limit(ctx context.Context, principal evidence.Principal, org evidence.OrgAccess) (limits.State, error) {
	if org.Visitor {
		return g.Rates.Take(ctx, principal, "")
	}
	return g.Rates.Take(ctx, principal, org.OrgID)
}

// RequireRole returns an error if the role in the organization is lower than least.
func RequireRole(org evidence.OrgAccess, least evidence.Role) error {
	if !org.Role.Allows(least) {
		return Refused()
	}
	return nil
}

// Refused is the error for a principal whose role is too low.
func Refused() error {
	return evidence.NewError(evidence.Forbidden, "You don't have permission to access this resource")
}

// RequireBeta returns an error unless the beta features of the organization are on.
func RequireBeta(org evidence.OrgAccess) error {
	if !org.Beta {
		return evidence.NewError(evidence.Forbidden, betaOffMessage)
	}
	return nil
}

// deniedAt adds the path of the request to a refusal.
func deniedAt(path string, err error) error {
	if evidence.CodeOf(err) == evidence.Forbidden {
		return evidence.NewError(evidence.Forbidden, "Access denied to "+path)
	}
	return err
}
