package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/storage"
)

// Attest records an attestation, and begins its flow and trail where it needs
// neither to be there before (docs/semantics.md 4.2). What it does not know of
// its place it fills in. An attestation of a fingerprint that was not reported in
// the trail is evidence.NotFound.
func (r *Recorder) Attest(ctx context.Context, scope Scope, attestation evidence.Attestation, repo *evidence.Repo) error {
	seen, last, err := r.trailFor(ctx, scope, &attestation)
	if err != nil {
		return err
	}
	names, err := r.place(ctx, scope, &seen.Value, &attestation)
	if err != nil {
		return err
	}
	return r.add(ctx, seen, names, last, attestation, repo)
}

// add stores an attestation and applies it. It gets a later time than last, which is the
// time of the newest thing in its trail, and than all decisions on the control that it
// decides, whose version it is given.
func (r *Recorder) add(ctx context.Context, seen storage.Versioned[evidence.Trail], names []string, last float64, attestation evidence.Attestation, repo *evidence.Repo) error {
	if attestation.Control != "" {
		decided, err := r.attestations.NewestDecision(ctx, attestation.Org, attestation.Control)
		if err != nil {
			return err
		}
		last = max(last, decided)
		if attestation.ControlVersion, err = r.controls.LatestVersion(ctx, attestation.Org, attestation.Control); err != nil {
			return err
		}
	}
	var err error
	attestation.CreatedAt, err = r.timeAfter(ctx, attestation.Org, last, attestation.CreatedAt)
	if err != nil {
		return err
	}
	if err := r.attestations.Collection.Insert(ctx, attestation); err != nil {
		return err
	}
	return r.applyAttestation(ctx, seen, names, &attestation, repo)
}

// Override records an attestation that replaces the verdict of the latest one of
// its name, type and target, or of one that is required and missing. Where there is
// neither, it is evidence.Invalid.
func (r *Recorder) Override(ctx context.Context, scope Scope, attestation evidence.Attestation, repo *evidence.Repo) error {
	unknown := evidence.NewError(evidence.Invalid, fmt.Sprintf(
		"Attestation named '%s' of type '%s' does not exist in trail '%s' of flow '%s' belonging to organization '%s'",
		attestation.Name, attestation.Type, scope.Trail, scope.Flow, scope.OrgName))
	seen, err := r.existing(ctx, scope)
	if errors.Is(err, storage.ErrNotFound) {
		return unknown
	}
	if err != nil {
		return err
	}
	names, err := r.place(ctx, scope, &seen.Value, &attestation)
	if err != nil {
		return err
	}
	original, ok, err := r.overridden(ctx, &seen.Value, names, &attestation)
	if err != nil {
		return err
	}
	if !ok {
		return unknown
	}
	attestation.Override.Original = original.Original()
	if attestation.Type == evidence.TypeDecision && original.ID != "" {
		decision, err := r.attestations.Get(ctx, scope.Org, original.ID)
		if err != nil {
			return err
		}
		attestation.Control = decision.Control
	}
	return r.add(ctx, seen, names, max(seen.Value.LastModifiedAt, original.Time), attestation, repo)
}

// existing returns the trail of a scope, or ErrNotFound when it or its flow is not
// there.
func (r *Recorder) existing(ctx context.Context, scope Scope) (storage.Versioned[evidence.Trail], error) {
	ref, err := r.flows.Resolve(ctx, scope.Org, scope.Flow)
	if err != nil {
		return storage.Versioned[evidence.Trail]{}, err
	}
	return r.trails.Collection.GetVersioned(ctx, evidence.TrailKey(ref.ID, scope.Trail))
}

