package identity

import "attestry/evidence"

// HookKind is the service that calls an inbound webhook.
type HookKind string

// The kinds of inbound webhooks (docs/semantics.md 19.2).
const (
	SonarHook        HookKind = "sonar"
	LaunchDarklyHook HookKind = "launch-darkly"
)

const (
	// MinHookSecret and MaxHookSecret bound the uid and the secret of a hook, in bytes.
	MinHookSecret = 16
	MaxHookSecret = 128
)

// Hook is an inbound webhook of an organization, which another service calls without an API key.
type Hook struct {
	OrgID, OrgName string
	Kind           HookKind
	// Secret is the key of the signatures.
	Secret evidence.Secret
	// FlowPrefix and FlowSuffix are those of the names of flows for Sonar projects.
	FlowPrefix, FlowSuffix string
}

// DeclaredHook declares an inbound webhook of an organization.
type DeclaredHook struct {
	Kind HookKind
	// UID is the last segment of the webhook's path. It is secret.
	UID                    evidence.Secret
	Secret                 evidence.Secret
	FlowPrefix, FlowSuffix string
}
