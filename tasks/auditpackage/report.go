package auditpackage

import (
	"cmp"
	"slices"

	"attestry/tasks/auditpackage/pdf"
)

// maxShown is how many attestations the report of a trail shows. The package has all.
const maxShown = 2_000

// report renders the report of a trail. checksum is the SHA-256 of SHA256SUMS.
func (d *draft) report(checksum string) ([]byte, error) {
	trail := &d.trails[0]
	shown := slices.Clone(d.shown)
	slices.SortStableFunc(shown, func(a, b pdf.Attestation) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.ID, b.ID))
	})
	return pdf.Render(&pdf.Document{
		Organization: d.of.Organization, Flow: d.flow.Name, FlowDescription: d.flow.Description,
		Trail: trail.Name, TrailDescription: trail.Description, Link: d.links.Trail(d.of.Organization, d.flow.Name, trail.Name),
		BegunAt: trail.CreatedAt, BegunBy: trail.CreatedBy, AsOf: d.latest(), Generator: d.generator, Checksum: checksum,
		Commit: trail.Commit, Compliance: d.evaluations[trail.ID].Report, Artifacts: d.records,
		Attestations: shown, OmittedAttestations: len(d.attested) - len(shown),
		Controls: d.controls, Approvals: d.approvals, EnvironmentNames: d.environments,
		Running: d.judged.documents, Events: d.events, Lost: d.lost,
	})
}
