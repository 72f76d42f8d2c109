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

// defaultGraceHours is the default time for which a rotated key stays valid.
const defaultGraceHours = 24

// ApiKeyPostInput is the body of the operations that issue a key (docs/semantics.md 2.3).
type ApiKeyPostInput struct {
	_           struct{} `json:"-" additionalProperties:"true"`
	Description string   `json:"description" minLength:"1" maxLength:"256" format:"plain-text"`
	ExpiresAt   *int64   `json:"expires_at,omitempty" nullable:"true" maximum:"4102444800" doc:"Unix seconds; 0 or absent for never."`
}

// ApiKeyRotateInput is the body of the operations that rotate a key (docs/semantics.md 2.3).
type ApiKeyRotateInput struct {
	_                struct{} `json:"-" additionalProperties:"true"`
	GracePeriodHours int      `json:"grace_period_hours,omitempty" minimum:"1" maximum:"720" default:"24" doc:"How long the key that is replaced works on."`
	ExpiresAt        *int64   `json:"expires_at,omitempty" nullable:"true" maximum:"4102444800" doc:"Of the new key, in Unix seconds; 0 or absent for never."`
}

// ApiKeyListItemResponse is a key without its secret.
type ApiKeyListItemResponse struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	CreatedAt   int64  `json:"created_at"`
	ExpiresAt   int64  `json:"expires_at" doc:"0 for never."`
	LastUsedAt  *int64 `json:"last_used_at" nullable:"true" doc:"Exact to a minute; null if the key was never used."`
	// GracePeriodExpiresAt is set only for keys that were rotated.
	GracePeriodExpiresAt int64 `json:"grace_period_expires_at,omitempty" doc:"From when on a key that was rotated does not work any more."`
}

func showKey(k *evidence.Key) ApiKeyListItemResponse {
	shown := ApiKeyListItemResponse{
		ID: k.ID, Description: k.Description, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt,
		LastUsedAt: resource.NilIfEmpty(k.LastUsedAt),
	}
	if k.RevokedAt != 0 {
		shown.GracePeriodExpiresAt = k.Ends()
	}
	return shown
}

// ApiKeyCreatedResponse is a new key with its secret, which no later answer has.
type ApiKeyCreatedResponse struct {
	ID          string `json:"id"`
	Key         string `json:"key" doc:"The secret, shown this once."`
	Description string `json:"description"`
	CreatedAt   int64  `json:"created_at"`
	ExpiresAt   int64  `json:"expires_at" doc:"0 for never."`
}

// ApiKeyRotatedResponse is a new key with its secret, and the time when the key that it replaces ends.
type ApiKeyRotatedResponse struct {
	ApiKeyCreatedResponse
	GracePeriodExpiresAt int64 `json:"grace_period_expires_at" doc:"From when on the key that was replaced does not work any more."`
}

func showNewKey(key *evidence.Key, secret evidence.Secret) ApiKeyCreatedResponse {
	return ApiKeyCreatedResponse{ID: key.ID, Key: secret.Reveal(), Description: key.Description, CreatedAt: key.CreatedAt, ExpiresAt: key.ExpiresAt}
}

func keyNotFound(err error) error { return resource.NotFound(err, "API key not found") }

// keysPath is the path of the keys of a user or service account, or of one of them.
type keysPath interface {
	owner(ctx context.Context, h *handlers) (identity.KeyOwner, error)
	// key returns the id of the key, "" for the path of all keys.
	key() string
}

// keysOperation makes a handler of an operation on the keys of an owner.
func keysOperation[P keysPath, O any](h *handlers, serve func(context.Context, identity.KeyOwner, string) (*O, error)) func(context.Context, *P) (*O, error) {
	return func(ctx context.Context, in *P) (*O, error) {
		owner, err := (*in).owner(ctx, h)
		if err != nil {
			return nil, err
		}
		return serve(ctx, owner, (*in).key())
	}
}

// keysChange is keysOperation for operations with a body.
func keysChange[P keysPath, T, O any](h *handlers, serve func(context.Context, identity.KeyOwner, string, *T) (*O, error)) func(context.Context, *P, *T) (*O, error) {
	return func(ctx context.Context, in *P, body *T) (*O, error) {
		return keysOperation[P](h, func(ctx context.Context, owner identity.KeyOwner, id string) (*O, error) {
			return serve(ctx, owner, id, body)
		})(ctx, in)
	}
}

