package organizations

import (
	"context"

	"attestry/api/server"
)

// UserDefaultOrg names the organization that a user's interface opens.
type UserDefaultOrg struct {
	DefaultOrgName string `json:"default_org_name" doc:"Empty when none is set."`
}

type noInput struct{}

func (h *handlers) getDefaultOrg(ctx context.Context, _ *noInput) (*server.Answer[UserDefaultOrg], error) {
	name, err := h.Tenancy.DefaultOrganization(ctx, server.Principal(ctx))
	if err != nil {
		return nil, err
	}
	return server.Answered(UserDefaultOrg{DefaultOrgName: name}), nil
}

func (h *handlers) putDefaultOrg(ctx context.Context, _ *server.OrgPath) (*server.TextAnswer, error) {
	if err := h.Tenancy.SetDefaultOrganization(ctx, server.Principal(ctx), server.Access(ctx).OrgName); err != nil {
		return nil, err
	}
	return server.OK(), nil
}
