package auditpackage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/storage"
	"attestry/storage/pipelines"
	"attestry/storage/spool"
	"attestry/tasks/auditpackage/pdf"
)

// maxInMemory is the size in bytes up to which a file is buffered in memory: that of the largest file that clients can
// send. A larger one is in a temporary file.
const maxInMemory = 10 << 20

// write writes the archive of the package, and returns the report of a trail, nil for other packages.
func (d *draft) write(ctx context.Context, w io.Writer) (report []byte, err error) {
	out := newArchive(w)
	if len(d.approvals) > 0 {
		if err := writeJSON(out, audit.ApprovalsPath, d.latest(), d.approvals); err != nil {
			return nil, err
		}
	}
	if err := d.writeArtifacts(out); err != nil {
		return nil, err
	}
	for _, one := range d.types {
		if err := writeJSON(out, audit.TypePath(one.Name, one.Version), d.latest(), one); err != nil {
			return nil, err
		}
	}
	if err := d.writeAttestations(ctx, out); err != nil {
		return nil, err
	}
	documents, err := d.documents()
	if err != nil {
		return nil, err
	}
	afterLog, _ := slices.BinarySearchFunc(documents, audit.LogFolder, func(m member, folder string) int { return audit.CompareMembers(m.path, folder) })
	if err := out.addAll(documents[:afterLog]); err != nil {
		return nil, err
	}
	if d.proofs != nil {
		if err := d.writeLog(ctx, out); err != nil {
			return nil, err
		}
	}
	rest, report, err := d.rest(out.members, documents[afterLog:])
	if err != nil {
		return nil, err
	}
	if err := out.addAll(rest); err != nil {
		return nil, err
	}
	return report, out.close()
}

func writeJSON(out *archive, path string, at float64, value any) error {
	content, err := audit.Encode(value)
	if err != nil {
		return err
	}
	return out.add(path, at, content)
}

// writeArtifacts writes the artifacts with their states in the trails.
func (d *draft) writeArtifacts(out *archive) error {
	reports := map[string][]evidence.ArtifactRecord{}
	for i := range d.records {
		reports[d.records[i].Fingerprint] = append(reports[d.records[i].Fingerprint], d.records[i])
	}
	for _, fingerprint := range d.fingerprints() {
		document := audit.ArtifactDocument{
			SchemaVersion: audit.SchemaVersion, Fingerprint: fingerprint, Reports: reports[fingerprint], States: []audit.ArtifactState{},
		}
		for i := range d.trails {
			trail := &d.trails[i]
			for _, status := range d.evaluations[trail.ID].Artifact(fingerprint) {
				document.States = append(document.States, audit.ArtifactState{TrailID: trail.ID, Trail: trail.Name, ArtifactStatus: status})
			}
		}
		if err := writeJSON(out, audit.ArtifactPath(fingerprint), document.Reports[0].CreatedAt, document); err != nil {
			return err
		}
	}
	return nil
}

// writeAttestations writes the attestations with their evidence, in the order of their ids.
func (d *draft) writeAttestations(ctx context.Context, out *archive) error {
	ids := evidence.Map(d.attested, func(a pipelines.TrailAttestation) string { return a.ID })
	if d.of.Kind == audit.OfTrail {
		d.selectShown()
	}
	return d.store.Attestations.OfIDs(ids).Each(ctx, batchBytes, func(a *evidence.Attestation) error {
		return d.writeAttestation(ctx, out, a)
	})
}

// writeAttestation writes an attestation and its evidence, or adds lost evidence to d.lost.
func (d *draft) writeAttestation(ctx context.Context, out *archive, attestation *evidence.Attestation) error {
	content, lost, err := d.openEvidence(ctx, attestation)
	if err != nil {
		return err
	}
	if content != nil {
		defer content.Close()
	}
	path := ""
	if file := attestation.Evidence; file != nil {
		path = audit.EvidencePath(attestation.ID)
		d.files++
		d.fileBytes += file.Size
		if lost != "" {
			d.lost = append(d.lost, audit.LostEvidence{
				Attestation: attestation.ID, Path: path, Size: file.Size, SHA256: file.SHA256, Reason: lost,
			})
		}
	}
	if d.selected[attestation.ID] {
		d.shown = append(d.shown, pdf.NewAttestation(attestation, path, lost != ""))
	}
	document := audit.NewAttestationDocument(*attestation, lost)
	if err := writeJSON(out, audit.AttestationPath(attestation.ID), attestation.CreatedAt, document); err != nil || content == nil {
		return err
	}
	return out.stream(path, attestation.CreatedAt, content.Size, content)
}

