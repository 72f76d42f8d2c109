package pdf

import (
	"cmp"
	"strings"

	"attestry/evidence"
)

var attestationColumns = []column{{"Attestation", 44}, {"Result", 36}, {"Details and evidence", 94}}

func (r *report) attestations() {
	r.section("Attestations")
	if len(r.Attestations) > 0 {
		r.introduce("All attestations in order of time. Those that do not count now were replaced by a later one, or are about an artifact that was.")
	}
	list(&r.layout, attestationColumns, r.Attestations, MaxAttestations, "attestation", "No attestation was recorded.", func(a Attestation) []cell {
		return []cell{attestationName(&a), r.result(&a), r.details(&a)}
	})
	r.omitted(r.Recorded-len(r.Attestations), "attestation")
}

func attestationName(a *Attestation) cell {
	return cell{{text: a.Name, style: strong}, smallText("type " + a.Type + version(a.TypeVersion)), smallText("of " + target(a))}
}

func target(a *Attestation) string {
	if a.OfTrail() {
		return "the trail"
	}
	names := strings.Join(a.Targets, ", ")
	if a.OmittedTargets > 0 {
		names += " and " + decimal(a.OmittedTargets) + " more"
	}
	return "artifact " + cmp.Or(names, a.ArtifactName)
}

// result is the verdict, and who reported it when.
func (r *report) result(a *Attestation) cell {
	cell := cell{statusText(evidence.StatusOf(a.Compliant)), smallText(moment(a.CreatedAt)), smallText(labelled("by", a.ReportedBy))}
	switch {
	case a.Override != nil:
		cell = append(cell, smallText("override"))
	case r.overridden[a.ID]:
		cell = append(cell, smallText("overridden"))
	}
	if !r.counting[a.ID] {
		cell = append(cell, smallText("does not count now"))
	}
	return cell
}

func (r *report) details(a *Attestation) cell {
	cell := cell{{text: evidence.ZeroIfNil(a.Description), style: body}}
	for _, line := range a.Summary {
		cell = append(cell, paragraph{text: line, style: body})
	}
	if a.Override != nil {
		cell = append(cell, paragraph{text: "Overrides " + r.replaced(a.Override.Original) + ".", style: body})
	}
	if a.Control != "" {
		cell = append(cell, smallText("Decides control "+a.Control+version(a.ControlVersion)))
	}
	if a.Fingerprint != "" {
		cell = append(cell, smallText("Artifact"), paragraph{text: a.Fingerprint, style: digits})
	}
	cell = append(cell, smallText(labelled("Origin", evidence.ZeroIfNil(a.OriginURL))))
	cell = append(cell, fileDetails(a)...)
	return append(cell, smallText("Id "+a.ID))
}

// version names a version after its subject, unless it is 0.
func version(number int) string {
	if number == 0 {
		return ""
	}
	return ", version " + decimal(number)
}

// fileDetails names a file of evidence with its SHA-256.
func fileDetails(a *Attestation) []paragraph {
	file := a.Evidence
	if file == nil {
		return []paragraph{smallText("No evidence file")}
	}
	paragraphs := []paragraph{smallText("File " + cmp.Or(a.Path, file.Filename) + ", " + size(file.Size)), {text: file.SHA256, style: digits}}
	if a.Lost {
		paragraphs = append(paragraphs, paragraph{text: "The package does not have this file: it is missing or altered in the object store.", style: smallStrong.in(red)})
	}
	return paragraphs
}

var overrideColumns = []column{{"Attestation", 42}, {"Verdict", 36}, {"What it replaces", 36}, {"Reason", 60}}

// overrides lays out which verdicts were replaced, and why.
func (r *report) overrides() {
	r.section("Overrides")
	var overrides []*Attestation
	for i := range r.Attestations {
		if a := &r.Attestations[i]; a.Override != nil {
			overrides = append(overrides, a)
		}
	}
	list(&r.layout, overrideColumns, overrides, maxOthers, "override", "No verdict was overridden.", func(a *Attestation) []cell {
		return []cell{
			attestationName(a),
			r.result(a),
			{{text: r.replaced(a.Override.Original), style: body}, smallText(labelled("Id", a.Override.Original))},
			{{text: orDash(a.Override.Reason), style: body}},
		}
	})
}