// overridden reads what an override replaces: see compliance.Overridden.
func (r *Recorder) overridden(ctx context.Context, trail *evidence.Trail, names []string, override *evidence.Attestation) (original evidence.Entry, ok bool, err error) {
	stored, err := r.templates.Get(ctx, trail.Org, trail.Template)
	if err != nil {
		return original, false, err
	}
	slots, err := r.slots.OfTrail(ctx, trail.Key(), names)
	if err != nil {
		return original, false, err
	}
	entries := make(map[string][]evidence.Entry, len(names))
	for _, name := range names {
		if entries[name], err = r.entriesOf(ctx, trail, slots[name], override.Fingerprint); err != nil {
			return original, false, err
		}
	}
	original, ok = compliance.Overridden(&stored.Template, trail, override, names, entries)
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
func (r *Recorder) place(ctx context.Context, scope Scope, trail *evidence.Trail, a *evidence.Attestation) ([]string, error) {
	a.Targets = union(nil, a.Targets)
	names, older, err := r.namesOf(ctx, scope, trail, a)
	if err != nil {
		return nil, err
	}
	a.FillFrom(trail, names, older)
	return names, trail.Admits(names, a.Name)
}

// trailFor is open for the trail of an attestation. It begins one only where the
// attestation does not need an artifact to be in it.
func (r *Recorder) trailFor(ctx context.Context, scope Scope, a *evidence.Attestation) (seen storage.Versioned[evidence.Trail], last float64, err error) {
	if a.Fingerprint != "" {
		seen, err := r.existing(ctx, scope)
		if !errors.Is(err, storage.ErrNotFound) {
			return seen, seen.Value.LastModifiedAt, err
		}
		if err := r.checkUnreported(ctx, scope, a); err != nil {
			return seen, 0, err
		}
	}
	flow, err := r.flow(ctx, scope)
	if err != nil {
		return seen, 0, err
	}
	return r.open(ctx, scope, flow)
}

// namesOf returns the artifact names of its trail that an attestation is about. older is
// the record of its fingerprint if that is not the newest artifact of any name, else nil.
func (r *Recorder) namesOf(ctx context.Context, scope Scope, trail *evidence.Trail, a *evidence.Attestation) (names []string, older *evidence.ArtifactRecord, err error) {
	if a.Fingerprint == "" {
		return a.Targets, nil, nil
	}
	if names := trail.NamesOf(a.Fingerprint); len(names) > 0 {
		return names, nil, nil
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

// applyAttestation makes the aggregates reflect a stored attestation. names are
// those of the slots that it belongs to, as far as seen tells them.
func (r *Recorder) applyAttestation(ctx context.Context, seen storage.Versioned[evidence.Trail], names []string, a *evidence.Attestation, repo *evidence.Repo) error {
	trail, slots, err := r.bind(ctx, seen, names, a)
	if err != nil {
		return err
	}
	if err := r.decisions.Add(ctx, a); err != nil {
		return err
	}
	if err := r.announceAttestation(ctx, &trail, slots, a); err != nil {
		return err
	}
	events := trail.AttestationEvents(a, repo)
	if err := r.events.Add(ctx, events[1:]...); err != nil {
		return err
	}
	return r.events.Add(ctx, events[0])
}

// errSlotsMoved ends an update of a trail that has got a slot meanwhile to which an
// attestation may belong as well.
var errSlotsMoved = errors.New("the trail's slots have changed")

// bind makes slots and trail reflect an attestation. It returns them as they are
// then.
func (r *Recorder) bind(ctx context.Context, seen storage.Versioned[evidence.Trail], names []string, a *evidence.Attestation) (evidence.Trail, []evidence.Slot, error) {
	for range reflectAttempts {
		others, err := r.olderNames(ctx, &seen.Value, names, a.Fingerprint)
		if err != nil {
			return seen.Value, nil, err
		}
		slots, err := r.attestSlots(ctx, &seen.Value, append(slices.Clone(names), others...), a)
		if err != nil {
			return seen.Value, slots, err
		}
		looked := union(names, seen.Value.PossibleNamesOf(a.Fingerprint))
		trail, err := r.reflect(ctx, seen, a.CreatedAt, a.Repo, slots, func(t *evidence.Trail) error {
			if !subset(t.PossibleNamesOf(a.Fingerprint), looked) {
				return errSlotsMoved
			}
			if a.OfTrail() {
				t.Entries = evidence.AddEntry(t.Entries, a.Entry())
				t.EntriesAt = max(t.EntriesAt, a.CreatedAt)
			}
			return nil
		})
		if !errors.Is(err, errSlotsMoved) {
			return trail, slots, err
		}
		if seen, err = r.trails.Collection.GetVersioned(ctx, seen.Value.Key()); err != nil {
			return seen.Value, nil, err
		}
		names = union(names, seen.Value.NamesOf(a.Fingerprint))
	}
	return seen.Value, nil, busy()
}

// attestSlots lets slots take in an attestation.
func (r *Recorder) attestSlots(ctx context.Context, trail *evidence.Trail, names []string, a *evidence.Attestation) ([]evidence.Slot, error) {
	slots := make([]evidence.Slot, 0, len(names))
	for _, name := range names {
		_, known := trail.Slots[name]
		slot, err := r.slots.Change(ctx, a.Org, trail.Key(), name, known, func(s *evidence.Slot) {
			s.Attest(a.SlotEntry())
		})
		if err != nil {
			return slots, err
		}
		slots = append(slots, slot)
	}
	return slots, nil
}

// olderNames returns the other names under which a trail has a fingerprint, though not as
// the newest artifact. It must be called after the attestation was stored: see fill.
func (r *Recorder) olderNames(ctx context.Context, trail *evidence.Trail, names []string, fingerprint string) ([]string, error) {
	others := slices.DeleteFunc(trail.PossibleNamesOf(fingerprint), func(name string) bool { return slices.Contains(names, name) })
	if len(others) == 0 {
		return nil, nil
	}
	slots, err := r.slots.OfTrail(ctx, trail.Key(), others)
	return slices.DeleteFunc(others, func(name string) bool {
		slot := slots[name]
		_, known := slot.Artifact(fingerprint)
		return !known
	}), err
}

func subset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
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

// announceAttestation announces the artifacts that an attestation is about.
func (r *Recorder) announceAttestation(ctx context.Context, trail *evidence.Trail, slots []evidence.Slot, a *evidence.Attestation) error {
	switch {
	case a.OfTrail():
		return r.bumpIfTrailRuns(ctx, trail)
	case a.Fingerprint != "":
		return r.bumpIfRunning(ctx, a.Org, []string{a.Fingerprint})
	}
	fingerprints, ok := evidence.ConcernedIn(slots, a.SlotEntry())
	if !ok {
		return r.generations.Bump(ctx, a.Org)
	}
	return r.bumpIfRunning(ctx, a.Org, fingerprints)
}
