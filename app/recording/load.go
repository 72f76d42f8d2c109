package recording

import (
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/compliance"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// attestationInput is what recording an attestation depends on besides its trail.
type attestationInput struct {
	// slots are those that the attestation belongs to.
	slots []*slotUpdate
	// times bound the time that the attestation gets.
	times timeBounds
	// controlVersion is the latest version of the control that it decides.
	controlVersion int
	// accounts are the accounts of people, read if the attestation names people.
	accounts evidence.Accounts
}

// artifactInput is what recording an artifact depends on besides its trail.
type artifactInput struct {
	slot       *slotUpdate
	provenance storage.Versioned[pipelines.Provenance]
	// attested are the attestations that the slot may lack.
	attested []evidence.SlotEntry
	times    timeBounds
}

// timeBounds are times in Unix seconds. A fact must be later than superseded, the newest fact outside of its trail that
// it may supersede, and than reconciled, up to which the reconciler has read. kept is the time of the flow's first
// record in the provenance. It never changes, so a fact that may already be stored with this time keeps it.
type timeBounds struct{ superseded, reconciled, kept float64 }

// loadSlot returns the slot of a name, with pending changes.
func (u *trailUpdate) loadSlot(ctx context.Context, name string) (*slotUpdate, error) {
	if known, ok := u.slots[name]; ok {
		return known, nil
	}
	trail := &u.trail.Value
	read := &slotUpdate{}
	// A killed process may have stored a slot without the trail. Then the write is refused, and the retry reads it.
	if _, known := trail.Slots[name]; known || u.repeated {
		var err error
		if read.Versioned, err = u.recorder.Slots.GetOrZero(ctx, evidence.SlotID(trail.Key(), name)); err != nil {
			return nil, err
		}
	}
	if read.Revision == 0 {
		read.Value = evidence.Slot{Org: trail.Org, Trail: trail.Key(), Name: name}
	}
	u.slots[name] = read
	return read, nil
}

// loadSlots returns slots by name, in the order of names.
func (u *trailUpdate) loadSlots(ctx context.Context, names []string) ([]*slotUpdate, error) {
	slots := make([]*slotUpdate, 0, len(names))
	for _, name := range names {
		slot, err := u.loadSlot(ctx, name)
		if err != nil {
			return nil, err
		}
		slots = append(slots, slot)
	}
	return slots, nil
}

// loadSlotsOf returns the slots of names, and those in which a fingerprint is an older artifact.
func (u *trailUpdate) loadSlotsOf(ctx context.Context, names []string, fingerprint string) ([]*slotUpdate, error) {
	slots, err := u.loadSlots(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, name := range u.trail.Value.PossibleNamesOf(fingerprint) {
		if slices.Contains(names, name) {
			continue
		}
		other, err := u.loadSlot(ctx, name)
		if err != nil {
			return nil, err
		}
		if _, ok := other.Value.Artifact(fingerprint); ok {
			slots = append(slots, other)
		}
	}
	return slots, nil
}

// loadDecision reads the latest decision on a control about a subject, unless it was read before.
func (u *trailUpdate) loadDecision(ctx context.Context, of *pipelines.Decision) error {
	if _, ok := u.decisions[of.Key()]; ok {
		return nil
	}
	seen, err := u.recorder.Decisions.GetOrZero(ctx, u.recorder.Decisions.IDOf(of))
	if err == nil {
		u.decisions[of.Key()] = &decisionUpdate{Versioned: seen}
	}
	return err
}

// loadNames returns the names of the artifacts that an attestation is about, and completes the attestation.
func (r *Recorder) loadNames(ctx context.Context, scope Scope, u *trailUpdate, a *evidence.Attestation) ([]string, error) {
	a.Targets = evidence.Distinct(a.Targets)
	names, older, err := r.namesOf(ctx, scope, u, a)
	if err != nil {
		return nil, err
	}
	a.FillFrom(&u.trail.Value, names, older)
	return names, u.trail.Value.Admits(names, a.Name)
}

// namesOf returns the artifact names of its trail that an attestation is about. older is
// the record of its fingerprint if that is not the newest artifact of any name, else nil.
func (r *Recorder) namesOf(ctx context.Context, scope Scope, u *trailUpdate, a *evidence.Attestation) (names []string, older *evidence.ArtifactRecord, err error) {
	if a.Fingerprint == "" {
		return a.Targets, nil, nil
	}
	trail := &u.trail.Value
	if names := trail.NamesOf(a.Fingerprint); len(names) > 0 {
		return names, nil, nil
	}
	if u.reported[a.Fingerprint] {
		return nil, nil, errWriteFirst
	}
	record, err := r.Artifacts.InTrail(ctx, scope.Org, trail.Flow, trail.Name, a.Fingerprint)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil, r.checkUnreported(ctx, scope, a)
	}
	return []string{record.Name}, &record, err
}

// checkUnreported refuses an attestation of an unreported fingerprint, but for some decisions (docs/semantics.md 6.2).
func (r *Recorder) checkUnreported(ctx context.Context, scope Scope, a *evidence.Attestation) error {
	if !a.NeedsReport() {
		known, err := r.Artifacts.Known(ctx, scope.Org, a.Fingerprint)
		if err != nil || known {
			return err
		}
	}
	return evidence.Errorf(evidence.NotFound,
		`Artifact with fingerprint %s does not exist in trail "%s" of flow "%s" belonging to organization "%s"`,
		a.Fingerprint, scope.Trail, scope.Flow, scope.OrgName)
}

// loadAttestation reads what recording an attestation depends on. A second decision in one batch
// has to wait: its time must be later than that of the first one, which is not stored yet.
func (r *Recorder) loadAttestation(ctx context.Context, u *trailUpdate, names []string, a *evidence.Attestation) (in attestationInput, err error) {
	if a.Control != "" {
		if len(u.decisions) > 0 {
			return in, errWriteFirst
		}
		if in.times.superseded, err = r.Attestations.NewestDecision(ctx, a.Org, a.Control); err != nil {
			return in, err
		}
		if in.controlVersion, err = r.Controls.LatestVersion(ctx, a.Org, a.Control); err != nil {
			return in, err
		}
	}
	if attestation.NamesPeople(a) {
		if in.accounts, err = r.People.Accounts(ctx, a.Org); err != nil {
			return in, err
		}
	}
	if in.times.reconciled, err = r.marks.newest(ctx, a.Org); err != nil {
		return in, err
	}
	in.slots, err = u.loadAttested(ctx, names, a)
	return in, err
}

// loadAttested reads the decisions that an attestation about names may replace, and returns the slots it belongs to.
func (u *trailUpdate) loadAttested(ctx context.Context, names []string, a *evidence.Attestation) ([]*slotUpdate, error) {
	slots, err := u.loadSlotsOf(ctx, names, a.Fingerprint)
	if err != nil {
		return nil, err
	}
	for _, decision := range pipelines.DecisionsOf(a) {
		if err := u.loadDecision(ctx, &decision); err != nil {
			return nil, err
		}
	}
	return slots, nil
}

// loadOverridden returns what an override replaces (see compliance.Overridden), and the control that this decided.
func (r *Recorder) loadOverridden(ctx context.Context, u *trailUpdate, names []string, override *evidence.Attestation) (original evidence.Entry, control string, ok bool, err error) {
	trail := &u.trail.Value
	slots, err := u.loadSlotsOf(ctx, names, override.Fingerprint)
	if err != nil {
		return original, "", false, err
	}
	names = evidence.Map(slots, func(slot *slotUpdate) string { return slot.Value.Name })
	entries := make(map[string][]evidence.Entry, len(names))
	for i, name := range names {
		if entries[name], err = r.entriesOf(ctx, trail, slots[i].Value, override); err != nil {
			return original, "", false, err
		}
	}
	original, ok = compliance.Overridden(&u.template.Template, trail, override, names, entries)
	if !ok || override.Type != evidence.TypeDecision || original.ID == "" {
		return original, "", ok, nil
	}
	decision, err := r.Attestations.Get(ctx, trail.Org, original.ID)
	return original, decision.Control, true, err
}

// entriesOf returns the attestations of a slot that an override may replace: by name, those of its commit, by
// fingerprint, all that are bound to that, including dropped ones.
func (r *Recorder) entriesOf(ctx context.Context, trail *evidence.Trail, slot evidence.Slot, override *evidence.Attestation) ([]evidence.Entry, error) {
	if override.Fingerprint == "" {
		return slot.ShownAt(evidence.CommitSHA(override.Commit)), nil
	}
	artifact, ok := slot.Complete(override.Fingerprint)
	if ok {
		return slot.Bound(artifact), nil
	}
	var record evidence.ArtifactRecord
	var err error
	if artifact.Record != "" {
		record, err = r.Artifacts.Get(ctx, artifact.Record)
	} else { // the slot has dropped the artifact
		record, err = r.Artifacts.InTrail(ctx, trail.Org, trail.Flow, trail.Name, override.Fingerprint)
	}
	if err != nil {
		return nil, err
	}
	rebuilt, err := r.Attestations.RebuildSlots(ctx, trail.Org, []evidence.ArtifactRecord{record})
	slot = rebuilt[record.ID]
	return slot.Shown(), err
}

// loadArtifact reads what recording an artifact depends on. A second artifact in one batch has to
// wait: its time must be later than that of the first one, which is not stored yet.
func (r *Recorder) loadArtifact(ctx context.Context, u *trailUpdate, record *evidence.ArtifactRecord) (in artifactInput, err error) {
	if len(u.reported) > 0 {
		return in, errWriteFirst
	}
	if in, err = r.loadReported(ctx, u, record); err != nil {
		return in, err
	}
	newest, err := r.Artifacts.NewestTime(ctx, record.Org, record.Flow)
	if err != nil {
		return in, err
	}
	in.times.superseded, in.times.kept = max(in.provenance.Value.Latest, newest), in.provenance.Value.Flows[record.Flow].First
	in.times.reconciled, err = r.marks.newest(ctx, record.Org)
	return in, err
}

// loadReported reads the aggregates of an artifact, and the stored attestations that its slot may lack.
func (r *Recorder) loadReported(ctx context.Context, u *trailUpdate, record *evidence.ArtifactRecord) (in artifactInput, err error) {
	if in.slot, err = u.loadSlot(ctx, record.Name); err != nil {
		return in, err
	}
	pruned := in.slot.Value.Pruned
	if len(u.attested) > 0 && (pruned || u.attested[record.Fingerprint]) {
		return in, errWriteFirst
	}
	if in.provenance, err = r.Provenances.LookUp(ctx, record.Org, record.Fingerprint); err != nil {
		return in, err
	}
	// The slot may lack attestations of the fingerprint that were made for another slot, and, if pruned, some by name.
	if !pruned {
		in.attested, err = r.Attestations.OfFingerprint(ctx, record)
		return in, err
	}
	latest, err := r.Attestations.LatestOfRecords(ctx, record.Org, []evidence.ArtifactRecord{*record})
	in.attested = latest.Of(record)
	return in, err
}
