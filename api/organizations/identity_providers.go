package organizations

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/expression"
	"attestry/evidence/identity"
)

// ProviderPath is the path of an identity provider.
type ProviderPath struct {
	server.OrgPath
	Name string `path:"name" minLength:"1" maxLength:"64" pattern:"^[a-zA-Z0-9\\-]+$" doc:"Name of the identity provider."`
}

// IdentityProviderPutInput is the body of put_identity_provider (docs/semantics.md 2.5).
type IdentityProviderPutInput struct {
	Issuer    string        `json:"issuer" maxLength:"2048" doc:"An https URL, as it stands in the claim iss."`
	Audience  string        `json:"audience" minLength:"1" maxLength:"1024" doc:"What the claim aud has to contain."`
	Condition string        `json:"condition" minLength:"1" maxLength:"2000" doc:"An expression over claims.*, which does not hold for a token without claims."`
	Privilege evidence.Role `json:"privilege" enum:"admin,member,snapshotter,reader"`
}

// IdentityProvider is an identity provider in answers (docs/semantics.md 2.5).
type IdentityProvider struct {
	Name           string        `json:"name"`
	Issuer         string        `json:"issuer"`
	Audience       string        `json:"audience"`
	Condition      string        `json:"condition"`
	Privilege      evidence.Role `json:"privilege" enum:"admin,member,snapshotter,reader"`
	CreatedAt      float64       `json:"created_at"`
	LastModifiedAt float64       `json:"last_modified_at"`
}

func showProvider(p *identity.IdentityProvider) IdentityProvider {
	return IdentityProvider{
		Name: p.Name, Issuer: p.Issuer, Audience: p.Audience, Condition: p.Condition, Privilege: p.Privilege,
		CreatedAt: p.CreatedAt, LastModifiedAt: p.LastModifiedAt,
	}
}

func providerNotFound(orgName, name string, err error) error {
	return resource.NotFound(err, "Identity provider '%s' does not exist in organization '%s'", name, orgName)
}

func (h *handlers) listIdentityProviders(ctx context.Context, _ *server.OrgPath) (*server.Answer[[]IdentityProvider], error) {
	found, err := h.Tenancy.ListIdentityProviders(ctx, server.Access(ctx).OrgID)
	return server.Answered(resource.Map(found, showProvider)), err
}

func (h *handlers) getIdentityProvider(ctx context.Context, in *ProviderPath) (*server.StatusAnswer[IdentityProvider], error) {
	org := server.Access(ctx)
	found, err := h.Tenancy.IdentityProvider(ctx, org.OrgID, in.Name)
	return server.Stored(false, showProvider(&found)), providerNotFound(org.OrgName, in.Name, err)
}

// putIdentityProvider adds or replaces a trusted issuer. It does not call the issuer, which may be unavailable.
func (h *handlers) putIdentityProvider(ctx context.Context, in *ProviderPath, body *IdentityProviderPutInput) (*server.StatusAnswer[IdentityProvider], error) {
	if err := body.check(); err != nil {
		return nil, err
	}
	stored, created, err := h.Tenancy.PutIdentityProvider(ctx, server.Access(ctx).OrgName, actor(ctx), identity.IdentityProvider{
		Name: in.Name, Issuer: body.Issuer, Audience: body.Audience, Condition: body.Condition, Privilege: body.Privilege,
	})
	return server.Stored(created, showProvider(&stored)), err
}

// check refuses issuers that are not https URLs, and conditions that are invalid or restrict nothing, because an issuer
// may issue tokens to anybody.
func (b *IdentityProviderPutInput) check() error {
	issuer, err := url.Parse(b.Issuer)
	if err != nil || issuer.Scheme != "https" || issuer.Host == "" || issuer.User != nil || strings.ContainsAny(b.Issuer, "?#") {
		return validation.Fault("issuer", "Input should be an https URL without user, query and fragment", b.Issuer)
	}
	condition, err := expression.ParseClaims(b.Condition)
	if err == nil && !condition.Restricts() {
		err = errors.New("the condition must not hold for a token without claims")
	}
	if err != nil {
		return validation.Fault("condition", err.Error(), b.Condition)
	}
	return nil
}

// TokenTrialInput is the body of try_identity_token (docs/semantics.md 2.5). The token is neither stored nor logged.
type TokenTrialInput struct {
	Token string `json:"token" doc:"An identity token, as a pipeline would send it."`
}

// TokenTrial says whether a token would be accepted.
type TokenTrial struct {
	Accepted bool     `json:"accepted"`
	Reason   string   `json:"reason,omitempty" doc:"Why it would not be accepted."`
	Subject  string   `json:"subject,omitempty" doc:"The claim sub of a token whose signature is good."`
	Unmet    []string `json:"unmet,omitempty" doc:"What of the condition does not hold."`
}

func (h *handlers) tryIdentityToken(ctx context.Context, in *ProviderPath, body *TokenTrialInput) (*server.StatusAnswer[TokenTrial], error) {
	org := server.Access(ctx)
	provider, err := h.Tenancy.IdentityProvider(ctx, org.OrgID, in.Name)
	if err != nil {
		return nil, providerNotFound(org.OrgName, in.Name, err)
	}
	tried, err := h.Tokens.Try(ctx, provider, strings.TrimSpace(body.Token))
	return server.Stored(false, TokenTrial{Accepted: tried.Reason == "", Reason: tried.Reason, Subject: tried.Subject, Unmet: tried.Unmet}), err
}

func (h *handlers) deleteIdentityProvider(ctx context.Context, in *ProviderPath) (*server.TextAnswer, error) {
	org := server.Access(ctx)
	err := h.Tenancy.DeleteIdentityProvider(ctx, org.OrgName, actor(ctx), in.Name)
	return server.OK(), providerNotFound(org.OrgName, in.Name, err)
}
