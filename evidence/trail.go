package evidence

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// Status is how far a trail or an artifact has come (docs/semantics.md 7.2).
type Status string

// The statuses. Only an artifact can be Missing: it was never reported.
const (
	Compliant    Status = "COMPLIANT"
	NonCompliant Status = "NON-COMPLIANT"
	Incomplete   Status = "INCOMPLETE"
	Missing      Status = "MISSING"
)

// Trail is the record of one run of a flow, without the details of its artifacts, which are in their slots.
type Trail struct {
	// ID is the trail's id in answers; trails are kept by flow and name.
	ID   string `json:"id"`
	Org  string `json:"org"`
	Flow string `json:"flow"` // id
	Name string `json:"name"`

	Description  string                 `json:"description"`
	Commit       *GitCommit             `json:"commit,omitempty"`
	OriginURL    *string                `json:"origin_url,omitempty"`
	ExternalURLs map[string]ExternalURL `json:"external_urls,omitempty"`
	UserData     json.RawMessage        `json:"user_data,omitempty"`
	// RepoIDs are the repositories that its reports have named, in the order they were first named.
	RepoIDs []string `json:"repo_ids,omitempty"`

	CreatedAt      float64 `json:"created_at"`
	LastModifiedAt float64 `json:"last_modified_at"`
	CreatedBy      string  `json:"created_by"`
	CreatedByID    string  `json:"created_by_id"`
	// AuthorChangedAt is when the trail last got a commit of another author, in Unix seconds; 0 if it never did.
	AuthorChangedAt float64 `json:"author_changed_at,omitempty"`

	// Template is the id of the template in force: the flow's at the time the trail began, or the trail's own.
	Template string `json:"template"`
	// Entries are the latest attestations of the trail itself, by name.
	Entries []Entry `json:"entries,omitempty"`
	// Slots sums up the artifacts, by reference name.
	Slots map[string]SlotSummary `json:"slots,omitempty"`
	// Status is the trail's compliance as of EvaluatedAt.
	Status Status `json:"status"`
	// Approved tells that others approved what its author wrote (docs/semantics.md 18.12). Earlier versions did not keep it.
	Approved bool `json:"approved,omitempty"`
	// EvaluatedAt is the time of the last event, EntriesAt of the last one that concerned the trail itself.
	EvaluatedAt float64 `json:"evaluated_at"`
	EntriesAt   float64 `json:"entries_at"`
	// Pending are events that belong to this version of the trail and may not be stored with the others yet.
	Pending []TrailEvent `json:"pending,omitempty"`
	// Uncounted tells that the trail is not yet in its flow's tally.
	Uncounted bool `json:"uncounted,omitempty"`
}

// Key identifies a trail. It needs no look-up, as names of trails cannot change.
func (t *Trail) Key() string { return TrailKey(t.Flow, t.Name) }

// TrailKey is the key of the trail of that name in a flow.
func TrailKey(flow, name string) string { return flow + "/" + name }

// SlotSummary is what a trail needs to know of an artifact to be evaluated.
type SlotSummary struct {
	// Version is the slot's; of two summaries the one with the greater is newer.
	Version int64 `json:"version"`
	// Template is the id of the template it was evaluated under.
	Template string `json:"template"`
	// Fingerprint to ReportedAt are of the artifact now under the name, zero when none was reported.
	Fingerprint string  `json:"fingerprint,omitempty"`
	Record      string  `json:"record,omitempty"`
	Filename    string  `json:"filename,omitempty"`
	Commit      string  `json:"commit,omitempty"`
	ReportedAt  float64 `json:"reported_at,omitempty"`
	// EvaluatedAt is the time of the last event that concerned the slot.
	EvaluatedAt float64 `json:"evaluated_at,omitempty"`
	// Failing and Lacking tell that some attestation is not compliant, or required and missing.
	Failing bool `json:"failing,omitempty"`
	Lacking bool `json:"lacking,omitempty"`
	// Approved tells that an attestation shows the approval of others. Earlier versions did not keep it.
	Approved bool `json:"approved,omitempty"`
	// HasOlder tells that the slot has, or had, older artifacts too.
	HasOlder bool `json:"displaced,omitempty"`
	// Entries is how many attestations the slot keeps.
	Entries int `json:"entries,omitempty"`
}

// Bounds of what a trail or an artifact holds under different names, so that no database refuses it.
const (
	MaxTrailArtifacts    = 10_000
	MaxTrailAttestations = 10_000
)

// Admits returns Invalid if nothing more can be reported under these artifact names, or to the trail without any.
func (t *Trail) Admits(artifacts []string, attestation string) error {
	fresh := 0
	for _, name := range artifacts {
		summary, known := t.Slots[name]
		if !known {
			fresh++
		}
		if attestation != "" && summary.Entries >= MaxTrailAttestations {
			return Errorf(Invalid, "Artifact '%s' of trail '%s' has as many attestations as one can have", name, t.Name)
		}
	}
	if fresh > 0 && len(t.Slots)+fresh > MaxTrailArtifacts {
		return Errorf(Invalid, "Trail '%s' has as many artifact names as one can have", t.Name)
	}
	known := slices.ContainsFunc(t.Entries, func(e Entry) bool { return e.Name == attestation })
	if len(artifacts) == 0 && !known && len(t.Entries) >= MaxTrailAttestations {
		return Errorf(Invalid, "Trail '%s' has as many attestations as one can have", t.Name)
	}
	return nil
}

