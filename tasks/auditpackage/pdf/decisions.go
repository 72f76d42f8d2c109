package pdf

import (
	"attestry/evidence"
	"attestry/evidence/audit"
)

var decisionColumns = []column{{"Decision", 50}, {"Result", 36}, {"Details", 88}}

func (r *report) decisions() {
	r.section("Decisions and controls")
	var identifiers []string
	decisions := map[string][]*Attestation{} // by control
	controls := map[string]*audit.ControlDocument{}
	for i := range r.Controls {
		control := &r.Controls[i]
		controls[control.Identifier] = control
		identifiers = append(identifiers, control.Identifier)
	}
	for i := range r.Attestations {
		a := &r.Attestations[i]
		if a.Control == "" {
			continue
		}
		if decisions[a.Control] == nil && controls[a.Control] == nil {
			identifiers = append(identifiers, a.Control)
		}
		decisions[a.Control] = append(decisions[a.Control], a)
	}
	shown, more := first(identifiers, maxOthers)
	for _, identifier := range identifiers[len(shown):] {
		more += len(decisions[identifier])
	}
	var rows []row
	for _, identifier := range shown {
		rows = append(rows, groupRow(controlTitle(identifier, controls[identifier])...))
		latest, older := lastOf(decisions[identifier], maxOthers/10)
		more += older
		for _, a := range latest {
			rows = append(rows, row{cells: []cell{attestationName(a), r.result(a), r.decisionDetails(a)}})
		}
	}
	r.listRows(decisionColumns, rows, more, "row", "No decision was recorded.")
}

// controlTitle names a control, which is nil if there is none of that identifier.
func controlTitle(identifier string, control *audit.ControlDocument) []paragraph {
	if control == nil {
		return []paragraph{{text: "Control " + identifier, style: strong}, smallText("There is no control of this identifier.")}
	}
	state := "Version " + decimal(control.Version)
	if control.Archived {
		state += ", archived"
	}
	return []paragraph{
		{text: "Control " + identifier + labelled(":", control.Name), style: strong},
		smallText(state), smallText(shorten(evidence.ZeroIfNil(control.Description), maxDescription)),
	}
}

func (r *report) decisionDetails(a *Attestation) cell {
	cell := cell{{text: evidence.ZeroIfNil(a.Description), style: body}}
	if a.Override != nil {
		cell = append(cell, paragraph{text: "Overrides " + r.replaced(a.Override.Original) + ": " + a.Override.Reason, style: body})
	}
	version := "The control did not exist then"
	if a.ControlVersion > 0 {
		version = "Decided on version " + decimal(a.ControlVersion) + " of the control"
	}
	return append(cell, smallText(version), smallText("Id "+a.ID))
}

func lastOf[T any](items []T, most int) (last []T, more int) {
	more = max(0, len(items)-most)
	return items[more:], more
}