// openEvidence reads the evidence of an attestation. content is nil if it has none, or if it is lost; then lost is why.
func (d *draft) openEvidence(ctx context.Context, attestation *evidence.Attestation) (content *spool.Spool, lost string, err error) {
	file := attestation.Evidence
	if file == nil {
		return nil, "", nil
	}
	opened, err := d.objects.Get(ctx, file.Object, 0, -1)
	if err == nil {
		content, err = spool.NewIn(&d.held, opened, maxInMemory)
		err = errors.Join(err, opened.Close())
	}
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return nil, audit.EvidenceMissing, nil
	case errors.Is(err, storage.ErrDamaged):
		return nil, audit.EvidenceAltered, nil
	case err != nil:
		return nil, "", fmt.Errorf("read the evidence of attestation %s: %w", attestation.ID, err)
	}
	return content, "", nil
}

// member is a member that is in memory until those before it are written.
type member struct {
	path    string
	at      float64 // Unix seconds
	content []byte
}

// rest returns the members after the written ones, sorted: documents, checksums, report, signature and manifest.
func (d *draft) rest(written []audit.Member, documents []member) (rest []member, report []byte, err error) {
	all := slices.Clone(written)
	add := func(members ...member) {
		rest = append(rest, members...)
		all = append(all, evidence.Map(members, func(m member) audit.Member { return audit.NewMember(m.path, m.content) })...)
		slices.SortFunc(all, func(a, b audit.Member) int { return audit.CompareMembers(a.Path, b.Path) })
	}
	add(documents...)
	checksums := audit.Checksums(all)
	add(member{audit.ChecksumsPath, d.latest(), checksums})
	if d.of.Kind == audit.OfTrail {
		if report, err = d.report(evidence.SHA256(checksums)); err != nil {
			return nil, nil, err
		}
		add(member{audit.ReportPath, d.latest(), report})
	}
	if d.proofs != nil {
		signed, err := d.signature(checksums, report)
		if err != nil {
			return nil, nil, err
		}
		add(member{audit.SignaturePath, d.latest(), signed})
	}
	manifest, err := d.manifest(all).Encode()
	rest = append(rest, member{audit.ManifestPath, d.latest(), manifest})
	slices.SortFunc(rest, compareMembers)
	return rest, report, err
}

func compareMembers(a, b member) int { return audit.CompareMembers(a.path, b.path) }

func (d *draft) manifest(members []audit.Member) audit.Manifest {
	manifest := audit.Manifest{
		SchemaVersion: audit.SchemaVersion, Generator: d.Generator, Subject: d.of, CreatedAt: d.latest(), Members: members,
		OmittedTrails: d.omittedTrails, LostEvidence: append([]audit.LostEvidence{}, d.lost...),
	}
	if d.of.Kind == audit.OfTrail {
		manifest.Status = d.evaluations[d.trails[0].ID].Report.Status
	}
	return manifest
}

// documents returns the members that are made from the loaded facts, besides artifacts and types, in their order.
func (d *draft) documents() ([]member, error) {
	values := map[string]any{}
	if d.of.Kind != audit.OfAttestation {
		values[audit.EventsPath] = d.eventDocuments()
		values[audit.EnvironmentsPath] = append([]audit.EnvironmentDocument{}, d.judged.documents...)
	}
	for _, control := range d.controls {
		values[audit.ControlPath(control.Identifier)] = control
	}
	for i := range d.trails {
		path, document := d.trailDocument(&d.trails[i])
		values[path] = document
	}
	made := []member{{audit.InstructionsPath, d.latest(), audit.Instructions}}
	for path, value := range values {
		content, err := audit.Encode(value)
		if err != nil {
			return nil, err
		}
		made = append(made, member{path, d.latest(), content})
	}
	for _, stored := range d.templates {
		made = append(made, member{audit.TemplatePath(stored.ID), d.latest(), stored.Content})
	}
	for _, version := range d.policies {
		made = append(made, member{audit.PolicyPath(version.Policy, version.Version), version.CreatedAt, version.Content})
	}
	slices.SortFunc(made, compareMembers)
	return made, nil
}

func (d *draft) trailDocument(trail *evidence.Trail) (path string, document audit.TrailDocument) {
	link := d.Links.Trail(d.of.Organization, d.flow.Name, trail.Name)
	document = audit.NewTrailDocument(d.of.Organization, &d.flow, trail, link)
	if d.of.Kind != audit.OfTrail {
		return audit.TrailOf(trail.ID), document
	}
	document.Compliance = audit.NewComplianceDocument(&d.evaluations[trail.ID].Report)
	return audit.TrailPath, document
}

func (d *draft) eventDocuments() []audit.EventDocument {
	ids := d.trailIDs()
	documents := make([]audit.EventDocument, 0, len(d.events))
	for i := range d.events {
		documents = append(documents, audit.EventDocument{
			TrailID: ids[d.events[i].Trail], TrailEvent: d.events[i], Summary: pdf.EventText(&d.events[i]),
		})
	}
	return documents
}
