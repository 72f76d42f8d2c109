package evidence

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// Status is the compliance of a trail or an artifact (docs/semantics.md 7.2).
type Status string

// The statuses. Only an artifact can be Missing: it was never reported.
const (
	Compliant    Status = "COMPLIANT"
	NonCompliant Status = "NON-COMPLIANT"
	Incomplete   Status = "INCOMPLETE"
	Missing      Status = "MISSING"
)

// StatusOf is Compliant or NonCompliant.
func StatusOf(compliant bool) Status {
	if compliant {
		return Compliant
	}
	return NonCompliant
}

// Trail is the record of one run of a flow. The details of its artifacts are in their slots.
type Trail struct {
	// ID is the trail's id in responses; trails are stored by flow and name.
	ID   string `json:"id"`
	Org  string `json:"org"`
	Flow string `json:"flow"` // id
	Name string `json:"name"`

	Description  string                 `json:"description"`
	Commit       *GitCommit             `json:"commit,omitempty"`
	OriginURL    *string                `json:"origin_url,omitempty"`
	ExternalURLs map[string]ExternalURL `json:"external_urls,omitempty"`
	UserData     json.RawMessage        `json:"user_data,omitempty"`
	// RepoIDs are the repositories of its reports, in the order they were first named.
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
	// Slots are the summaries of its slots, by reference name.
	Slots map[string]SlotSummary `json:"slots,omitempty"`
	// Status is the trail's compliance as of EvaluatedAt.
	Status Status `json:"status"`
	// Approved is true if its code has independent approval (docs/semantics.md 18.12). Earlier versions did not store it.
	Approved bool `json:"approved,omitempty"`
	// EvaluatedAt is the time of the last event, EntriesAt of the last one that concerned the trail itself.
	EvaluatedAt float64 `json:"evaluated_at"`
	EntriesAt   float64 `json:"entries_at"`
	// Pending are events of this version of the trail that may not be stored with the others yet.
	Pending []TrailEvent `json:"pending,omitempty"`
	// Uncounted is true if the trail is not yet in its flow's tally.
	Uncounted bool `json:"uncounted,omitempty"`
}

// Key identifies a trail. It has the name, which cannot change, so it is known without a read.
func (t *Trail) Key() string { return TrailKey(t.Flow, t.Name) }

// TrailKey is the key of the trail of a name in a flow.
func TrailKey(flow, name string) string { return flow + "/" + name }

// SlotSummary has the members of a slot by which its trail is evaluated.
type SlotSummary struct {
	// Version is that of the slot; the summary with the greater version is newer.
	Version int64 `json:"version"`
	// Template is the id of the template by which it was evaluated.
	Template string `json:"template"`
	// Fingerprint to ReportedAt are those of the current artifact, zero if none was reported.
	Fingerprint string  `json:"fingerprint,omitempty"`
	Record      string  `json:"record,omitempty"`
	Filename    string  `json:"filename,omitempty"`
	Commit      string  `json:"commit,omitempty"`
	ReportedAt  float64 `json:"reported_at,omitempty"`
	// EvaluatedAt is the time of the last event that concerned the slot.
	EvaluatedAt float64 `json:"evaluated_at,omitempty"`
	// Failing is true if an attestation is not compliant, Lacking if a required one is missing.
	Failing bool `json:"failing,omitempty"`
	Lacking bool `json:"lacking,omitempty"`
	// Approved is true if an attestation has independent approval. Earlier versions did not store it.
	Approved bool `json:"approved,omitempty"`
	// HasOlder is true if the slot has or had older artifacts.
	HasOlder bool `json:"displaced,omitempty"`
	// Entries is the number of attestations in the slot.
	Entries int `json:"entries,omitempty"`
}

// Bounds of the names in a trail or an artifact, so that documents do not exceed the limits of databases.
const (
	MaxTrailArtifacts    = 10_000
	MaxTrailAttestations = 10_000
)

// Admits returns Invalid if one more report, about artifacts or, without any, the trail itself, exceeds the bounds.
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

// Author is that of the trail's commit, "" if unknown.
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
	// Template is the id of the trail's own template, "" if none was sent.
	Template string
	// Repo is the id of the report's repository, "" if it named none.
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

// AddRepo adds a repository of the trail's reports, unless id is "".
func (t *Trail) AddRepo(id string) {
	if id != "" && !slices.Contains(t.RepoIDs, id) {
		t.RepoIDs = append(t.RepoIDs, id)
	}
}

// Touch updates the times after a report at a time in Unix seconds.
func (t *Trail) Touch(at float64) {
	t.LastModifiedAt = max(t.LastModifiedAt, at)
	t.EvaluatedAt = max(t.EvaluatedAt, at)
}

// SlotNames lists the names of the trail's slots.
func (t *Trail) SlotNames() []string { return slices.Sorted(maps.Keys(t.Slots)) }

// SlotIDs lists the ids of the trail's slots.
func (t *Trail) SlotIDs() []string {
	return Map(t.SlotNames(), func(name string) string { return SlotID(t.Key(), name) })
}

// NamesOf lists the names whose newest artifact has the fingerprint.
func (t *Trail) NamesOf(fingerprint string) []string {
	return t.namesWhere(func(s SlotSummary) bool { return fingerprint != "" && s.Fingerprint == fingerprint })
}

// PossibleNamesOf lists the names under which a fingerprint may have been reported: those of NamesOf, and those that
// have older artifacts. There are none for "".
func (t *Trail) PossibleNamesOf(fingerprint string) []string {
	return t.namesWhere(func(s SlotSummary) bool { return fingerprint != "" && (s.HasOlder || s.Fingerprint == fingerprint) })
}

func (t *Trail) namesWhere(wanted func(SlotSummary) bool) []string {
	return slices.DeleteFunc(t.SlotNames(), func(name string) bool { return !wanted(t.Slots[name]) })
}

// Fingerprints are those of the current artifacts.
func (t *Trail) Fingerprints() []string {
	names := t.namesWhere(func(s SlotSummary) bool { return s.Fingerprint != "" })
	return Map(names, func(name string) string { return t.Slots[name].Fingerprint })
}

// MayBuild reports whether the trail may build the artifact of a name: it has reported one, or none of any name yet.
func (t *Trail) MayBuild(name string) bool {
	return len(t.Fingerprints()) == 0 || t.Slots[name].Fingerprint != ""
}

// Attested reports whether the trail's own entries have an attestation or a later one of its name.
func (t *Trail) Attested(entry Entry) bool {
	return slices.ContainsFunc(t.Entries, func(known Entry) bool { return known.Name == entry.Name && !entry.later(known) })
}

// HasOlderArtifacts reports whether the trail has artifacts that are not the newest of their names.
func (t *Trail) HasOlderArtifacts() bool {
	return len(t.namesWhere(func(s SlotSummary) bool { return s.HasOlder })) > 0
}

// Summarize sets the summary of a slot, unless the trail has a newer one.
func (t *Trail) Summarize(name string, summary SlotSummary) {
	if known, ok := t.Slots[name]; ok && known.Version > summary.Version {
		return
	}
	if t.Slots == nil {
		t.Slots = map[string]SlotSummary{}
	}
	t.Slots[name] = summary
}
