package compliance

import (
	"slices"

	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/evidence/template"
)

// Report is the detailed compliance of a trail, as responses show it (docs/semantics.md 7.1).
type Report struct {
	Status       evidence.Status
	Attestations []AttestationStatus
	Artifacts    []ArtifactStatus
	EvaluatedAt  float64
	Template     string // id
}

// AttestationStatus is an attestation that is required or was reported.
type AttestationStatus struct {
	Name string
	// Type is that of the attestation, else the required one.
	Type string
	// Entry is nil if the attestation is missing.
	Entry *evidence.Entry
	// Lack is the required approval or separation of duties that is missing, "" if none.
	Lack       string
	Unexpected bool
}

// ArtifactStatus is an artifact that is required or was reported.
type ArtifactStatus struct {
	Name string
	// Artifact is nil if none was reported under the name.
	Artifact     *evidence.SlotArtifact
	Status       evidence.Status
	Attestations []AttestationStatus
	Unexpected   bool
	// EvaluatedAt is zero if nothing was reported for the artifact.
	EvaluatedAt float64
}

// Each visits the statuses of attestations: those of the trail itself, with artifact "", then those of its artifacts.
func (r *Report) Each(visit func(artifact string, status *AttestationStatus)) {
	for i := range r.Attestations {
		visit("", &r.Attestations[i])
	}
	for i := range r.Artifacts {
		artifact := &r.Artifacts[i]
		for j := range artifact.Attestations {
			visit(artifact.Name, &artifact.Attestations[j])
		}
	}
}

// Counting are the ids of the attestations that count.
func (r *Report) Counting() map[string]bool {
	counting := map[string]bool{}
	r.Each(func(_ string, status *AttestationStatus) {
		if status.Entry != nil {
			counting[status.Entry.ID] = true
		}
	})
	return counting
}

// Describe makes the report on a trail. slots are its slots by artifact name.
func Describe(t *template.Template, trail *evidence.Trail, slots map[string]evidence.Slot) Report {
	report := Report{
		Status: Trail(t, trail), Attestations: attestations(counting(t.Trail.Attestations, trail.Entries, trail.Author())),
		EvaluatedAt: trail.EvaluatedAt, Template: trail.Template,
	}
	// The artifacts of the template come in its order, then the others by name.
	names := evidence.Map(t.Trail.Artifacts, func(required template.Artifact) string { return required.Name })
	for _, name := range trail.SlotNames() {
		if _, expected := t.Artifact(name); !expected {
			names = append(names, name)
		}
	}
	for _, name := range names {
		slot := slots[name]
		slot.Name = name
		report.Artifacts = append(report.Artifacts, describeSlot(t, trail, &slot))
	}
	return report
}

func describeSlot(t *template.Template, trail *evidence.Trail, slot *evidence.Slot) ArtifactStatus {
	current, reported := slot.Current()
	if reported {
		return DescribeArtifact(t, trail, slot, current)
	}
	required, expected := t.Artifact(slot.Name)
	return ArtifactStatus{
		Name: slot.Name, Status: evidence.Missing, Attestations: attestations(counting(required.Attestations, slot.Shown(), trail.Author())),
		Unexpected: !expected, EvaluatedAt: slot.EvaluatedAt,
	}
}

// DescribeArtifact is the status of one artifact of a slot.
func DescribeArtifact(t *template.Template, trail *evidence.Trail, slot *evidence.Slot, artifact evidence.SlotArtifact) ArtifactStatus {
	required, expected := t.Artifact(slot.Name)
	return ArtifactStatus{
		Name: slot.Name, Artifact: &artifact, Status: Artifact(t, trail, slot, artifact),
		Attestations: attestations(counting(required.Attestations, slot.Bound(artifact), trail.Author())),
		Unexpected:   !expected, EvaluatedAt: max(slot.EvaluatedAt, trail.EntriesAt),
	}
}

// attestations lists the required ones in the template's order, then the unexpected ones in order of time (rule 1).
func attestations(required []template.Attestation, entries []evidence.Entry) []AttestationStatus {
	listed := make([]AttestationStatus, 0, len(required)+len(entries))
	used := make(map[string]bool, len(required))
	for _, one := range required {
		status := AttestationStatus{Name: one.Name, Type: one.Type}
		if at := indexOf(one, entries); at >= 0 {
			entry := entries[at]
			used[entry.ID] = true
			status.Type, status.Entry = entry.Type, &entry
			if !entry.Compliant && one.FourEyes() {
				status.Lack = entry.Unapproved
			}
		}
		listed = append(listed, status)
	}
	for _, entry := range slices.SortedFunc(slices.Values(entries), evidence.CompareEntries) {
		if !used[entry.ID] {
			listed = append(listed, AttestationStatus{Name: entry.Name, Type: entry.Type, Entry: &entry, Unexpected: true})
		}
	}
	return listed
}

// Flow returns the facts for policies about an artifact in a trail, without the name and the tags of the flow. status
// is that of the artifact in the trail.
func Flow(t *template.Template, trail *evidence.Trail, slot *evidence.Slot, artifact evidence.SlotArtifact, status evidence.Status) policy.Flow {
	known := policy.Flow{
		Trail: trail.Name, Author: trail.Author(), Status: status,
		Attestations: slices.Concat(trail.Entries, slot.Bound(artifact)),
	}
	if status != evidence.Compliant {
		known.Shortfall = policy.NewShortfall(shortfall(t, trail, slot, artifact))
	}
	return known
}

// shortfall returns the attestations because of which an artifact is not compliant in its trail: those of the artifact
// or the trail that are not compliant, and required ones that are missing.
func shortfall(t *template.Template, trail *evidence.Trail, slot *evidence.Slot, artifact evidence.SlotArtifact) (failing []evidence.Entry, missing []string) {
	required, _ := t.Artifact(slot.Name)
	for _, status := range slices.Concat(
		attestations(counting(t.Trail.Attestations, trail.Entries, trail.Author())),
		attestations(counting(required.Attestations, slot.Bound(artifact), trail.Author())),
	) {
		switch {
		case status.Entry == nil:
			missing = append(missing, status.Name)
		case !status.Entry.Compliant:
			failing = append(failing, *status.Entry)
		}
	}
	return failing, missing
}
