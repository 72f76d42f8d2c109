package pdf

import (
	"attestry/evidence"
	"attestry/evidence/compliance"
)

var expectedColumns = []column{{"Attestation", 58}, {"Required", 22}, {"Found", 60}, {"Verdict", 34}}

// expected lays out what the template requires and what was reported.
func (r *report) expected() {
	r.section("Expected and found")
	r.introduce("What the template of the trail requires, and what counts of that which was reported. " +
		"Attestations that are not required count too: one that is not compliant makes the trail non-compliant.")
	total := r.countExpected()
	terse := total > maxExpected
	rows := r.expectedGroup(terse, r.Compliance.Attestations, paragraph{text: "The trail itself", style: strong})
	for i := range r.Compliance.Artifacts {
		artifact := &r.Compliance.Artifacts[i]
		rows = append(rows, r.expectedGroup(terse, artifact.Attestations, artifactTitle(artifact)...)...)
	}
	rows = rows[:min(len(rows), maxExpected)]
	r.listRows(expectedColumns, rows, total-len(rows), "row", "")
}

// countExpected returns the number of rows, including those of the trail and of each artifact.
func (r *report) countExpected() int {
	rows := 1 + len(r.Compliance.Artifacts)
	r.Compliance.Each(func(string, *compliance.AttestationStatus) { rows++ })
	return rows
}

func artifactTitle(artifact *compliance.ArtifactStatus) []paragraph {
	paragraphs := []paragraph{{text: "Artifact " + artifact.Name, style: strong}, statusText(artifact.Status)}
	if artifact.Artifact == nil {
		paragraphs = append(paragraphs, smallText("No artifact was reported under this name."))
	} else {
		paragraphs = append(paragraphs, paragraph{text: artifact.Artifact.Fingerprint, style: digits})
	}
	if artifact.Unexpected {
		paragraphs = append(paragraphs, smallText("The template does not require this artifact."))
	}
	return paragraphs
}

// expectedGroup returns the rows of a group. terse omits required attestations that are compliant, as there are too
// many rows.
func (r *report) expectedGroup(terse bool, all []compliance.AttestationStatus, paragraphs ...paragraph) []row {
	if len(all) == 0 {
		paragraphs = append(paragraphs, smallText("No attestation is required, and none counts."))
	}
	rows := []row{groupRow(paragraphs...)}
	for i := range all {
		status := &all[i]
		if terse && status.Entry != nil && status.Entry.Compliant && !status.Unexpected && !status.Entry.Override {
			continue
		}
		rows = append(rows, r.expectedRow(status))
	}
	return rows
}

func (r *report) expectedRow(status *compliance.AttestationStatus) row {
	kind := "type " + status.Type
	if status.Type == "*" {
		kind = "any type"
	}
	required := "yes"
	if status.Unexpected {
		required = "no: unexpected"
	}
	found, verdict := r.found(status)
	return row{cells: []cell{
		{{text: status.Name, style: strong}, smallText(kind)},
		{{text: required, style: body}},
		found,
		{verdict},
	}}
}

// found describes what was reported for an attestation, and its verdict.
func (r *report) found(status *compliance.AttestationStatus) (cell, paragraph) {
	entry := status.Entry
	if entry == nil {
		return cell{{text: "nothing", style: body}}, statusText(evidence.Missing)
	}
	who := moment(entry.Time)
	if a := r.byID[entry.ID]; a != nil {
		who += labelled(" by", a.ReportedBy)
	}
	found := cell{{text: who, style: body}}
	if entry.Override {
		found = append(found, smallText("Override of "+r.replaced(entry.Overridden)))
	}
	if status.Lack != "" {
		found = append(found, smallText(status.Lack))
	}
	return found, statusText(evidence.StatusOf(entry.Compliant))
}

func (r *report) replaced(original string) string {
	if original == "" {
		return "a missing attestation"
	}
	a := r.byID[original]
	if a == nil {
		return "attestation " + original
	}
	return "the attestation of " + moment(a.CreatedAt) + ", " + string(evidence.StatusOf(a.Compliant))
}
