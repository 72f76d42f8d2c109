// Package access decides whether a request may call an operation: whose key it carries, what
// its owner may do in the organization, and whether that is enough (docs/semantics.md 1.2).
package access

import (
	"cmp"
	"context"
	"errors"

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
	betaOffMessage    = "Experimental features are not enabled for this organization"
	roleTooLowMessage = "You don't have permission to access this resource"
)

// Gate lets requests through to operations, or says why not.
type Gate struct {
	Keys        Authenticator
	Memberships Memberships
}

// Request is what the gate needs to know of a request.
type Request struct {
	// Authorization is the header of that name.
	Authorization string
	// Path is the path as it was sent.
	Path string
	// Org is the name of the organization in the path, if OfOrg.
	Org string
}

// Rule is who may call an operation.
type Rule struct {
	// OfOrg operations have an organization in their path.
	OfOrg bool
	// MinRole is the least role in that organization.
	MinRole evidence.Role
	// UsersOnly operations are refused to service accounts and identity tokens.
	UsersOnly bool
	// Beta operations need the beta features of that organization to be on.
	Beta bool
}

// Admit returns who sent a request, and what they may do in its organization: first whether
// the key is good, then whether its owner may see the organization, then whether the role
// suffices, then whether beta features that are needed are on. What it has found out it
// returns along with an error, too.
func (g *Gate) Admit(ctx context.Context, r Request, rule Rule) (principal evidence.Principal, org evidence.OrgAccess, err error) {
	secret, err := secretOf(r.Authorization)
	if err != nil {
		return principal, org, err
	}
	if principal, err = g.Keys.Authenticate(ctx, secret); err != nil {
		return principal, org, err
	}
	if !rule.OfOrg {
		return principal, org, rule.checkPrincipal(principal)
	}
	if org, err = g.Memberships.Access(ctx, principal, r.Org); err != nil {
		return principal, org, deniedAt(r.Path, err)
	}
	if err := cmp.Or(rule.checkPrincipal(principal), RequireRole(org, rule.MinRole)); err != nil {
		return principal, org, err
	}
	if rule.Beta {
		return principal, org, RequireBeta(org)
	}
	return principal, org, nil
}

// checkPrincipal refuses principals of a kind that may not call the operation.
func (r Rule) checkPrincipal(principal evidence.Principal) error {
	if r.UsersOnly && !principal.IsUser() {
		return Refused()
	}
	return nil
}

// RequireRole refuses whoever has less than a role in an organization.
func RequireRole(org evidence.OrgAccess, least evidence.Role) error {
	if !org.Role.Allows(least) {
		return Refused()
	}
	return nil
}

// Refused is the answer to whoever may not do in an organization what they ask for.
func Refused() error { return evidence.NewError(evidence.Forbidden, roleTooLowMessage) }

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
