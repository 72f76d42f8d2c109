// Package webhooks has the operations that other services call without an API key. Their addresses are secret, and
// their bodies are signed (docs/semantics.md 19.2).
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

// Routes returns the routes of inbound webhooks.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	return server.Routes(map[string]server.Binder{
		"sonar_webhook":         server.WithSignedBody(h.verifySonar, h.recordAnalysis),
		"launch_darkly_webhook": server.WithSignedBody(h.verifyLaunchDarkly, h.recordFlag),
	})
}

// invalidHook is the answer to an unknown uid and to a wrong signature. It must not say which one it is.
const invalidHook = "The address or the signature of the webhook is not valid"

// verifyHook returns the hook with a uid if the body was signed with its secret, else an evidence.Unauthorized error.
func (h *handlers) verifyHook(ctx context.Context, kind identity.HookKind, uid, signature string, body []byte) (identity.Hook, error) {
	hook, err := h.Tenancy.Hook(ctx, kind, uid)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return identity.Hook{}, err
	}
	// Check the signature for an unknown uid, too, so that it takes as long as for a known one.
	if matches := validSignature(hook.Secret, signature, body); err != nil || !matches {
		return identity.Hook{}, evidence.NewError(evidence.Unauthorized, invalidHook)
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
