// Package compliance evaluates trails and their artifacts by their template (docs/semantics.md 7.2). All stored
// verdicts are results of these functions.
package compliance

import (
	"slices"

	"attestry/evidence"
	"attestry/evidence/independent"
	"attestry/evidence/template"
)

// Summarize evaluates a slot without its trail, by the template of the id. author is that of the trail's commit.
func Summarize(id string, t *template.Template, author string, slot *evidence.Slot) evidence.SlotSummary {
	summary := evidence.SlotSummary{
		Version: slot.Version, Template: id, EvaluatedAt: slot.EvaluatedAt,
		HasOlder: slot.Pruned || len(slot.Artifacts) > 1, Entries: len(slot.Entries),
	}
	if current, ok := slot.Current(); ok {
		summary.Fingerprint, summary.Record, summary.Filename = current.Fingerprint, current.Record, current.Filename
		summary.Commit, summary.ReportedAt = current.Commit, current.Time
	}
	required, _ := t.Artifact(slot.Name)
	shown := slot.Shown()
	verdict := evaluate(counting(required.Attestations, shown, author))
	summary.Failing, summary.Lacking, summary.Approved = verdict.failing, verdict.lacking, independent.Approved(shown)
	return summary
}

// Update sets the status and the approval of a trail, by its template.
func Update(t *template.Template, trail *evidence.Trail) {
	trail.Status, trail.Approved = Trail(t, trail), Approved(trail)
}

// Approved reports whether a trail has independent approval: by an attestation of the trail or of one of its artifacts,
// or because a machine account is the author.
func Approved(trail *evidence.Trail) bool {
	for _, summary := range trail.Slots {
		if summary.Approved {
			return true
		}
	}
	return independent.MachineAccount(trail.Author()) || independent.Approved(trail.Entries)
}

// Trail evaluates a trail whose slots were summarized by the same template. An artifact that was attested by name or is
// required by the template, but was not reported, is missing.
func Trail(t *template.Template, trail *evidence.Trail) evidence.Status {
	verdict := evaluate(counting(t.Trail.Attestations, trail.Entries, trail.Author()))
	for _, summary := range trail.Slots {
		verdict.failing = verdict.failing || summary.Failing
		verdict.lacking = verdict.lacking || summary.Lacking || summary.Fingerprint == ""
	}
	for _, required := range t.Trail.Artifacts {
		verdict.lacking = verdict.lacking || trail.Slots[required.Name].Fingerprint == ""
	}
	return verdict.status()
}

// Artifact evaluates an artifact of a trail: its attestations and the trail's must exist and be compliant (rule 4).
func Artifact(t *template.Template, trail *evidence.Trail, slot *evidence.Slot, artifact evidence.SlotArtifact) evidence.Status {
	required, _ := t.Artifact(slot.Name)
	own := evaluate(counting(required.Attestations, slot.Bound(artifact), trail.Author()))
	return own.with(evaluate(counting(t.Trail.Attestations, trail.Entries, trail.Author()))).status()
}

// State evaluates the artifact of a fingerprint in its trail (docs/semantics.md 5.3) by the slot that it was reported
// to. If it is not complete, the status has to be evaluated by a slot of evidence.RebuildSlot.
func State(t *template.Template, trail *evidence.Trail, slot *evidence.Slot, fingerprint string) (artifact evidence.SlotArtifact, status evidence.Status, complete bool) {
	artifact, complete = slot.Complete(fingerprint)
	return artifact, Artifact(t, trail, slot, artifact), complete
}

// NewestState is State by the trail's summary of the slot of a name. It is ok only for the newest artifact of the name,
// as the trail has no summary of others.
func NewestState(t *template.Template, trail *evidence.Trail, name, fingerprint string) (status evidence.Status, ok bool) {
	summary := trail.Slots[name]
	if summary.Fingerprint != fingerprint || summary.Template != trail.Template {
		return "", false
	}
	own := verdict{failing: summary.Failing, lacking: summary.Lacking}
	return own.with(evaluate(counting(t.Trail.Attestations, trail.Entries, trail.Author()))).status(), true
}

