package organizations

import (
	"cmp"
	"context"
	"errors"
	"time"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/tenancy"
)

// defaultGraceHours is how long a key that was replaced works on, unless a request says so.
const defaultGraceHours = 24

// ApiKeyPostInput is the body of the operations that issue a key (docs/semantics.md 2.3).
type ApiKeyPostInput struct {
	Description string `json:"description" minLength:"1" maxLength:"256" format:"plain-text"`
	ExpiresAt   *int64 `json:"expires_at,omitempty" nullable:"true" maximum:"4102444800" doc:"Unix seconds; 0 or absent for never."`
}

// ApiKeyRotateInput is the body of the operations that rotate a key (docs/semantics.md 2.3).
type ApiKeyRotateInput struct {
	GracePeriodHours int    `json:"grace_period_hours,omitempty" minimum:"1" maximum:"720" default:"24" doc:"How long the key that is replaced works on."`
	ExpiresAt        *int64 `json:"expires_at,omitempty" nullable:"true" maximum:"4102444800" doc:"Of the new key, in Unix seconds; 0 for never, absent or null for that of the key that is replaced."`
}

// ApiKeyListItemResponse is a key without its secret.
type ApiKeyListItemResponse struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	CreatedAt   int64  `json:"created_at"`
	ExpiresAt   int64  `json:"expires_at" doc:"0 for never."`
	LastUsedAt  *int64 `json:"last_used_at" nullable:"true" doc:"Exact to a minute; null if the key was never used."`
	// GracePeriodExpiresAt is left out for keys that were not rotated.
	GracePeriodExpiresAt int64 `json:"grace_period_expires_at,omitempty" doc:"From when on a key that was rotated does not work any more."`
}

func showKey(k *evidence.Key) ApiKeyListItemResponse {
	shown := ApiKeyListItemResponse{
		ID: k.ID, Description: k.Description, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt,
	}
	if k.RevokedAt != 0 {
		shown.GracePeriodExpiresAt = k.Ends()
	}
	if k.LastUsedAt != 0 {
		shown.LastUsedAt = &k.LastUsedAt
	}
	return shown
}

// ApiKeyCreatedResponse is a new key with its secret, which no other answer shows.
type ApiKeyCreatedResponse struct {
	ID          string `json:"id"`
	Key         string `json:"key" doc:"The secret, shown this once."`
	Description string `json:"description"`
	CreatedAt   int64  `json:"created_at"`
	ExpiresAt   int64  `json:"expires_at" doc:"0 for never."`
}

// ApiKeyRotatedResponse is a new key with its secret, and when the one that it replaces ends.
type ApiKeyRotatedResponse struct {
	ID                   string `json:"id"`
	Key                  string `json:"key" doc:"The secret, shown this once."`
	Description          string `json:"description"`
	CreatedAt            int64  `json:"created_at"`
	ExpiresAt            int64  `json:"expires_at" doc:"0 for never."`
	GracePeriodExpiresAt int64  `json:"grace_period_expires_at" doc:"From when on the key that was replaced does not work any more."`
}

func keyNotFound(err error) error { return resource.NotFound(err, "API key not found") }

// keyOwner reads the user or service account that the keys of a request belong to.
type keyOwner func(context.Context) (identity.KeyOwner, error)

// checkExpiry refuses a new key that would expire in the past.
func (h *handlers) checkExpiry(sent *int64) error {
	expires := resource.ZeroIfNil(sent)
	if expires != 0 && expires <= h.Clock().Unix() {
		return evidence.NewError(evidence.Invalid, "expires_at cannot be in the past")
	}
	return nil
}

func (h *handlers) listKeys(ctx context.Context, read keyOwner) (*server.Answer[[]ApiKeyListItemResponse], error) {
	owner, err := read(ctx)
	if err != nil {
		return nil, err
	}
	found, err := h.Tenancy.Keys(ctx, owner.ID)
	return server.Answered(resource.Map(found, showKey)), err
}

func (h *handlers) readKey(ctx context.Context, read keyOwner, id string) (*server.Answer[ApiKeyListItemResponse], error) {
	owner, err := read(ctx)
	if err != nil {
		return nil, err
	}
	found, err := h.Tenancy.Key(ctx, owner.ID, id)
	return server.Answered(showKey(&found)), keyNotFound(err)
}

