package policy

import (
	"cmp"
	"slices"

	"attestry/evidence"
)

// MaxSize bounds a policy file, in bytes, for the reason that template.MaxSize has.
const MaxSize = 1 << 20

// MaxUpdates bounds the stored changes of a description. The newest are kept.
const MaxUpdates = 1000

// Head is a policy without its versions. Policies are neither renamed nor removed.
type Head struct {
	ID          string `json:"id"`
	Org         string `json:"org"`
	Name        string `json:"name"`
	Description string `json:"description"`
	CreatedBy   string `json:"created_by"` // name
	// CreatedAt and LastModifiedAt are in Unix seconds.
	CreatedAt      float64 `json:"created_at"`
	LastModifiedAt float64 `json:"last_modified_at"`
	// Latest is the number of the latest version, Sum the SHA-256 of its file, and Controls its controls.
	Latest   int      `json:"latest"`
	Sum      string   `json:"sum"`
	Controls []string `json:"controls,omitempty"`
	// Updates are the changes of the description, oldest first.
	Updates []Update `json:"updates,omitempty"`
}

// Update is a change of a policy's description.
type Update struct {
	At float64 `json:"at"` // Unix seconds
	By string  `json:"by"` // name
}

// Version is a version of a policy's file. It is immutable.
type Version struct {
	Org     string `json:"org"`
	Policy  string `json:"policy"`  // name
	Version int    `json:"version"` // 1, 2, 3, …
	// Comment is the sender's comment on the change.
	Comment   string  `json:"comment"`
	CreatedBy string  `json:"created_by"` // name
	CreatedAt float64 `json:"created_at"` // Unix seconds
	// Content is the file as it was sent.
	Content []byte `json:"content"`
}

// Describe sets the description, and records an update if it differs.
func (h *Head) Describe(description, by string, at float64) {
	if h.Description == description {
		return
	}
	h.Description, h.LastModifiedAt = description, max(h.LastModifiedAt, at)
	h.Updates = append(h.Updates, Update{At: at, By: by})
	h.Updates = h.Updates[max(0, len(h.Updates)-MaxUpdates):]
}

// EventType is the type of a policy's event, as the API writes it.
type EventType string

// The types of a policy's events (docs/semantics.md 18.4).
const (
	Created         EventType = "policy_created"
	NewVersion      EventType = "new_version"
	MetadataUpdated EventType = "metadata_update"
)

// Event is an event of a policy.
type Event struct {
	Type    EventType
	At      float64 // Unix seconds
	By      string  // name
	Version int     // of Created and NewVersion, else 0
}

// Events lists the events of a policy with the given versions, oldest first. It does not read their content.
func (h *Head) Events(versions []Version) []Event {
	events := make([]Event, 0, len(versions)+len(h.Updates))
	for _, version := range versions {
		kind := NewVersion
		if version.Version == 1 {
			kind = Created
		}
		events = append(events, Event{Type: kind, At: version.CreatedAt, By: version.CreatedBy, Version: version.Version})
	}
	for _, update := range h.Updates {
		events = append(events, Event{Type: MetadataUpdated, At: update.At, By: update.By})
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

// Reference names a version of a policy.
type Reference struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version int    `json:"version"`
}

// Applied is a parsed version of a policy by which artifacts are evaluated.
type Applied struct {
	Reference
	Policy *Policy
}

// References returns the references of policies, in order.
func References(applied []Applied) []Reference {
	return evidence.Map(applied, func(one Applied) Reference { return one.Reference })
}

// RequireSinceRelease reports whether a policy has a rule with SinceRelease.
func RequireSinceRelease(applied []Applied) bool {
	return slices.ContainsFunc(applied, func(one Applied) bool {
		return slices.ContainsFunc(one.Policy.Attestations, func(rule AttestationRule) bool {
			return rule.Independent != nil && rule.Independent.SinceRelease
		})
	})
}

// ControlsOf lists the distinct controls of policies, sorted.
func ControlsOf(applied []Applied) []string {
	controls := slices.Concat(evidence.Map(applied, func(one Applied) []string { return one.Policy.Controls() })...)
	slices.Sort(controls)
	return slices.Compact(controls)
}
