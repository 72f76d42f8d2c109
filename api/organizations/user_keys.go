package organizations

import (
	"context"
	"errors"
	"net/http"

	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

func (h *handlers) userKeyRoutes() []server.Route {
	return []server.Route{
		{Method: http.MethodGet, Path: "/user/api-keys", OperationID: "list_user_api_keys", Tag: "User", UsersOnly: true,
			Summary: "List one's active API keys", Serve: server.Handle(h.listUserAPIKeys)},
		{Method: http.MethodPost, Path: "/user/api-keys", OperationID: "create_user_api_key", Tag: "User", UsersOnly: true,
			Summary: "Issue an API key for oneself; the answer shows it once", Statuses: []int{http.StatusCreated},
			Serve: server.WithBody(h.createUserAPIKey)},
		{Method: http.MethodGet, Path: "/user/api-keys/{key_id}", OperationID: "get_user_api_key", Tag: "User", UsersOnly: true,
			Summary: "Read one of one's active API keys", Serve: server.Handle(h.getUserAPIKey)},
		{Method: http.MethodDelete, Path: "/user/api-keys/{key_id}", OperationID: "delete_user_api_key", Tag: "User", UsersOnly: true,
			Summary: "Revoke one of one's API keys", Serve: server.Handle(h.deleteUserAPIKey)},
		{Method: http.MethodPost, Path: "/user/api-keys/{key_id}/rotate", OperationID: "rotate_user_api_key", Tag: "User", UsersOnly: true,
			Summary: "Issue a new API key in the place of one, which works for a grace period yet", Statuses: []int{http.StatusCreated},
			Serve: server.WithBody(h.rotateUserAPIKey)},
	}
}

// UserKeyPath is the path of a personal key.
type UserKeyPath struct {
	KeyID string `path:"key_id" doc:"Id of the key."`
}

// ownKeys is the user who asks as the owner of personal keys.
func (h *handlers) ownKeys(ctx context.Context) (identity.KeyOwner, error) {
	owner, err := h.Tenancy.UserKeys(ctx, server.Principal(ctx).Name)
	if errors.Is(err, storage.ErrNotFound) {
		// The user was removed a moment ago.
		err = evidence.NewError(evidence.Unauthorized, evidence.InvalidKeyMessage)
	}
	return owner, err
}

func (h *handlers) listUserAPIKeys(ctx context.Context, _ *noInput) (*server.Answer[[]ApiKeyListItemResponse], error) {
	owner, err := h.ownKeys(ctx)
	if err != nil {
		return nil, err
	}
	return h.listKeys(ctx, owner)
}

func (h *handlers) getUserAPIKey(ctx context.Context, in *UserKeyPath) (*server.Answer[ApiKeyListItemResponse], error) {
	owner, err := h.ownKeys(ctx)
	if err != nil {
		return nil, err
	}
	return h.readKey(ctx, owner, in.KeyID)
}

func (h *handlers) createUserAPIKey(ctx context.Context, _ *noInput, body *ApiKeyPostInput) (*server.Answer[ApiKeyCreatedResponse], error) {
	owner, err := h.ownKeys(ctx)
	if err != nil {
		return nil, err
	}
	return h.issueKey(ctx, owner, body)
}

func (h *handlers) deleteUserAPIKey(ctx context.Context, in *UserKeyPath) (*server.TextAnswer, error) {
	owner, err := h.ownKeys(ctx)
	if err != nil {
		return nil, err
	}
	return h.revokeKey(ctx, owner, in.KeyID)
}

func (h *handlers) rotateUserAPIKey(ctx context.Context, in *UserKeyPath, body *ApiKeyRotateInput) (*server.Answer[ApiKeyRotatedResponse], error) {
	owner, err := h.ownKeys(ctx)
	if err != nil {
		return nil, err
	}
	return h.rotateKey(ctx, owner, in.KeyID, body)
}
