package auditpackage

import (
	"cmp"
	"slices"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/tasks/auditpackage/pdf"
)

// maxShown is how many attestations, and how many events, the report of a trail shows. The package
// has all.
const maxShown = 2_000

// report renders the report of a trail. checksum is the SHA-256 of SHA256SUMS.
func (d *draft) report(checksum string) ([]byte, error) {
	trail := &d.trails[0]
	shown := slices.Clone(d.shown)
	slices.SortStableFunc(shown, func(a, b pdf.Attestation) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.ID, b.ID))
	})
	document := &pdf.Document{
		Organization: d.of.Organization, Flow: d.flow.Name, FlowDescription: d.flow.Description,
		Trail: trail.Name, TrailDescription: trail.Description, Link: d.links.Trail(d.of.Organization, d.flow.Name, trail.Name),
		BegunAt: trail.CreatedAt, BegunBy: trail.CreatedBy, AsOf: d.latest(), Generator: d.generator, Checksum: checksum,
		Commit: trail.Commit, Compliance: d.evaluations[trail.ID].Report, Artifacts: d.records,
		Attestations: shown, OmittedAttestations: len(d.attested) - len(shown),
		Approvals: d.approvals, EnvironmentNames: d.environments,
	}
	for _, control := range d.controls {
		one := pdf.Control{Identifier: control.Identifier, Name: control.Name, Version: control.Version, Archived: control.Archived}
		if control.Description != nil {
			one.Description = *control.Description
		}
		document.Controls = append(document.Controls, one)
	}
	for i := range d.judged.documents {
		document.Running = append(document.Running, d.running(&d.judged.documents[i]))
	}
	first := max(0, len(d.events)-maxShown)
	document.OmittedEvents = first
	for i := range d.events[first:] {
		document.Events = append(document.Events, pdf.NewEvent(&d.events[first+i]))
	}
	for _, lost := range d.lost {
		document.Lost = append(document.Lost, pdf.LostFile{
			Path: lost.Path, Attestation: lost.Attestation, SHA256: lost.SHA256, Altered: lost.Reason == audit.EvidenceAltered,
		})
	}
	return pdf.Render(document)
}

// running shows how an artifact is judged in an environment.
func (d *draft) running(document *audit.EnvironmentDocument) pdf.Running {
	running := pdf.Running{
		Environment: document.Environment, Fingerprint: document.Fingerprint, Artifact: document.Facts.Name,
		Since: document.StartedAt, Snapshot: document.Since, Compliant: document.Compliant,
	}
	if allowed := document.Allowed; allowed != nil {
		running.Allowed = &evidence.Allowance{Description: allowed.Reason, UserName: allowed.By, At: allowed.At}
	}
	for _, policy := range document.Policies {
		for _, finding := range policy.Findings {
			running.Sentences = append(running.Sentences, pdf.Sentence{
				Policy: policy.Policy, Version: policy.Version, Text: finding.Text, Remedy: finding.Remedy, Failing: finding.Failing,
			})
		}
	}
	return running
}
