// Package webhooks has the operations that other services call without an API key: their
// addresses are secret, and their bodies are signed (docs/semantics.md 19.2).
package webhooks

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

type handlers struct{ *resource.Base }

// Routes are those of inbound webhooks.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	return server.Routes(map[string]server.Binder{
		"sonar_webhook":         server.WithSignedBody(h.verifySonar, h.recordAnalysis),
		"launch_darkly_webhook": server.WithSignedBody(h.verifyLaunchDarkly, h.recordFlag),
	})
}

// refused is the one answer to a uid that is unknown and to a signature that is wrong.
const refused = "The address or the signature of the webhook is not valid"

// signed returns the hook with a uid if the body was signed with its secret. Whatever is
// wrong is evidence.Unauthorized with one text.
func (h *handlers) signed(ctx context.Context, kind identity.HookKind, uid, signature string, body []byte) (identity.Hook, error) {
	hook, err := h.Tenancy.Hook(ctx, kind, uid)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return identity.Hook{}, err
	}
	// An unknown uid takes as long as a known one.
	if matches := validSignature(hook.Secret, signature, body); err != nil || !matches {
		return identity.Hook{}, evidence.NewError(evidence.Unauthorized, refused)
	}
	return hook, nil
}

// validSignature reports whether a text is the HMAC-SHA256 of a body in hex.
func validSignature(secret evidence.Secret, text string, body []byte) bool {
	given, err := hex.DecodeString(text)
	sum := hmac.New(sha256.New, []byte(secret.Reveal()))
	sum.Write(body)
	return hmac.Equal(given, sum.Sum(nil)) && err == nil
}
