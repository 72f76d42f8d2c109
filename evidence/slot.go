package evidence

import (
	"cmp"
	"slices"
)

// Entry is the latest attestation of a name: the one with the greatest time and, among equal times, the greatest id.
type Entry struct {
	Name string  `json:"name"`
	Type string  `json:"type"`
	ID   string  `json:"id"`
	Time float64 `json:"time"`
	// Compliant is the verdict, or that of the override.
	Compliant bool `json:"compliant"`
	// Finding, Approvers, Unapproved and Involved are those of the attestation.
	Finding    string `json:"finding,omitempty"`
	Approvers  int    `json:"approvers,omitempty"`
	Unapproved string `json:"unapproved,omitempty"`
	Involved   string `json:"involved,omitempty"`
	// Override tells that this is an override.
	Override bool `json:"override,omitempty"`
	// Overridden is the id of the attestation that an override replaces, "" if the attestation was missing.
	Overridden string `json:"overridden,omitempty"`
}

// Original is the id of the attestation that was reported first, even after several overrides; "" if it was missing
// (docs/semantics.md 6.4).
func (e Entry) Original() string {
	if e.Override {
		return e.Overridden
	}
	return e.ID
}

// CompareEntries orders attestations by time, then by id.
func CompareEntries(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.ID, b.ID))
}

// later reports whether an entry comes after another.
func (e Entry) later(other Entry) bool { return CompareEntries(e, other) > 0 }

// AddEntry adds an attestation to entries, unless they have a later one of its name. Names keep their order.
func AddEntry(entries []Entry, entry Entry) []Entry {
	return put(entries, entry, CompareEntries, func(known Entry) bool { return known.Name == entry.Name })
}

// put adds a report to a list, or replaces the one in its place if that is earlier.
func put[R any](list []R, report R, compare func(a, b R) int, inPlace func(R) bool) []R {
	i := slices.IndexFunc(list, inPlace)
	switch {
	case i < 0:
		return append(list, report)
	case compare(report, list[i]) > 0:
		list[i] = report
	}
	return list
}

// Slot has the reports under one artifact name of a trail: the artifacts, of which the newest counts (docs/semantics.md
// 7.2, rule 8), and the attestations bound to them.
type Slot struct {
	Org   string `json:"org"`
	Trail string `json:"trail"` // key
	Name  string `json:"name"`
	// Version is incremented by every change.
	Version int64 `json:"version"`
	// Artifacts are the newest record of each fingerprint, oldest first.
	Artifacts []SlotArtifact `json:"artifacts,omitempty"`
	// Entries are the latest attestations by name and target.
	Entries []SlotEntry `json:"entries,omitempty"`
	// Pruned is true if older artifacts or entries were dropped. They are still stored as facts.
	Pruned bool `json:"pruned,omitempty"`
	// EvaluatedAt is the time of the last report that concerned the slot.
	EvaluatedAt float64 `json:"evaluated_at,omitempty"`
}

// ID is the slot's id.
func (s *Slot) ID() string { return SlotID(s.Trail, s.Name) }

// Equal reports whether two slots of one name hold the same.
func (s *Slot) Equal(other *Slot) bool {
	return slices.Equal(s.Artifacts, other.Artifacts) && slices.Equal(s.Entries, other.Entries) &&
		s.Pruned == other.Pruned && s.EvaluatedAt == other.EvaluatedAt
}

// SlotID is the id of the slot of a name in the trail of a key.
func SlotID(trail, name string) string { return trail + "/" + name }

// SlotArtifact is a reported artifact.
type SlotArtifact struct {
	Fingerprint string  `json:"fingerprint"`
	Record      string  `json:"record"` // the artifact record's id
	Commit      string  `json:"commit,omitempty"`
	Filename    string  `json:"filename,omitempty"`
	Time        float64 `json:"time"`
}

func compareArtifacts(a, b SlotArtifact) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Record, b.Record))
}

// later reports whether an artifact was reported after another.
func (a SlotArtifact) later(other SlotArtifact) bool { return compareArtifacts(a, other) > 0 }

// SlotEntry is an attestation bound to the artifact of a fingerprint, or, made by name, to the artifacts of a commit,
// or to all when it has no commit (docs/semantics.md 6.2).
type SlotEntry struct {
	Entry
	Fingerprint string `json:"fingerprint,omitempty"`
	Commit      string `json:"commit,omitempty"`
}

// Binds reports whether the attestation is bound to an artifact.
func (e SlotEntry) Binds(a SlotArtifact) bool {
	if e.Fingerprint != "" {
		return e.Fingerprint == a.Fingerprint
	}
	return e.Commit == "" || e.Commit == a.Commit
}

func compareSlotEntries(a, b SlotEntry) int { return CompareEntries(a.Entry, b.Entry) }

// sameTarget reports whether two attestations have one name and one target.
func (e SlotEntry) sameTarget(other SlotEntry) bool {
	return e.Name == other.Name && e.Fingerprint == other.Fingerprint && e.Commit == other.Commit
}

const (
	// maxSlotArtifacts and maxSlotEntries keep a slot small. Dropped ones are read from the facts when they are needed.
	maxSlotArtifacts = 32
	maxSlotEntries   = 400
)

// Current returns the newest artifact.
func (s *Slot) Current() (SlotArtifact, bool) {
	if len(s.Artifacts) == 0 {
		return SlotArtifact{}, false
	}
	return s.Artifacts[len(s.Artifacts)-1], true
}

