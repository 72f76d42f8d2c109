package snapshot

import (
	"cmp"
	"slices"

	"attestry/evidence"
	"attestry/evidence/policy"
)

// Snapshot is what ran in an environment from Timestamp until the next snapshot. It is immutable. Root is the tree of
// its artifacts. The changes to the previous snapshot are in Changes or, if there are many, in the tree of ChangesRoot.
type Snapshot struct {
	Org         string                   `json:"org"`
	Environment string                   `json:"environment"` // id
	Number      int64                    `json:"number"`      // 1, 2, 3, …
	Timestamp   float64                  `json:"timestamp"`   // Unix seconds
	Type        evidence.EnvironmentType `json:"type"`
	Root        string                   `json:"root"`
	Counts      Counts                   `json:"counts"`
	// State is the verdict on all running artifacts, nil if unknown.
	State *bool `json:"state"`
	// Policies are those that were applied.
	Policies    []policy.Reference `json:"policies,omitempty"`
	Changes     []Change           `json:"changes,omitempty"`
	ChangesRoot string             `json:"changes_root,omitempty"`
	// EventsBefore is the number of the environment's events before this snapshot. The ordinals are derived from it.
	EventsBefore int64 `json:"events_before"`
	Events       int64 `json:"events"`
	// Arrival is the number of the report that made the snapshot, Report its id, and Digest its digest.
	Arrival int64  `json:"arrival"`
	Report  string `json:"report"`
	Digest  string `json:"digest"`
	// Generation is that of the environment and its organization before the facts were read.
	Generation string  `json:"token"`
	ReportedBy string  `json:"reported_by"` // name
	ReportedAt float64 `json:"reported_at"` // when the report was accepted, Unix seconds
	// Members are the ordered members of a logical environment's snapshot, which has no Root, Counts and Changes.
	Members []Member `json:"members,omitempty"`
	// Cause is why a logical environment's snapshot was made; nil after a change of members.
	Cause *Cause `json:"cause,omitempty"`
}

// ChunkIDs returns the ids of the roots of the snapshot's trees.
func (s *Snapshot) ChunkIDs() []string { return []string{s.Root, s.ChangesRoot} }

// Compliant is State as a bool: unknown is false (docs/semantics.md 9.4).
func (s *Snapshot) Compliant() bool { return s.State != nil && *s.State }

// Sum sets Counts and State: false if one verdict is false, else unknown if one is unknown. If nothing runs, State is
// true with policies and unknown without (docs/semantics.md 9.4).
func (s *Snapshot) Sum(artifacts []Artifact) {
	s.Counts, s.State = Count(artifacts), nil
	switch {
	case s.Counts.False > 0:
		s.State = new(false)
	case s.Counts.Null == 0 && (len(artifacts) > 0 || len(s.Policies) > 0):
		s.State = new(true)
	}
}

// MaxInlineChanges bounds Snapshot.Changes. More changes are in the tree of ChangesRoot.
const MaxInlineChanges = 64

// Inline reports whether changes are few and small enough for Snapshot.Changes.
func Inline(changes []Change) bool {
	return len(changes) <= MaxInlineChanges && sum(changes, (*Change).size) <= maxChunkSize
}

// Event is an entry of an environment's event log.
type Event struct {
	Org         string `json:"org"`
	Environment string `json:"environment"` // id
	// Member is, in the log of a logical environment, the id of the member in which it happened; else "".
	Member      string     `json:"member,omitempty"`
	Ordinal     int64      `json:"ordinal"` // 1, 2, 3, … per environment
	Snapshot    int64      `json:"snapshot"`
	Timestamp   float64    `json:"timestamp"` // the snapshot's, Unix seconds
	Fingerprint string     `json:"fingerprint"`
	Name        string     `json:"name"`
	Type        Annotation `json:"type"`
	Description string     `json:"description"`
	// Compliant is the artifact's verdict, SnapshotCompliant the snapshot's.
	Compliant         *bool `json:"compliant"`
	SnapshotCompliant bool  `json:"snapshot_compliant"`
	// Flows are the ids of the flows of the artifact's origins. The first one built it; Record is its newest record there.
	Flows  []string `json:"flows,omitempty"`
	Record string   `json:"record,omitempty"`
	// Repos are the ids of the repositories it comes from.
	Repos []string `json:"repos,omitempty"`
	// CodeDiff is the URL of the code difference to the previous artifact.
	CodeDiff *string `json:"code_diff,omitempty"`
}

// EventsOf derives the events of a snapshot, one per changed artifact. It is deterministic.
func (s *Snapshot) EventsOf(changes []Change, artifacts map[string]Artifact) []Event {
	ordered := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.Type == Unchanged })
	slices.SortStableFunc(ordered, ByAppearance)
	events := make([]Event, 0, len(ordered))
	for i, c := range ordered {
		event := Event{
			Org: s.Org, Environment: s.Environment, Ordinal: s.EventsBefore + int64(i) + 1, Snapshot: s.Number, Timestamp: s.Timestamp,
			Fingerprint: c.Fingerprint, Name: c.Name, Type: c.Type, Description: c.Description(),
			Compliant: c.Compliant, SnapshotCompliant: s.Compliant(),
		}
		artifact := c.artifact(artifacts)
		for _, origin := range artifact.Origins {
			event.Flows = append(event.Flows, origin.Flow)
		}
		if len(artifact.Origins) > 0 {
			event.Record, event.CodeDiff = artifact.Origins[0].Record, artifact.Origins[0].CodeDiff()
		}
		event.Repos = artifact.Repos()
		events = append(events, event)
	}
	return events
}

// ByFingerprint maps fingerprints to artifacts.
func ByFingerprint(artifacts []Artifact) map[string]Artifact {
	return evidence.ByKey(artifacts, func(artifact *Artifact) string { return artifact.Fingerprint })
}

// ByAppearance orders changes as responses show them: changed, unchanged, exited, each from the newest instance on.
func ByAppearance(a, b Change) int {
	rank := func(c Change) int { return slices.Index([]Annotation{Unchanged, Exited}, c.Type) } // -1 for those that changed
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Newest, a.Newest), cmp.Compare(a.Fingerprint, b.Fingerprint))
}
