package organizations

import (
	"context"

	"attestry/api/server"
	"attestry/evidence/identity"
)

// AccountKeysPath is the path of the keys of a service account.
type AccountKeysPath struct {
	server.OrgPath
	Name string `path:"name" doc:"Name of the service account."`
}

// AccountKeyPath is the path of a key of a service account.
type AccountKeyPath struct {
	AccountKeysPath
	KeyID string `path:"key_id" doc:"Id of the key."`
}

// accountKeys is a service account as the owner of keys, for those who manage it.
func (h *handlers) accountKeys(ctx context.Context, name string) (identity.KeyOwner, error) {
	org := server.Access(ctx)
	account, err := h.managedAccount(ctx, name)
	return identity.KeyOwner{ID: account.ID, Name: account.Name, OrgID: org.OrgID, OrgName: org.OrgName, ServiceAccount: true}, err
}

func (h *handlers) listServiceAccountAPIKeys(ctx context.Context, in *AccountKeysPath) (*server.Answer[[]ApiKeyListItemResponse], error) {
	owner, err := h.accountKeys(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return h.listKeys(ctx, owner)
}

func (h *handlers) getServiceAccountAPIKey(ctx context.Context, in *AccountKeyPath) (*server.Answer[ApiKeyListItemResponse], error) {
	owner, err := h.accountKeys(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return h.readKey(ctx, owner, in.KeyID)
}

func (h *handlers) createServiceAccountAPIKey(ctx context.Context, in *AccountKeysPath, body *ApiKeyPostInput) (*server.Answer[ApiKeyCreatedResponse], error) {
	owner, err := h.accountKeys(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	issued, err := h.issueKey(ctx, owner, body)
	return issued, accountNotFound(err)
}

func (h *handlers) deleteServiceAccountAPIKey(ctx context.Context, in *AccountKeyPath) (*server.TextAnswer, error) {
	owner, err := h.accountKeys(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return h.revokeKey(ctx, owner, in.KeyID)
}

func (h *handlers) rotateServiceAccountAPIKey(ctx context.Context, in *AccountKeyPath, body *ApiKeyRotateInput) (*server.Answer[ApiKeyRotatedResponse], error) {
	owner, err := h.accountKeys(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return h.rotateKey(ctx, owner, in.KeyID, body)
}