func (h *handlers) issueKey(ctx context.Context, read keyOwner, body *ApiKeyPostInput) (*server.Answer[ApiKeyCreatedResponse], error) {
	owner, err := read(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.checkExpiry(body.ExpiresAt); err != nil {
		return nil, err
	}
	wanted := tenancy.NewKey{Description: body.Description, ExpiresAt: resource.ZeroIfNil(body.ExpiresAt)}
	key, secret, err := h.Tenancy.IssueKey(ctx, owner, actor(ctx), wanted)
	return server.Answered(ApiKeyCreatedResponse{
		ID: key.ID, Key: secret.Reveal(), Description: key.Description, CreatedAt: key.CreatedAt, ExpiresAt: key.ExpiresAt,
	}), err
}

func (h *handlers) revokeKey(ctx context.Context, read keyOwner, id string) (*server.TextAnswer, error) {
	owner, err := read(ctx)
	if err != nil {
		return nil, err
	}
	return &server.TextAnswer{Body: "revoked"}, keyNotFound(h.Tenancy.RevokeKey(ctx, owner, actor(ctx), id))
}

func (h *handlers) rotateKey(ctx context.Context, read keyOwner, id string, body *ApiKeyRotateInput) (*server.Answer[ApiKeyRotatedResponse], error) {
	owner, err := read(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.checkExpiry(body.ExpiresAt); err != nil {
		return nil, err
	}
	grace := time.Duration(cmp.Or(body.GracePeriodHours, defaultGraceHours)) * time.Hour
	key, secret, oldEnds, err := h.Tenancy.RotateKey(ctx, owner, actor(ctx), id, grace, body.ExpiresAt)
	return server.Answered(ApiKeyRotatedResponse{
		ID: key.ID, Key: secret.Reveal(), Description: key.Description, CreatedAt: key.CreatedAt, ExpiresAt: key.ExpiresAt,
		GracePeriodExpiresAt: oldEnds,
	}), keyNotFound(err)
}

// UserKeyPath is the path of a personal key.
type UserKeyPath struct {
	KeyID string `path:"key_id" doc:"Id of the key."`
}

// ownKeys reads the user who sent the request.
func (h *handlers) ownKeys(ctx context.Context) (identity.KeyOwner, error) {
	owner, err := h.Tenancy.UserKeys(ctx, server.Principal(ctx).Name)
	if errors.Is(err, storage.ErrNotFound) {
		// The user was removed a moment ago.
		err = evidence.NewError(evidence.Unauthorized, evidence.InvalidKeyMessage)
	}
	return owner, err
}

func (h *handlers) listUserAPIKeys(ctx context.Context, _ *noInput) (*server.Answer[[]ApiKeyListItemResponse], error) {
	return h.listKeys(ctx, h.ownKeys)
}

func (h *handlers) getUserAPIKey(ctx context.Context, in *UserKeyPath) (*server.Answer[ApiKeyListItemResponse], error) {
	return h.readKey(ctx, h.ownKeys, in.KeyID)
}

func (h *handlers) createUserAPIKey(ctx context.Context, _ *noInput, body *ApiKeyPostInput) (*server.Answer[ApiKeyCreatedResponse], error) {
	return h.issueKey(ctx, h.ownKeys, body)
}

func (h *handlers) deleteUserAPIKey(ctx context.Context, in *UserKeyPath) (*server.TextAnswer, error) {
	return h.revokeKey(ctx, h.ownKeys, in.KeyID)
}

func (h *handlers) rotateUserAPIKey(ctx context.Context, in *UserKeyPath, body *ApiKeyRotateInput) (*server.Answer[ApiKeyRotatedResponse], error) {
	return h.rotateKey(ctx, h.ownKeys, in.KeyID, body)
}

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

// accountKeys reads a service account, which the principal must manage.
func (h *handlers) accountKeys(name string) keyOwner {
	return func(ctx context.Context) (identity.KeyOwner, error) {
		org := server.Access(ctx)
		account, err := h.managedAccount(ctx, name)
		return identity.KeyOwner{ID: account.ID, Name: account.Name, OrgID: org.OrgID, OrgName: org.OrgName, ServiceAccount: true}, err
	}
}

func (h *handlers) listServiceAccountAPIKeys(ctx context.Context, in *AccountKeysPath) (*server.Answer[[]ApiKeyListItemResponse], error) {
	return h.listKeys(ctx, h.accountKeys(in.Name))
}

func (h *handlers) getServiceAccountAPIKey(ctx context.Context, in *AccountKeyPath) (*server.Answer[ApiKeyListItemResponse], error) {
	return h.readKey(ctx, h.accountKeys(in.Name), in.KeyID)
}

func (h *handlers) createServiceAccountAPIKey(ctx context.Context, in *AccountKeysPath, body *ApiKeyPostInput) (*server.Answer[ApiKeyCreatedResponse], error) {
	issued, err := h.issueKey(ctx, h.accountKeys(in.Name), body)
	return issued, accountNotFound(err)
}

func (h *handlers) deleteServiceAccountAPIKey(ctx context.Context, in *AccountKeyPath) (*server.TextAnswer, error) {
	return h.revokeKey(ctx, h.accountKeys(in.Name), in.KeyID)
}

func (h *handlers) rotateServiceAccountAPIKey(ctx context.Context, in *AccountKeyPath, body *ApiKeyRotateInput) (*server.Answer[ApiKeyRotatedResponse], error) {
	return h.rotateKey(ctx, h.accountKeys(in.Name), in.KeyID, body)
}
