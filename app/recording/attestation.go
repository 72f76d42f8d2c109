package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// Attest records an attestation, and begins its flow and trail where it needs
// neither to be there before (docs/semantics.md 4.2). What it does not know of
// its place it fills in. An attestation of a fingerprint that was not reported in
// the trail is evidence.NotFound.
func (r *Recorder) Attest(ctx context.Context, scope Scope, attestation evidence.Attestation, repo *evidence.Repo) error {
	at := recordingTime{now: attestation.CreatedAt}
	attest := func(ctx context.Context, u *trailUpdate) error {
		a := attestation
		names, err := r.place(ctx, scope, u, &a)
		if err != nil {
			return err
		}
		return r.attest(ctx, u, names, &a, &at, repo)
	}
	if attestation.Fingerprint != "" {
		err := r.changeExisting(ctx, scope, attest)
		if !errors.Is(err, errNoTrail) {
			return err
		}
		if err := r.checkUnreported(ctx, scope, &attestation); err != nil {
			return err
		}
	}
	return r.changeOpened(ctx, scope, &at, attest)
}

// attest records an attestation whose place is known. It gets a later time than all of its
// trail, and than all decisions on the control that it decides, whose version it is given.
func (r *Recorder) attest(ctx context.Context, u *trailUpdate, names []string, a *evidence.Attestation, at *recordingTime, repo *evidence.Repo) error {
	if a.Control != "" {
		if len(u.decisions) > 0 {
			return errWriteFirst
		}
		decided, err := r.attestations.NewestDecision(ctx, a.Org, a.Control)
		if err != nil {
			return err
		}
		at.last = max(at.last, decided)
		if a.ControlVersion, err = r.controls.LatestVersion(ctx, a.Org, a.Control); err != nil {
			return err
		}
	}
	var err error
	if a.CreatedAt, err = at.choose(ctx, u); err != nil {
		return err
	}
	return r.applyAttestation(ctx, u, names, a, repo)
}

// Override records an attestation that replaces the verdict of the latest one of
// its name, type and target, or of one that is required and missing. Where there is
// neither, it is evidence.Invalid.
func (r *Recorder) Override(ctx context.Context, scope Scope, attestation evidence.Attestation, repo *evidence.Repo) error {
	unknown := evidence.NewError(evidence.Invalid, fmt.Sprintf(
		"Attestation named '%s' of type '%s' does not exist in trail '%s' of flow '%s' belonging to organization '%s'",
		attestation.Name, attestation.Type, scope.Trail, scope.Flow, scope.OrgName))
	at := recordingTime{now: attestation.CreatedAt}
	err := r.changeExisting(ctx, scope, func(ctx context.Context, u *trailUpdate) error {
		if u.pending() {
			return errWriteFirst
		}
		a := attestation
		names, err := r.place(ctx, scope, u, &a)
		if err != nil {
			return err
		}
		original, ok, err := r.overridden(ctx, u, names, &a)
		if err != nil {
			return err
		}
		if !ok {
			return unknown
		}
		override := *attestation.Override
		override.Original = original.Original()
		a.Override = &override
		if a.Type == evidence.TypeDecision && original.ID != "" {
			decision, err := r.attestations.Get(ctx, scope.Org, original.ID)
			if err != nil {
				return err
			}
			a.Control = decision.Control
		}
		at.last = original.Time
		return r.attest(ctx, u, names, &a, &at, repo)
	})
	if errors.Is(err, errNoTrail) {
		return unknown
	}
	return err
}

// overridden reads what an override replaces: see compliance.Overridden.
func (r *Recorder) overridden(ctx context.Context, u *trailUpdate, names []string, override *evidence.Attestation) (original evidence.Entry, ok bool, err error) {
	trail := &u.trail.Value
	slots, err := u.slotsNamed(ctx, names)
	if err != nil {
		return original, false, err
	}
	entries := make(map[string][]evidence.Entry, len(names))
	for i, name := range names {
		if entries[name], err = r.entriesOf(ctx, trail, slots[i].Value, override.Fingerprint); err != nil {
			return original, false, err
		}
	}
	original, ok = compliance.Overridden(&u.template.Template, trail, override, names, entries)
	return original, ok, nil
}

// entriesOf returns the attestations of a slot as it stands, or, of a fingerprint,
// those that are bound to it, although the slot may have had to drop them.
func (r *Recorder) entriesOf(ctx context.Context, trail *evidence.Trail, slot evidence.Slot, fingerprint string) ([]evidence.Entry, error) {
	if fingerprint == "" {
		return slot.Shown(), nil
	}
	if artifact, ok := slot.Complete(fingerprint); ok {
		return slot.Bound(artifact), nil
	}
	record, err := r.artifacts.InTrail(ctx, trail.Org, trail.Flow, trail.Name, fingerprint)
	if err != nil {
		return nil, err
	}
	rebuilt, err := r.attestations.RebuildSlots(ctx, trail.Org, []evidence.ArtifactRecord{record})
	slot = rebuilt[record.ID]
	return slot.Shown(), err
}