// verdict is the evaluation of a set of attestations.
type verdict struct {
	failing bool // an attestation, required or not, is not compliant (rule 2)
	lacking bool // a required one is missing
}

func (v verdict) with(other verdict) verdict {
	return verdict{failing: v.failing || other.failing, lacking: v.lacking || other.lacking}
}

// status is the status of the verdict. Failing takes precedence over lacking (rule 6).
func (v verdict) status() evidence.Status {
	switch {
	case v.failing:
		return evidence.NonCompliant
	case v.lacking:
		return evidence.Incomplete
	default:
		return evidence.Compliant
	}
}

// counting applies the rules on independent approval and separation of duties for the commits of an author. It returns
// the requirements that apply and the entries with their resulting verdicts. A pull request without the required
// approvals is not compliant, nor is a decision of somebody who wrote or approved the code. A machine account needs no
// pull request (docs/semantics.md 18.12, 18.14).
func counting(required []template.Attestation, entries []evidence.Entry, author string) ([]template.Attestation, []evidence.Entry) {
	if !slices.ContainsFunc(required, template.Attestation.FourEyes) {
		return required, entries
	}
	contributors := independent.Contributors{Entries: entries, Author: author}
	entries = slices.Clone(entries)
	needed := make([]template.Attestation, 0, len(required))
	for _, one := range required {
		exempt, at := one.Independent.Exempts(author), indexOf(one, entries)
		if at >= 0 && exempt && !entries[at].Override {
			entries[at].Compliant, entries[at].Finding = true, ""
		} else if at >= 0 {
			lack := one.Independent.Lack(&entries[at])
			if one.Separated {
				lack = contributors.Unseparated(&entries[at])
			}
			if lack != "" {
				entries[at].Compliant, entries[at].Finding, entries[at].Unapproved = false, lack, lack
			}
		}
		if at >= 0 || !exempt {
			needed = append(needed, one)
		}
	}
	return needed, entries
}

func evaluate(required []template.Attestation, entries []evidence.Entry) verdict {
	var v verdict
	for _, entry := range entries {
		v.failing = v.failing || !entry.Compliant
	}
	for _, one := range required {
		v.lacking = v.lacking || indexOf(one, entries) < 0
	}
	return v
}

// indexOf is the index of the entry for a requirement, or -1. An entry of a wrong type does not count (rule 3).
func indexOf(required template.Attestation, entries []evidence.Entry) int {
	i := slices.IndexFunc(entries, func(e evidence.Entry) bool { return e.Name == required.Name })
	if i < 0 || !required.Fits(entries[i].Type) {
		return -1
	}
	return i
}

// Overridden returns the attestation that an override replaces: the latest of its name, type and target, or the zero
// Entry if a required one is missing. ok is false if there is neither (docs/semantics.md 6.4). names are the artifacts
// that the override is about, none for the trail, and entries the attestations of each. If the override names
// artifacts, each must have or require the attestation. If it has a fingerprint, one of the names is enough.
func Overridden(t *template.Template, trail *evidence.Trail, override *evidence.Attestation, names []string, entries map[string][]evidence.Entry) (original evidence.Entry, ok bool) {
	if override.OfTrail() {
		return overriddenAmong(t.Trail.Attestations, trail.Entries, override)
	}
	for _, name := range names {
		required, _ := t.Artifact(name)
		found, known := overriddenAmong(required.Attestations, entries[name], override)
		if !known && override.Fingerprint == "" {
			return evidence.Entry{}, false
		}
		ok = ok || known
		if original.ID == "" {
			original = found
		}
	}
	return original, ok
}

// overriddenAmong is Overridden for one artifact or the trail.
func overriddenAmong(required []template.Attestation, entries []evidence.Entry, override *evidence.Attestation) (evidence.Entry, bool) {
	for _, entry := range entries {
		if entry.Name == override.Name && entry.Type == override.Type {
			return entry, true
		}
	}
	return evidence.Entry{}, slices.ContainsFunc(required, func(one template.Attestation) bool {
		return one.Name == override.Name && one.Fits(override.Type) && indexOf(one, entries) < 0
	})
}