// checkExpiry refuses an expiry of a new key that is not in the future.
func (h *handlers) checkExpiry(sent *int64) error {
	expires := evidence.ZeroIfNil(sent)
	if expires != 0 && expires <= h.Clock().Unix() {
		return evidence.NewError(evidence.Invalid, "expires_at cannot be in the past")
	}
	return nil
}

func (h *handlers) listKeys(ctx context.Context, owner identity.KeyOwner, _ string) (*server.Answer[[]ApiKeyListItemResponse], error) {
	found, err := h.Tenancy.Keys(ctx, owner.ID)
	return server.Answered(resource.Map(found, showKey)), err
}

func (h *handlers) readKey(ctx context.Context, owner identity.KeyOwner, id string) (*server.Answer[ApiKeyListItemResponse], error) {
	found, err := h.Tenancy.Key(ctx, owner.ID, id)
	return server.Answered(showKey(&found)), keyNotFound(err)
}

func (h *handlers) issueKey(ctx context.Context, owner identity.KeyOwner, _ string, body *ApiKeyPostInput) (*server.Answer[ApiKeyCreatedResponse], error) {
	if err := h.checkExpiry(body.ExpiresAt); err != nil {
		return nil, err
	}
	wanted := tenancy.NewKey{Description: body.Description, ExpiresAt: evidence.ZeroIfNil(body.ExpiresAt)}
	key, secret, err := h.Tenancy.IssueKey(ctx, owner, actor(ctx), wanted)
	if owner.ServiceAccount {
		err = accountNotFound(err)
	}
	return server.Answered(showNewKey(&key, secret)), err
}

func (h *handlers) revokeKey(ctx context.Context, owner identity.KeyOwner, id string) (*server.TextAnswer, error) {
	return &server.TextAnswer{Body: "revoked"}, keyNotFound(h.Tenancy.RevokeKey(ctx, owner, actor(ctx), id))
}

func (h *handlers) rotateKey(ctx context.Context, owner identity.KeyOwner, id string, body *ApiKeyRotateInput) (*server.Answer[ApiKeyRotatedResponse], error) {
	if err := h.checkExpiry(body.ExpiresAt); err != nil {
		return nil, err
	}
	grace := time.Duration(cmp.Or(body.GracePeriodHours, defaultGraceHours)) * time.Hour
	key, secret, oldEnds, err := h.Tenancy.RotateKey(ctx, owner, actor(ctx), id, grace, evidence.ZeroIfNil(body.ExpiresAt))
	return server.Answered(ApiKeyRotatedResponse{showNewKey(&key, secret), oldEnds}), keyNotFound(err)
}

// UserKeysPath is the path of the keys of the user who sent the request.
type UserKeysPath struct{}

func (UserKeysPath) owner(ctx context.Context, h *handlers) (identity.KeyOwner, error) {
	owner, err := h.Tenancy.UserKeys(ctx, server.Principal(ctx).Name)
	if errors.Is(err, storage.ErrNotFound) {
		// The user was removed after authentication.
		err = evidence.NewError(evidence.Unauthorized, evidence.InvalidKeyMessage)
	}
	return owner, err
}

func (UserKeysPath) key() string { return "" }

// UserKeyPath is the path of a personal key.
type UserKeyPath struct {
	UserKeysPath
	KeyID string `path:"key_id" doc:"Id of the key."`
}

func (p UserKeyPath) key() string { return p.KeyID }

// AccountKeysPath is the path of the keys of a service account, which the principal must manage.
type AccountKeysPath struct {
	server.OrgPath
	Name string `path:"name" doc:"Name of the service account."`
}

func (p AccountKeysPath) owner(ctx context.Context, h *handlers) (identity.KeyOwner, error) {
	org := server.Access(ctx)
	account, err := h.managedAccount(ctx, p.Name)
	return identity.KeyOwner{ID: account.ID, Name: account.Name, OrgID: org.OrgID, OrgName: org.OrgName, ServiceAccount: true}, err
}

func (AccountKeysPath) key() string { return "" }

// AccountKeyPath is the path of a key of a service account.
type AccountKeyPath struct {
	AccountKeysPath
	KeyID string `path:"key_id" doc:"Id of the key."`
}

func (p AccountKeyPath) key() string { return p.KeyID }
