package identity

import "attestry/evidence"

// HookKind says which service calls an inbound webhook.
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

// Hook is an address of an organization that another service calls without an API key.
type Hook struct {
	OrgID, OrgName string
	Kind           HookKind
	// Secret is the key of the signatures.
	Secret evidence.Secret
	// FlowPrefix and FlowSuffix surround the names of flows made for Sonar projects.
	FlowPrefix, FlowSuffix string
}

// DeclaredHook brings an inbound webhook of an organization.
type DeclaredHook struct {
	Kind HookKind
	// UID is the last part of the address, which nobody else must know.
	UID                    evidence.Secret
	Secret                 evidence.Secret
	FlowPrefix, FlowSuffix string
}
