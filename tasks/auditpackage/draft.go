package auditpackage

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/audit"
	"attestry/evidence/policy"
	"attestry/storage"
	"attestry/tasks/auditpackage/pdf"
)

// batchBytes bounds the attestations in memory at a time, in bytes.
const batchBytes = 4 << 20

// draft is a package while it is assembled.
type draft struct {
	*Assembler
	// objects returns evidence that is verified while it is read. It must not be used before it was read to its end.
	objects storage.Objects

	*facts
	judged    *judged
	controls  []audit.ControlDocument // by identifier
	approvals []approval.Approval     // in the order of the events
	// environments are the names of the environments of approvals, by id.
	environments map[string]string
	policies     []policy.Version
	types        []audit.TypeDocument
	proofs       *proofs // nil if the organization has no log, or this worker no key for it

	// held is the buffer of the current evidence file, reused for each.
	held bytes.Buffer
	// selected are the ids of the attestations that the report of a trail shows.
	selected map[string]bool
	// shown, lost, files and fileBytes are filled while attestations are written.
	shown     []pdf.Attestation
	lost      []audit.LostEvidence
	files     int
	fileBytes int64
}

// load reads everything but the attestations and their evidence.
func (d *draft) load(ctx context.Context, assembly *audit.Assembly) (err error) {
	if d.facts, err = loadFacts(ctx, d.store, assembly); err != nil {
		return err
	}
	if d.judged, err = judge(ctx, d.store, d.Links, d.facts); err != nil {
		return err
	}
	if d.policies, err = d.store.Policies.Files(ctx, d.org, policy.References(d.judged.applied)); err != nil {
		return err
	}
	for _, load := range []func(context.Context) error{d.loadControls, d.loadApprovals, d.loadTypes, d.loadProofs} {
		if err := load(ctx); err != nil {
			return err
		}
	}
	return nil
}

// loadControls reads the controls of the decisions and of the policies.
func (d *draft) loadControls(ctx context.Context) error {
	wanted := slices.Clone(d.judged.controls)
	for i := range d.attested {
		if control := d.attested[i].Control; control != "" {
			wanted = append(wanted, control)
		}
	}
	found, err := d.store.Controls.GetMany(ctx, d.org, evidence.Distinct(wanted))
	for _, one := range found {
		d.controls = append(d.controls, audit.ControlDocument{SchemaVersion: audit.SchemaVersion, Control: one})
	}
	slices.SortFunc(d.controls, func(a, b audit.ControlDocument) int {
		return audit.CompareMembers(audit.ControlPath(a.Identifier), audit.ControlPath(b.Identifier))
	})
	return err
}

// loadApprovals reads the approvals of the package's artifacts that events name.
func (d *draft) loadApprovals(ctx context.Context) error {
	fingerprints := d.fingerprints()
	for i := range d.events {
		data, ok := d.events[i].Data.(*evidence.ApprovalData)
		if !ok || !slices.Contains(fingerprints, data.Fingerprint) {
			continue
		}
		found, err := d.store.Approvals.Get(ctx, d.flow.ID, data.Number)
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		d.approvals = append(d.approvals, found)
	}
	ids := evidence.Map(d.approvals, func(a approval.Approval) string { return a.Environment })
	var err error
	d.environments, err = environmentNames(ctx, d.store, d.org, evidence.WithoutEmpty(evidence.Distinct(ids)))
	return err
}

func environmentNames(ctx context.Context, store *app.Store, org string, ids []string) (map[string]string, error) {
	found, err := store.Environments.Names(ctx, org, ids)
	names := map[string]string{}
	for id, environment := range found {
		names[id] = environment.Name
	}
	return names, err
}

// loadTypes reads the versions of custom types that gave a verdict. They come before the attestations in the archive,
// so attestations of such types are read twice.
func (d *draft) loadTypes(ctx context.Context) error {
	var ids []string
	for i := range d.attested {
		if one := &d.attested[i]; strings.HasPrefix(one.Type, evidence.CustomPrefix) && !one.Override {
			ids = append(ids, one.ID)
		}
	}
	type version struct {
		name   string
		number int
	}
	wanted := map[version]bool{}
	err := d.store.Attestations.OfIDs(ids).Each(ctx, batchBytes, func(a *evidence.Attestation) error {
		wanted[version{strings.TrimPrefix(a.Type, evidence.CustomPrefix), a.TypeVersion}] = true
		return nil
	})
	if err != nil {
		return err
	}
	for of := range wanted {
		document, err := d.loadType(ctx, of.name, of.number)
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		d.types = append(d.types, document)
	}
	slices.SortFunc(d.types, func(a, b audit.TypeDocument) int {
		return audit.CompareMembers(audit.TypePath(a.Name, a.Version), audit.TypePath(b.Name, b.Version))
	})
	return nil
}

func (d *draft) loadType(ctx context.Context, name string, number int) (audit.TypeDocument, error) {
	head, err := d.store.AttestationTypes.Head(ctx, d.org, name)
	if err != nil {
		return audit.TypeDocument{}, err
	}
	version, err := d.store.AttestationTypes.Version(ctx, head, number)
	return audit.TypeDocument{
		SchemaVersion: audit.SchemaVersion, Name: name, Version: number, Schema: version.Schema, Rules: version.Rules(),
	}, err
}
