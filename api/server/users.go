package server

import "context"

// UserDefaultOrg names the organization that a user's interface opens.
type UserDefaultOrg struct {
	DefaultOrgName string `json:"default_org_name" doc:"Empty when none is set."`
}

type defaultOrgAnswer struct {
	Body UserDefaultOrg
}

type noInput struct{}

// getDefaultOrg reads the default organization of whoever asks.
func (h *handlers) getDefaultOrg(ctx context.Context, _ *noInput) (*defaultOrgAnswer, error) {
	name, err := h.store.Tenancy.DefaultOrganization(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	return &defaultOrgAnswer{Body: UserDefaultOrg{DefaultOrgName: name}}, nil
}

// putDefaultOrg sets the default organization of whoever asks.
func (h *handlers) putDefaultOrg(ctx context.Context, _ *OrgPath) (*textAnswer, error) {
	if err := h.store.Tenancy.SetDefaultOrganization(ctx, principal(ctx), access(ctx).OrgName); err != nil {
		return nil, err
	}
	return done(), nil
}