// Artifact returns the newest record of a fingerprint.
func (s *Slot) Artifact(fingerprint string) (SlotArtifact, bool) {
	return First(s.Artifacts, func(a SlotArtifact) bool { return a.Fingerprint == fingerprint })
}

// Complete returns the artifact of a fingerprint. It is not ok if the slot does not have it, or may lack attestations
// that are bound to it: a pruned slot is complete for the current artifact only.
func (s *Slot) Complete(fingerprint string) (artifact SlotArtifact, ok bool) {
	artifact, ok = s.Artifact(fingerprint)
	if current, _ := s.Current(); s.Pruned && current != artifact {
		return artifact, false
	}
	return artifact, ok
}

// Report adds an artifact, unless there is a later record of its fingerprint.
func (s *Slot) Report(artifact SlotArtifact) {
	s.EvaluatedAt = max(s.EvaluatedAt, artifact.Time)
	s.Artifacts = put(s.Artifacts, artifact, compareArtifacts, func(a SlotArtifact) bool { return a.Fingerprint == artifact.Fingerprint })
	slices.SortFunc(s.Artifacts, compareArtifacts)
}

// Attest adds an attestation, unless there is a later one of its name and target.
func (s *Slot) Attest(entry SlotEntry) {
	s.EvaluatedAt = max(s.EvaluatedAt, entry.Time)
	s.Entries = put(s.Entries, entry, compareSlotEntries, entry.sameTarget)
}

// Reported reports whether the slot reflects an artifact: it has this record or a later one, or may have dropped it.
func (s *Slot) Reported(artifact SlotArtifact) bool {
	known, ok := s.Artifact(artifact.Fingerprint)
	return s.Pruned || ok && !artifact.later(known)
}

// Attested reports whether the slot has an attestation or a later one in its place, or may have dropped it.
func (s *Slot) Attested(entry SlotEntry) bool {
	return s.Pruned || s.reflects(entry)
}

func (s *Slot) reflects(entry SlotEntry) bool {
	return slices.ContainsFunc(s.Entries, func(known SlotEntry) bool { return known.sameTarget(entry) && !entry.later(known.Entry) })
}

// Bound returns the latest attestations that are bound to an artifact, one of each name.
func (s *Slot) Bound(artifact SlotArtifact) []Entry {
	var entries []Entry
	for _, entry := range s.Entries {
		if entry.Binds(artifact) {
			entries = AddEntry(entries, entry.Entry)
		}
	}
	return entries
}

// Shown returns the attestations of the current artifact or, if none was reported, the latest of each name.
func (s *Slot) Shown() []Entry {
	if current, ok := s.Current(); ok {
		return s.Bound(current)
	}
	var entries []Entry
	for _, entry := range s.Entries {
		entries = AddEntry(entries, entry.Entry)
	}
	return entries
}

// ShownAt returns the attestations of the newest artifact of a commit or, if none was reported, those that will count
// for it. Without a commit, it is Shown.
func (s *Slot) ShownAt(commit string) []Entry {
	if commit == "" {
		return s.Shown()
	}
	newest := SlotArtifact{Commit: commit}
	for _, artifact := range s.Artifacts {
		if artifact.Commit == commit {
			newest = artifact
		}
	}
	return s.Bound(newest)
}

// RebuildSlot makes a slot of an artifact that its slot has dropped, with the attestations that are bound to it.
func RebuildSlot(record *ArtifactRecord, entries []SlotEntry) Slot {
	slot := Slot{Org: record.Org, Trail: TrailKey(record.Flow, record.Trail), Name: record.Name}
	slot.Report(record.SlotArtifact())
	for _, entry := range entries {
		slot.Attest(entry)
	}
	return slot
}

// BoundFingerprints returns the fingerprints of the artifacts that an attestation is bound to.
func (s *Slot) BoundFingerprints(entry SlotEntry) []string {
	var fingerprints []string
	for _, artifact := range s.Artifacts {
		if entry.Binds(artifact) {
			fingerprints = append(fingerprints, artifact.Fingerprint)
		}
	}
	return fingerprints
}

// Lacks reports whether an attestation has to be added: it is bound to the artifact, and the slot has no later one.
func (s *Slot) Lacks(entry SlotEntry, artifact SlotArtifact) bool {
	return entry.Binds(artifact) && !s.reflects(entry)
}

// Prune drops the oldest artifacts and entries beyond the limits, except entries that count for the current artifact.
func (s *Slot) Prune() {
	if excess := len(s.Artifacts) - maxSlotArtifacts; excess > 0 {
		s.Artifacts = slices.Delete(s.Artifacts, 0, excess)
		s.Pruned = true
	}
	excess := len(s.Entries) - maxSlotEntries
	if excess <= 0 {
		return
	}
	// Entries can be dropped unless they are bound to the current artifact or shown.
	current, reported := s.Current()
	counting := SetOf(s.Shown(), func(entry *Entry) string { return entry.ID })
	var spare []SlotEntry
	for _, entry := range s.Entries {
		if !counting[entry.ID] && (!reported || !entry.Binds(current)) {
			spare = append(spare, entry)
		}
	}
	slices.SortFunc(spare, compareSlotEntries)
	spare = spare[:min(excess, len(spare))]
	if len(spare) == 0 {
		return
	}
	s.Pruned = true
	s.Entries = slices.DeleteFunc(s.Entries, func(e SlotEntry) bool {
		return slices.ContainsFunc(spare, func(dropped SlotEntry) bool { return dropped.ID == e.ID })
	})
}
