// Package notification has the rules of actions: which events they fire on, the notices for their targets, and when a
// failed delivery is tried again (docs/semantics.md 20).
package notification

import (
	"net/url"
	"slices"
	"strings"

	"attestry/evidence"
)

// Trigger is a kind of event that an action may fire on (docs/semantics.md 20.2).
type Trigger string

// The triggers of environment actions.
const (
	StartedArtifact Trigger = "ON_STARTED_ARTIFACT"
	ExitedArtifact  Trigger = "ON_EXITED_ARTIFACT"
	ScaledArtifact  Trigger = "ON_SCALED_ARTIFACT"
	AllowedArtifact Trigger = "ON_ALLOWED_ARTIFACT"
	NonCompliantEnv Trigger = "ON_NON_COMPLIANT_ENV"
	CompliantEnv    Trigger = "ON_COMPLIANT_ENV"
	BrokenGlass     Trigger = "ON_ADMISSION_BREAK_GLASS"
)

// The triggers of flow actions. Release is never fired (docs/semantics.md 20.2).
const (
	StartedTrail       Trigger = "ON_STARTED_TRAIL"
	AttestedProvenance Trigger = "ON_ATTESTED_PROVENANCE"
	ReportedAttest     Trigger = "ON_ATTESTATION"
	Approval           Trigger = "ON_APPROVAL"
	Release            Trigger = "ON_RELEASE"
)

// KeyExpires is the only trigger of the action about keys.
const KeyExpires Trigger = "ON_KEY_EXPIRES"

// Kind is the kind of an action's subjects.
type Kind string

// The kinds of actions.
const (
	OfEnvironments Kind = "env"
	OfFlows        Kind = "flow"
	// OfKeys is the kind of the action about keys that expire, whose only subject is the organization.
	OfKeys Kind = "keys"
)

// Subjects is the name of the member that lists the subjects of an action of the kind.
func (k Kind) Subjects() string {
	if k == OfFlows {
		return "flows"
	}
	return "environments"
}

// PayloadVersion is the only version of the payloads of webhooks.
const PayloadVersion = "1.0"

// Target is a receiver that an action notifies.
type Target struct {
	Type TargetType `json:"type"`
	// Webhook is the URL of targets of the types Slack and Webhook, as it was sent.
	Webhook string `json:"webhook,omitempty"`
	// Emails are the addresses of a target of the type Email.
	Emails []string `json:"emails,omitempty"`
	// Context is the channel of a chat service, as its application reported it, or nil.
	Context *SlackContext `json:"context,omitempty"`
}

// SlackContext is the channel that an incoming webhook of Slack posts to.
type SlackContext struct {
	ChannelID   string `json:"channel_id"`
	ChannelName string `json:"channel_name"`
	TeamID      string `json:"team_id"`
}

// ID identifies a target within its action: 16 hex digits, derived from its type and addresses. So a target that is
// sent again keeps its signing secret and its history.
func (t *Target) ID() string {
	return evidence.SHA256([]byte(string(t.Type) + "\n" + t.Webhook + "\n" + strings.Join(t.Emails, "\n")))[:16]
}

// Host is the host and port of the target's webhook, "" for e-mail.
func (t *Target) Host() string {
	address, err := url.Parse(t.Webhook)
	if err != nil {
		return ""
	}
	return strings.ToLower(address.Host)
}

// Action notifies targets of events in environments or flows.
type Action struct {
	Number int64  `json:"number"` // 1, 2, 3, … per organization
	Name   string `json:"name"`
	Kind   Kind   `json:"kind"`
	// KeyExpiry has the settings of the action about keys, nil for others.
	KeyExpiry *KeyExpiry `json:"key_expiry,omitempty"`
	// Subjects are the ids of the environments or flows, in the order in which they were sent.
	Subjects  []string  `json:"subjects"`
	Triggers  []Trigger `json:"triggers"`
	Targets   []Target  `json:"targets"`
	CreatedBy string    `json:"created_by"`
	// CreatedAt and LastModifiedAt are Unix seconds.
	CreatedAt      float64 `json:"created_at"`
	LastModifiedAt float64 `json:"last_modified_at"`
}

// HasTrigger reports whether the action has one of the triggers.
func (a *Action) HasTrigger(triggers ...Trigger) bool {
	return slices.ContainsFunc(a.Triggers, func(t Trigger) bool { return slices.Contains(triggers, t) })
}

// FiresOn reports whether the action fires on an event. It does not fire on those before its creation.
func (a *Action) FiresOn(event *Event) bool {
	return a.CreatedAt <= event.At && slices.Contains(a.Subjects, event.Subject) && a.HasTrigger(event.Triggers...)
}

// DistinctTargets are the targets without duplicates.
func (a *Action) DistinctTargets() []Target {
	return evidence.FirstOfEach(a.Targets, func(target Target) string { return target.ID() })
}

// Target returns the target of an id.
func (a *Action) Target(id string) (Target, bool) {
	return evidence.First(a.Targets, func(target Target) bool { return target.ID() == id })
}

// TargetsNotIn are the distinct targets that another version of the action lacks.
func (a *Action) TargetsNotIn(other *Action) []Target {
	return slices.DeleteFunc(a.DistinctTargets(), func(target Target) bool {
		_, ok := other.Target(target.ID())
		return ok
	})
}