// place returns the names of the artifacts of its trail that an attestation is about, and
// fills in what the trail tells.
func (r *Recorder) place(ctx context.Context, scope Scope, u *trailUpdate, a *evidence.Attestation) ([]string, error) {
	a.Targets = union(nil, a.Targets)
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
	record, err := r.artifacts.InTrail(ctx, scope.Org, trail.Flow, trail.Name, a.Fingerprint)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil, r.checkUnreported(ctx, scope, a)
	}
	return []string{record.Name}, &record, err
}

// checkUnreported refuses an attestation of a fingerprint that was not reported to its
// trail, unless it is a decision about one that the organization knows
// (docs/semantics.md 6.2).
func (r *Recorder) checkUnreported(ctx context.Context, scope Scope, a *evidence.Attestation) error {
	if !a.NeedsReport() {
		known, err := r.artifacts.Known(ctx, scope.Org, a.Fingerprint)
		if err != nil || known {
			return err
		}
	}
	return evidence.NewError(evidence.NotFound, fmt.Sprintf(
		`Artifact with fingerprint %s does not exist in trail "%s" of flow "%s" belonging to organization "%s"`,
		a.Fingerprint, scope.Trail, scope.Flow, scope.OrgName))
}

// applyAttestation makes the aggregates reflect an attestation. names are those of the slots
// that it belongs to, as far as the trail tells them.
func (r *Recorder) applyAttestation(ctx context.Context, u *trailUpdate, names []string, a *evidence.Attestation, repo *evidence.Repo) error {
	slots, err := u.slotsAttested(ctx, names, a.Fingerprint)
	if err != nil {
		return err
	}
	made := pipelines.DecisionsOf(a)
	for i := range made {
		if _, err := u.decision(ctx, &made[i]); err != nil {
			return err
		}
	}
	r.attestations.Collection.PutIn(&u.facts, *a)
	u.attested[a.Fingerprint] = true
	for _, slot := range slots {
		u.take(slot, func(s *evidence.Slot) { s.Attest(a.SlotEntry()) })
	}
	for i := range made {
		u.decisions[made[i].Key()].take(&made[i])
	}
	trail := &u.trail.Value
	if a.OfTrail() {
		trail.Entries = evidence.AddEntry(trail.Entries, a.Entry())
		trail.EntriesAt = max(trail.EntriesAt, a.CreatedAt)
	}
	u.touch(a.CreatedAt, a.Repo)
	u.concernAttested(slots, a)
	events := trail.AttestationEvents(a, repo)
	u.events = append(append(u.events, events[1:]...), events[0])
	return nil
}

// slotsAttested returns the slots of names, and those under which the trail has a fingerprint,
// though not as the newest artifact.
func (u *trailUpdate) slotsAttested(ctx context.Context, names []string, fingerprint string) ([]*slotUpdate, error) {
	slots, err := u.slotsNamed(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, name := range u.trail.Value.PossibleNamesOf(fingerprint) {
		if slices.Contains(names, name) {
			continue
		}
		other, err := u.slot(ctx, name)
		if err != nil {
			return nil, err
		}
		if _, known := other.Value.Artifact(fingerprint); known {
			slots = append(slots, other)
		}
	}
	return slots, nil
}

// take takes in a decision if it is the latest one.
func (d *decisionUpdate) take(made *pipelines.Decision) {
	if d.Revision == 0 && !d.changed || made.LaterThan(&d.Value) {
		d.Value, d.changed = *made, true
	}
}

// concernAttested notes the artifacts that an attestation is about.
func (u *trailUpdate) concernAttested(slots []*slotUpdate, a *evidence.Attestation) {
	switch {
	case a.OfTrail():
		// Older artifacts may run as well, whose fingerprints the trail does not know.
		u.concernsAll = u.concernsAll || u.trail.Value.HasOlderArtifacts()
		u.concern(u.trail.Value.Fingerprints()...)
		return
	case a.Fingerprint != "":
		u.concern(a.Fingerprint)
		return
	}
	for _, slot := range slots {
		u.concernsAll = u.concernsAll || slot.Value.Pruned
		u.concern(slot.Value.Concerned(a.SlotEntry())...)
	}
}

func union(some, more []string) []string {
	all := slices.Clone(some)
	for _, one := range more {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}
