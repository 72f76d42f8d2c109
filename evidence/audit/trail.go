package audit

import (
	"slices"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/policy"
	"attestry/evidence/template"
)

// Trail evaluates a trail by the facts of a package, as the service does (docs/semantics.md 7.2). The order of facts
// does not matter.
type Trail struct {
	flow     FlowDocument
	template template.Template
	trail    evidence.Trail
	records  []evidence.ArtifactRecord
	attested []attested
}

// attested is an attestation of artifacts, with their names.
type attested struct {
	entry   evidence.SlotEntry
	targets []string
}

// NewTrail begins the evaluation of a trail of a flow by its template. commit is that of the trail, nil if unknown.
func NewTrail(flow FlowDocument, name string, commit *evidence.GitCommit, templateID string, parsed template.Template) *Trail {
	return &Trail{flow: flow, template: parsed, trail: evidence.Trail{Name: name, Commit: commit, Template: templateID}}
}

// Report adds the report of an artifact.
func (t *Trail) Report(record *evidence.ArtifactRecord) { t.records = append(t.records, *record) }

// AttestEntry adds an attestation. Without fingerprint and targets it is about the trail.
func (t *Trail) AttestEntry(entry evidence.SlotEntry, targets []string) {
	if entry.Fingerprint == "" && len(targets) == 0 {
		t.trail.Entries = evidence.AddEntry(t.trail.Entries, entry.Entry)
		return
	}
	t.attested = append(t.attested, attested{entry, targets})
}

// Evaluation is the evaluation of a trail.
type Evaluation struct {
	Report compliance.Report
	trail  *Trail
	slots  map[string]evidence.Slot
	// names are those that each artifact has in the trail, by fingerprint.
	names map[string][]string
}

// Evaluate evaluates the trail by the facts that were added.
func (t *Trail) Evaluate() *Evaluation {
	names := map[string][]string{}
	for i := range t.records {
		record := &t.records[i]
		names[record.Fingerprint] = append(names[record.Fingerprint], record.Name)
	}
	for fingerprint, all := range names {
		slices.Sort(all)
		names[fingerprint] = slices.Compact(all)
	}
	slots := t.slots(names)
	trail := t.trail
	trail.Slots = nil
	for name, slot := range slots {
		trail.Summarize(name, compliance.Summarize(trail.Template, &t.template, trail.Author(), &slot))
	}
	return &Evaluation{Report: compliance.Describe(&t.template, &trail, slots), trail: t, slots: slots, names: names}
}

// Flow returns the facts for policies of an artifact under a name in the trail. It is not ok if the trail lacks it.
func (e *Evaluation) Flow(name, fingerprint string) (policy.Flow, bool) {
	slot := e.slots[name]
	artifact, ok := slot.Artifact(fingerprint)
	if !ok {
		return policy.Flow{}, false
	}
	t := e.trail
	flow := compliance.Flow(&t.template, &t.trail, &slot, artifact, compliance.Artifact(&t.template, &t.trail, &slot, artifact))
	flow.Name, flow.Tags = t.flow.Name, t.flow.Tags
	slices.SortFunc(flow.Attestations, evidence.CompareEntries)
	return flow, true
}

// slots makes the slots of all artifact names. names are those of each artifact, by fingerprint.
func (t *Trail) slots(names map[string][]string) map[string]evidence.Slot {
	slots := map[string]evidence.Slot{}
	change := func(name string, apply func(*evidence.Slot)) {
		slot := slots[name]
		slot.Name = name
		apply(&slot)
		slots[name] = slot
	}
	for i := range t.records {
		change(t.records[i].Name, func(s *evidence.Slot) { s.Report(t.records[i].SlotArtifact()) })
	}
	for _, one := range t.attested {
		targets := one.targets
		if one.entry.Fingerprint != "" {
			targets = names[one.entry.Fingerprint]
		}
		for _, name := range targets {
			change(name, func(s *evidence.Slot) { s.Attest(one.entry) })
		}
	}
	return slots
}

// Artifact returns the statuses of the artifact of a fingerprint, one for each of its names in the trail, in order.
func (e *Evaluation) Artifact(fingerprint string) []ArtifactStatus {
	var states []ArtifactStatus
	for _, name := range e.names[fingerprint] {
		slot := e.slots[name]
		artifact, _ := slot.Artifact(fingerprint)
		states = append(states, newArtifactStatus(compliance.DescribeArtifact(&e.trail.template, &e.trail.trail, &slot, artifact)))
	}
	return states
}
