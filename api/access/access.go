// Package access decides whether a request may call an operation: whose key it carries, what
// its owner may do in the organization, and whether that is enough (docs/semantics.md 1.2).
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

const (
	betaOffMessage    = "Experimental features are not enabled for this organization"
	roleTooLowMessage = "You don't have permission to access this resource"
)

// Gate lets requests through to operations, or says why not.
type Gate struct {
	Identities *tenancy.Tenancy
	Tokens     *oidc.Verifier
	// Certificates tells which service accounts certificates of clients speak for.
	Certificates config.ClientAccounts
	Clock        evidence.Clock
	// Attempts and Rates are the limits of requests; nil for none.
	Attempts *limits.Attempts
	Rates    *limits.Rates
}

// Request is what the gate needs to know of a request.
type Request struct {
	// From is where it comes from.
	From limits.Origin
	// SignedIn is on whose behalf a page of the service makes the request; nil for requests of
	// clients, which carry an Authorization.
	SignedIn *evidence.Principal
	// Authorization is the header of that name.
	Authorization string
	// Certificate is the verified certificate of the client, nil without one.
	Certificate *x509.Certificate
	// Path is the path as it was sent.
	Path string
	// Org is the name of the organization in the path, if OfOrg.
	Org string
}

// Rule is who may call an operation.
type Rule struct {
	// OfOrg operations have an organization in their path.
	OfOrg bool
	// MinRole is the least role in that organization. Operations without
	// an organization leave it out: any valid key will do.
	MinRole evidence.Role
	// UsersOnly operations are refused to service accounts and identity tokens.
	UsersOnly bool
	// RefuseTokens operations are refused to identity tokens, whatever their role: those that
	// change who has access. Else whoever runs a pipeline once could keep its access for good.
	RefuseTokens bool
	// MembersOnly operations are refused to visitors of public organizations.
	MembersOnly bool
	// Beta operations need the beta features of that organization to be on.
	Beta bool
}

// Admit returns who sent a request, and what they may do in its organization: first whether
// the key or token is good, then whether its owner may see the organization, then whether the role
// suffices, then whether beta features that are needed are on. Bad keys count for
// their address. The principal and the access are returned with an error, too, as far as they are known.
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
	// Keys may have any form, so a secret is tried as a token only if it is not a key.
	if errors.Is(err, evidence.ErrUnknownKey) && oidc.IsToken(secret) {
		principal, org, err = g.identify(ctx, r, rule, secret)
	}
	return principal, org, g.Attempts.Judge(r.From, err)
}

// admitPrincipal is Admit for requests whose sender is known already.
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

// identify is Admit for a token of an identity provider. An organization decides
// whom it trusts, and so a token is good for nothing outside of one.
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

// Check refuses principals that may not call the operation.
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

// Limit counts a request that was admitted for its key and its organization, and refuses it
// if one of them has made too many. It says how many are left. Requests of visitors do not count
// for the organization: strangers must not be able to use up what its members have.
func (g *Gate) Limit(ctx context.Context, principal evidence.Principal, org evidence.OrgAccess) (limits.State, error) {
	if org.Visitor {
		return g.Rates.Take(ctx, principal, "")
	}
	return g.Rates.Take(ctx, principal, org.OrgID)
}

// RequireRole refuses whoever has less than a role in an organization.
func RequireRole(org evidence.OrgAccess, least evidence.Role) error {
	if !org.Role.Allows(least) {
		return Refused()
	}
	return nil
}

// Refused is the answer to a principal whose role is too low.
func Refused() error { return evidence.NewError(evidence.Forbidden, roleTooLowMessage) }

// RequireBeta refuses what needs the beta features of an organization where they are off.
func RequireBeta(org evidence.OrgAccess) error {
	if !org.Beta {
		return evidence.NewError(evidence.Forbidden, betaOffMessage)
	}
	return nil
}

// deniedAt names the path of the request in a refusal.
func deniedAt(path string, err error) error {
	if evidence.CodeOf(err) == evidence.Forbidden {
		return evidence.NewError(evidence.Forbidden, "Access denied to "+path)
	}
	return err
}
