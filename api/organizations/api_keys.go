package organizations

import (
	"cmp"
	"context"
	"time"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/identity"
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

func showNewKey(k *evidence.Key, secret evidence.Secret) ApiKeyCreatedResponse {
	return ApiKeyCreatedResponse{
		ID: k.ID, Key: secret.Reveal(), Description: k.Description, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt,
	}
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

// keyNotFound words that a key does not exist; other errors it returns as they are.
func keyNotFound(err error) error {
	return resource.NotFound(err, "API key not found")
}

// checkExpiry refuses a new key that would expire in the past.
func (h *handlers) checkExpiry(sent *int64) error {
	expires := resource.ZeroIfNil(sent)
	if expires != 0 && expires <= h.Clock().Unix() {
		return evidence.NewError(evidence.Invalid, "expires_at cannot be in the past")
	}
	return nil
}

func (h *handlers) listKeys(ctx context.Context, owner identity.KeyOwner) (*server.Answer[[]ApiKeyListItemResponse], error) {
	found, err := h.Tenancy.Keys(ctx, owner.ID)
	return server.Answered(resource.Map(found, showKey)), err
}

func (h *handlers) readKey(ctx context.Context, owner identity.KeyOwner, id string) (*server.Answer[ApiKeyListItemResponse], error) {
	found, err := h.Tenancy.Key(ctx, owner.ID, id)
	if err != nil {
		return nil, keyNotFound(err)
	}
	return server.Answered(showKey(&found)), nil
}

func (h *handlers) issueKey(ctx context.Context, owner identity.KeyOwner, body *ApiKeyPostInput) (*server.Answer[ApiKeyCreatedResponse], error) {
	if err := h.checkExpiry(body.ExpiresAt); err != nil {
		return nil, err
	}
	asked := tenancy.NewKey{Description: body.Description, ExpiresAt: resource.ZeroIfNil(body.ExpiresAt)}
	key, secret, err := h.Tenancy.IssueKey(ctx, owner, actor(ctx), asked)
	if err != nil {
		return nil, err
	}
	return server.Answered(showNewKey(&key, secret)), nil
}

func (h *handlers) revokeKey(ctx context.Context, owner identity.KeyOwner, id string) (*server.TextAnswer, error) {
	if err := h.Tenancy.RevokeKey(ctx, owner, actor(ctx), id); err != nil {
		return nil, keyNotFound(err)
	}
	return &server.TextAnswer{Body: "revoked"}, nil
}

func (h *handlers) rotateKey(ctx context.Context, owner identity.KeyOwner, id string, body *ApiKeyRotateInput) (*server.Answer[ApiKeyRotatedResponse], error) {
	if err := h.checkExpiry(body.ExpiresAt); err != nil {
		return nil, err
	}
	grace := time.Duration(cmp.Or(body.GracePeriodHours, defaultGraceHours)) * time.Hour
	key, secret, oldEnds, err := h.Tenancy.RotateKey(ctx, owner, actor(ctx), id, grace, body.ExpiresAt)
	if err != nil {
		return nil, keyNotFound(err)
	}
	return server.Answered(ApiKeyRotatedResponse{
		ID: key.ID, Key: secret.Reveal(), Description: key.Description, CreatedAt: key.CreatedAt, ExpiresAt: key.ExpiresAt,
		GracePeriodExpiresAt: oldEnds,
	}), nil
}
