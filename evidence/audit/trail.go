package audit

import (
	"slices"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/policy"
	"attestry/evidence/template"
)

// Trail evaluates a trail by the facts of a package alone, as the service evaluates it by what it
// keeps (docs/semantics.md 7.2). Facts can be added in any order.
type Trail struct {
	template template.Template
	trail    evidence.Trail
	records  []evidence.ArtifactRecord
	// attested are the attestations that are not about the trail itself, with the artifact names
	// that those made by name are about.
	attested []attested
}

type attested struct {
	entry   evidence.SlotEntry
	targets []string
}

// NewTrail begins the evaluation of a trail under its template.
func NewTrail(templateID string, parsed template.Template) *Trail {
	return &Trail{template: parsed, trail: evidence.Trail{Template: templateID}}
}

// Report adds the report of an artifact.
func (t *Trail) Report(record *evidence.ArtifactRecord) { t.records = append(t.records, *record) }

// Attest adds an attestation.
func (t *Trail) Attest(attestation *evidence.Attestation) {
	t.AttestEntry(attestation.SlotEntry(), attestation.Targets)
}

// AttestEntry adds what is to be known of an attestation. Without a fingerprint and targets it is
// about the trail itself.
func (t *Trail) AttestEntry(entry evidence.SlotEntry, targets []string) {
	switch {
	case entry.Fingerprint != "":
		t.attested = append(t.attested, attested{entry: entry})
	case len(targets) > 0:
		t.attested = append(t.attested, attested{entry: entry, targets: targets})
	default:
		t.trail.Entries = evidence.AddEntry(t.trail.Entries, entry.Entry)
	}
}

// Evaluation is what the facts of a trail come to.
type Evaluation struct {
	Report compliance.Report
	trail  *Trail
	slots  map[string]evidence.Slot
}

// Evaluate evaluates the trail by what was added.
func (t *Trail) Evaluate() *Evaluation {
	slots := t.slots()
	trail := t.trail
	trail.Slots = nil
	for name, slot := range slots {
		trail.Summarize(name, compliance.Summarize(trail.Template, &t.template, &slot))
	}
	return &Evaluation{Report: compliance.Describe(&t.template, &trail, slots), trail: t, slots: slots}
}

// Flow is what policies evaluate of the artifact of a fingerprint in the trail, under one of its
// names there. It is not ok if the trail does not have that.
func (e *Evaluation) Flow(flow FlowDocument, trail, name, fingerprint string) (policy.Flow, bool) {
	slot := e.slots[name]
	artifact, ok := slot.Artifact(fingerprint)
	if !ok {
		return policy.Flow{}, false
	}
	of := e.trail
	known := policy.Flow{
		Name: flow.Name, Tags: flow.Tags, Trail: trail,
		Status:       compliance.Artifact(&of.template, &of.trail, &slot, artifact),
		Attestations: slices.Concat([]evidence.Entry{}, of.trail.Entries, slot.Bound(artifact)),
	}
	slices.SortFunc(known.Attestations, evidence.CompareEntries)
	if known.Status != evidence.Compliant {
		known.Shortfall = policy.NewShortfall(compliance.Shortfall(&of.template, &of.trail, &slot, artifact))
	}
	return known, true
}

// slots makes the slots of all artifact names.
func (t *Trail) slots() map[string]evidence.Slot {
	slots := map[string]*evidence.Slot{}
	slot := func(name string) *evidence.Slot {
		if slots[name] == nil {
			slots[name] = &evidence.Slot{Name: name}
		}
		return slots[name]
	}
	named := map[string][]string{} // by fingerprint
	for i := range t.records {
		record := &t.records[i]
		slot(record.Name).Report(record.SlotArtifact())
		if !slices.Contains(named[record.Fingerprint], record.Name) {
			named[record.Fingerprint] = append(named[record.Fingerprint], record.Name)
		}
	}
	for _, one := range t.attested {
		names := one.targets
		if one.entry.Fingerprint != "" {
			names = named[one.entry.Fingerprint]
		}
		for _, name := range names {
			slot(name).Attest(one.entry)
		}
	}
	complete := make(map[string]evidence.Slot, len(slots))
	for name, one := range slots {
		complete[name] = *one
	}
	return complete
}

// Artifact evaluates the artifact of a fingerprint under each of its names in the trail, in their
// order.
func (e *Evaluation) Artifact(fingerprint string) []ArtifactStatus {
	var names []string
	for _, record := range e.trail.records {
		if record.Fingerprint == fingerprint {
			names = append(names, record.Name)
		}
	}
	slices.Sort(names)
	var states []ArtifactStatus
	for _, name := range slices.Compact(names) {
		slot := e.slots[name]
		artifact, _ := slot.Artifact(fingerprint)
		status := compliance.DescribeArtifact(&e.trail.template, &e.trail.trail, &slot, artifact)
		states = append(states, newArtifactStatus(&status))
	}
	return states
}
