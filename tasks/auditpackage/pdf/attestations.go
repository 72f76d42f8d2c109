package pdf

import (
	"slices"
	"strings"
)

var attestationColumns = []column{{"Attestation", 44}, {"Result", 36}, {"Details and evidence", 94}}

func (r *report) attestations() {
	r.section("Attestations")
	if len(r.Attestations) == 0 {
		r.note("No attestation was recorded.")
		return
	}
	r.introduce("All attestations in order of time. Those that do not count now were replaced by a later one, or are about an artifact that was.")
	var rows []row
	shown := r.shownAttestations()
	for _, a := range shown {
		rows = append(rows, row{cells: []cell{attestationName(a), r.result(a), r.details(a)}})
	}
	r.table(attestationColumns, rows)
	r.omitted(len(r.Attestations)-len(shown)+r.OmittedAttestations, "attestation")
}

// shownAttestations are those that count, then the latest others, up to maxAttestations, in
// order of time.
func (r *report) shownAttestations() []*Attestation {
	room := maxAttestations
	shown := make([]bool, len(r.Attestations))
	for _, counting := range []bool{true, false} {
		for i := range slices.Backward(r.Attestations) {
			if room > 0 && r.counting[r.Attestations[i].ID] == counting {
				shown[i] = true
				room--
			}
		}
	}
	var chosen []*Attestation
	for i := range r.Attestations {
		if shown[i] {
			chosen = append(chosen, &r.Attestations[i])
		}
	}
	return chosen
}

func attestationName(a *Attestation) cell {
	kind := "type " + a.Type
	if a.TypeVersion > 0 {
		kind += ", version " + decimal(a.TypeVersion)
	}
	return cell{{text: a.Name, style: strong}, smallText(kind), smallText("of " + target(a))}
}

func target(a *Attestation) string {
	if a.ofTrail() {
		return "the trail"
	}
	names := strings.Join(a.Targets, ", ")
	if a.OmittedTargets > 0 {
		names += " and " + decimal(a.OmittedTargets) + " more"
	}
	if names == "" {
		names = a.ArtifactName
	}
	return "artifact " + names
}

// result is the verdict, and who reported it when.
func (r *report) result(a *Attestation) cell {
	cell := cell{statusText(a.verdict()), smallText(moment(a.Time)), smallText(labelled("by", a.Reporter))}
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
	cell := cell{{text: a.Description, style: body}}
	for _, line := range a.Summary {
		cell = append(cell, paragraph{text: line, style: body})
	}
	if a.Override != nil {
		cell = append(cell, paragraph{text: "Overrides " + r.replaced(a.Override.Original) + ".", style: body})
	}
	cell = append(cell, smallText(labelled("Decides control", a.Control+controlVersion(a))))
	if a.Control == "" {
		cell = cell[:len(cell)-1]
	}
	if a.Fingerprint != "" {
		cell = append(cell, smallText("Artifact"), paragraph{text: a.Fingerprint, style: digits})
	}
	cell = append(cell, smallText(labelled("Origin", a.OriginURL)))
	cell = append(cell, fileDetails(a.Evidence)...)
	return append(cell, smallText("Id "+a.ID))
}

func controlVersion(a *Attestation) string {
	if a.ControlVersion == 0 {
		return ""
	}
	return ", version " + decimal(a.ControlVersion)
}

// fileDetails names a file of evidence with its SHA-256.
func fileDetails(file *File) []paragraph {
	if file == nil {
		return []paragraph{smallText("No evidence file")}
	}
	name := file.Path
	if name == "" {
		name = file.Filename
	}
	paragraphs := []paragraph{smallText("File " + name + ", " + size(file.Size)), {text: file.SHA256, style: digits}}
	if file.Lost {
		paragraphs = append(paragraphs, paragraph{text: "The package does not have this file: it is missing or altered in the object store.", style: smallStrong.in(red)})
	}
	return paragraphs
}

var overrideColumns = []column{{"Attestation", 42}, {"Verdict", 36}, {"What it replaces", 36}, {"Reason", 60}}

// overrides lays out which verdicts were replaced, and why.
func (r *report) overrides() {
	r.section("Overrides")
	var rows []row
	more := 0
	for i := range r.Attestations {
		a := &r.Attestations[i]
		if a.Override == nil {
			continue
		}
		if len(rows) == maxOthers {
			more++
			continue
		}
		rows = append(rows, row{cells: []cell{
			attestationName(a),
			r.result(a),
			{{text: r.replaced(a.Override.Original), style: body}, smallText(labelled("Id", a.Override.Original))},
			{{text: orDash(a.Override.Reason), style: body}},
		}})
	}
	if len(rows) == 0 {
		r.note("No verdict was overridden.")
		return
	}
	r.table(overrideColumns, rows)
	r.omitted(more, "override")
}
