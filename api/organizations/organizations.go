package organizations

import (
	"context"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
)

// GetOrganization is an organization in answers (docs/semantics.md 2.1).
type GetOrganization struct {
	Name                        string  `json:"name"`
	Kind                        string  `json:"kind" enum:"personal,shared"`
	ExperimentalFeaturesEnabled bool    `json:"experimental_features_enabled"`
	CreatedAt                   float64 `json:"created_at"`
	LastModifiedAt              float64 `json:"last_modified_at"`
}

func showOrganization(org *evidence.Organization) *server.Answer[GetOrganization] {
	return server.Answered(GetOrganization{
		Name: org.Name, Kind: string(org.Kind), ExperimentalFeaturesEnabled: org.Beta,
		CreatedAt: org.CreatedAt, LastModifiedAt: org.LastModifiedAt,
	})
}

func (h *handlers) getOrganization(ctx context.Context, _ *server.OrgPath) (*server.Answer[GetOrganization], error) {
	name := server.Access(ctx).OrgName
	org, err := h.Tenancy.Organization(ctx, name)
	return showOrganization(&org), organizationNotFound(name, err)
}

// OrganizationPostInput is the body of create_organization (docs/semantics.md 2.1).
type OrganizationPostInput struct {
	Name string `json:"name" doc:"At most 64 characters. It cannot be changed."`
}

// createOrganization creates a shared organization. The principal becomes its administrator.
func (h *handlers) createOrganization(ctx context.Context, _ *struct{}, body *OrganizationPostInput) (*server.Answer[GetOrganization], error) {
	principal := server.Principal(ctx)
	if err := evidence.CheckOrganizationName(body.Name); err != nil {
		return nil, validation.Fault("name", err.Error(), body.Name)
	}
	admin := evidence.User{ID: principal.UserID, Name: principal.Name}
	created, err := h.Tenancy.CreateOrganization(ctx, body.Name, admin, actor(ctx))
	return showOrganization(&created), err
}

func organizationNotFound(name string, err error) error {
	return resource.NotFound(err, "Organization named '%s' does not exist", name)
}

// ExperimentalFeaturesPutInput is the body of update_experimental_features (docs/semantics.md 2.1).
type ExperimentalFeaturesPutInput struct {
	ExperimentalFeaturesEnabled bool `json:"experimental_features_enabled"`
}

func (h *handlers) updateExperimentalFeatures(ctx context.Context, _ *server.OrgPath, body *ExperimentalFeaturesPutInput) (*server.TextAnswer, error) {
	name := server.Access(ctx).OrgName
	return server.OK(), organizationNotFound(name, h.Tenancy.SetBeta(ctx, name, body.ExperimentalFeaturesEnabled))
}

// UserDefaultOrg is the organization that the user interface opens first.
type UserDefaultOrg struct {
	DefaultOrgName string `json:"default_org_name" doc:"Empty when none is set."`
}

func (h *handlers) getDefaultOrg(ctx context.Context, _ *struct{}) (*server.Answer[UserDefaultOrg], error) {
	name, err := h.Tenancy.DefaultOrganization(ctx, server.Principal(ctx))
	return server.Answered(UserDefaultOrg{DefaultOrgName: name}), err
}

func (h *handlers) putDefaultOrg(ctx context.Context, _ *server.OrgPath) (*server.TextAnswer, error) {
	return server.OK(), h.Tenancy.SetDefaultOrganization(ctx, server.Principal(ctx), server.Access(ctx).OrgName)
}
