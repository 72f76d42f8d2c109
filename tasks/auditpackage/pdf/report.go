package pdf

import "attestry/evidence"

// Bounds of what a report shows. The package has all of it.
const (
	// MaxAttestations is how many attestations a report shows.
	MaxAttestations = 2_000
	maxEvents       = 2_000
	maxArtifacts    = 2_000
	maxExpected     = 4_000 // rows of what was expected and found
	maxOthers       = 500   // of overrides, decisions and the like, each
)

// report is a document that is being laid out.
type report struct {
	*Document
	layout
	// byID has the attestations by id, counting those of the verdict now, overridden those that were overridden.
	byID       map[string]*Attestation
	counting   map[string]bool
	overridden map[string]bool
}

func newReport(d *Document) *report {
	r := &report{Document: d, byID: map[string]*Attestation{}, counting: d.Compliance.Counting(), overridden: map[string]bool{}}
	for i := range d.Attestations {
		a := &d.Attestations[i]
		r.byID[a.ID] = a
		if a.Override != nil && a.Override.Original != "" {
			r.overridden[a.Override.Original] = true
		}
	}
	return r
}

func (r *report) write() {
	r.cover()
	r.newSheet()
	r.expected()
	r.lost()
	r.artifacts()
	r.attestations()
	r.overrides()
	r.decisions()
	r.approvals()
	r.changes()
	r.environments()
	r.timeline()
	r.newSheet()
	r.verification()
}

// factColumns are those of tables without titles.
var factColumns = []column{{"", 38}, {"", bodyWidth - 38}}

func fact(label string, paragraphs ...paragraph) row {
	return row{cells: []cell{{{text: label, style: smallStrong}}, paragraphs}}
}

// textFact appends a fact with one text, unless that is "".
func textFact(rows []row, label, text string) []row {
	if text == "" {
		return rows
	}
	return append(rows, fact(label, paragraph{text: text, style: body}))
}

func statusText(status evidence.Status) paragraph {
	return paragraph{text: string(status), style: strong.in(colorOf(status))}
}

func smallText(text string) paragraph { return paragraph{text: text, style: small, space: 0.4} }

// list lays out the cells of the first items as listRows does.
func list[T any](l *layout, columns []column, items []T, most int, noun, none string, cells func(T) []cell) {
	shown, more := first(items, most)
	l.listRows(columns, evidence.Map(shown, func(one T) row { return row{cells: cells(one)} }), more, noun, none)
}

// listRows lays out a table and says how many more of a noun there are. none is the text if there are no rows.
func (l *layout) listRows(columns []column, rows []row, more int, noun, none string) {
	if len(rows) == 0 {
		l.note(none)
	}
	l.table(columns, rows)
	l.omitted(more, noun)
}