// Author is that of the trail's commit, "" if it is not known.
func (t *Trail) Author() string {
	if t.Commit == nil || t.Commit.Author == nil {
		return ""
	}
	return *t.Commit.Author
}

// TrailChange is a begin of a trail; nil members were not sent and stay as they are (docs/semantics.md 4.1).
type TrailChange struct {
	Description  *string
	Commit       *GitCommit
	OriginURL    *string
	ExternalURLs map[string]ExternalURL
	UserData     json.RawMessage
	// Template is the id of the trail's own template, "" when none was sent.
	Template string
	// Repo is the id of the repository that was named, "" when none was.
	Repo string
}

// Apply patches the trail and returns the contract's names of what changed. A repository is no change.
func (t *Trail) Apply(change TrailChange) []string {
	var changed []string
	note := func(name string, did bool) {
		if did {
			changed = append(changed, name)
		}
	}
	note("description", change.Description != nil && set(&t.Description, *change.Description))
	note("git_commit_info", change.Commit != nil && set(&t.Commit, change.Commit))
	note("origin_url", change.OriginURL != nil && set(&t.OriginURL, change.OriginURL))
	if change.ExternalURLs != nil && !maps.EqualFunc(t.ExternalURLs, change.ExternalURLs, sameURL) {
		t.ExternalURLs = change.ExternalURLs
		note("external_urls", true)
	}
	if change.UserData != nil && !bytes.Equal(t.UserData, change.UserData) {
		t.UserData = change.UserData
		note("user_data", true)
	}
	note("template", change.Template != "" && set(&t.Template, change.Template))
	t.AddRepo(change.Repo)
	return changed
}

func set[T any](member *T, value T) bool {
	if reflect.DeepEqual(*member, value) {
		return false
	}
	*member = value
	return true
}

func sameURL(a, b ExternalURL) bool { return reflect.DeepEqual(a, b) }

// AddRepo notes a repository that a report of the trail has named.
func (t *Trail) AddRepo(id string) {
	if id != "" && !slices.Contains(t.RepoIDs, id) {
		t.RepoIDs = append(t.RepoIDs, id)
	}
}

// Touch notes that something was reported to the trail at a time.
func (t *Trail) Touch(at float64) {
	t.LastModifiedAt = max(t.LastModifiedAt, at)
	t.EvaluatedAt = max(t.EvaluatedAt, at)
}

// SlotNames lists the names of the artifacts for which something was reported.
func (t *Trail) SlotNames() []string { return slices.Sorted(maps.Keys(t.Slots)) }

// SlotIDs lists the ids of the trail's slots.
func (t *Trail) SlotIDs() []string {
	ids := make([]string, 0, len(t.Slots))
	for _, name := range t.SlotNames() {
		ids = append(ids, SlotID(t.Key(), name))
	}
	return ids
}

// NamesOf lists the names whose newest artifact has a fingerprint.
func (t *Trail) NamesOf(fingerprint string) []string {
	return t.namesWhere(func(s SlotSummary) bool { return fingerprint != "" && s.Fingerprint == fingerprint })
}

// PossibleNamesOf lists the names under which a fingerprint may have been reported: those
// of NamesOf, and those that have older artifacts. There are none of "".
func (t *Trail) PossibleNamesOf(fingerprint string) []string {
	return t.namesWhere(func(s SlotSummary) bool { return fingerprint != "" && (s.HasOlder || s.Fingerprint == fingerprint) })
}

func (t *Trail) namesWhere(wanted func(SlotSummary) bool) []string {
	return slices.DeleteFunc(t.SlotNames(), func(name string) bool { return !wanted(t.Slots[name]) })
}

// Fingerprints are those of the artifacts now under the trail's names.
func (t *Trail) Fingerprints() []string {
	var fingerprints []string
	for _, name := range t.SlotNames() {
		if fingerprint := t.Slots[name].Fingerprint; fingerprint != "" {
			fingerprints = append(fingerprints, fingerprint)
		}
	}
	return fingerprints
}

// MayBuild reports whether the trail builds the artifact of a name, as far as is known: unless it has only others.
func (t *Trail) MayBuild(name string) bool {
	return len(t.Fingerprints()) == 0 || t.Slots[name].Fingerprint != ""
}

// Attested reports whether the trail itself reflects an attestation: it has it or a later one of the name.
func (t *Trail) Attested(entry Entry) bool {
	return slices.ContainsFunc(t.Entries, func(known Entry) bool { return known.Name == entry.Name && !entry.later(known) })
}

// HasOlderArtifacts reports whether the trail has artifacts that are not the newest of their names.
func (t *Trail) HasOlderArtifacts() bool {
	for _, summary := range t.Slots {
		if summary.HasOlder {
			return true
		}
	}
	return false
}

// Summarize takes in the summary of a slot, unless a newer one is known.
func (t *Trail) Summarize(name string, summary SlotSummary) {
	if known, ok := t.Slots[name]; ok && known.Version > summary.Version {
		return
	}
	if t.Slots == nil {
		t.Slots = map[string]SlotSummary{}
	}
	t.Slots[name] = summary
}
