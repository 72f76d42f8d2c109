package auditpackage

import (
	"cmp"
	"slices"

	"attestry/evidence"
	"attestry/storage/pipelines"
	"attestry/tasks/auditpackage/pdf"
)

// selectShown selects the attestations that the report of a trail shows: those that count, then the latest others.
func (d *draft) selectShown() {
	report := d.evaluations[d.trails[0].ID].Report
	counting := report.Counting()
	rank := func(a *pipelines.TrailAttestation) int {
		if counting[a.ID] {
			return 0
		}
		return 1
	}
	all := slices.Clone(d.attested)
	slices.SortFunc(all, func(a, b pipelines.TrailAttestation) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.Time, a.Time), cmp.Compare(b.ID, a.ID))
	})
	first := all[:min(len(all), pdf.MaxAttestations)]
	d.selected = evidence.SetOf(first, func(one *pipelines.TrailAttestation) string { return one.ID })
}

// report renders the report of a trail. checksum is the SHA-256 of SHA256SUMS.
func (d *draft) report(checksum string) ([]byte, error) {
	trail := &d.trails[0]
	_, document := d.trailDocument(trail)
	shown := slices.Clone(d.shown)
	slices.SortStableFunc(shown, func(a, b pdf.Attestation) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	notCompliant := 0
	for i := range d.attested {
		if !d.attested[i].Compliant {
			notCompliant++
		}
	}
	return pdf.Render(&pdf.Document{
		Trail: document, AsOf: d.latest(), Generator: d.Generator, Checksum: checksum,
		Compliance: d.evaluations[trail.ID].Report, Artifacts: d.records,
		Attestations: shown, Recorded: len(d.attested), NotCompliant: notCompliant, Files: d.files, FileBytes: d.fileBytes,
		Controls: d.controls, Approvals: d.approvals, EnvironmentNames: d.environments,
		Running: d.judged.documents, Events: d.events, Lost: d.lost,
	})
}
