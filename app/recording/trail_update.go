package recording

import (
	"context"
	"maps"
	"slices"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// trailUpdate is a trail with its slots, as they were read or written last, and what is to be
// written together: facts, and what reflects them. One goroutine uses it at a time.
type trailUpdate struct {
	recorder *Recorder
	trail    storage.Versioned[evidence.Trail]
	template pipelines.StoredTemplate
	// slots are those that were needed so far, by name.
	slots map[string]*slotUpdate
	// remembered tells that the trail and its slots were not read now: others may have
	// changed them since.
	remembered bool
	// repeated tells that facts may have been stored by an earlier attempt, contended that
	// several attempts were refused, everywhere that so many were that where artifacts run is not
	// looked up.
	repeated, contended, everywhere bool

	facts     storage.Batch
	decisions map[pipelines.DecisionKey]*decisionUpdate
	// attested and reported are the fingerprints that the facts are about.
	attested, reported map[string]bool
	provenances        []provenanceUpdate
	// concerned are the fingerprints of the artifacts whose state may change; with
	// concernsAll, they are not all known.
	concerned   map[string]bool
	concernsAll bool
	// events are those of the facts. Of each fact, the one with its id is the last.
	events []evidence.TrailEvent
}

type slotUpdate struct {
	storage.Versioned[evidence.Slot]
	changed bool
}

type decisionUpdate struct {
	storage.Versioned[pipelines.Decision]
	changed bool
}

type provenanceUpdate struct {
	record *evidence.ArtifactRecord
	seen   storage.Versioned[pipelines.Provenance]
}

// forgetFacts begins the next batch with the trail as it was written.
func (u *trailUpdate) forgetFacts() {
	u.facts, u.decisions, u.provenances, u.events = storage.Batch{}, map[pipelines.DecisionKey]*decisionUpdate{}, nil, nil
	u.attested, u.reported = map[string]bool{}, map[string]bool{}
	u.concerned, u.concernsAll = map[string]bool{}, false
}

// pending reports whether there is something to be written.
func (u *trailUpdate) pending() bool { return u.facts.Len() > 0 || len(u.events) > 0 }

// slot returns the slot of a name, as it is with all that is to be written.
func (u *trailUpdate) slot(ctx context.Context, name string) (*slotUpdate, error) {
	if known, ok := u.slots[name]; ok {
		return known, nil
	}
	trail := &u.trail.Value
	read := &slotUpdate{}
	// A slot that the trail does not know may be there if somebody was killed. That shows
	// when it is written.
	if _, known := trail.Slots[name]; known || u.repeated {
		var err error
		if read.Versioned, err = u.recorder.slots.GetOrZero(ctx, trail.Key(), name); err != nil {
			return nil, err
		}
	}
	if read.Revision == 0 {
		read.Value = evidence.Slot{Org: trail.Org, Trail: trail.Key(), Name: name}
	}
	u.slots[name] = read
	return read, nil
}

// slotsNamed returns slots by name, in the order of names.
func (u *trailUpdate) slotsNamed(ctx context.Context, names []string) ([]*slotUpdate, error) {
	slots := make([]*slotUpdate, 0, len(names))
	for _, name := range names {
		slot, err := u.slot(ctx, name)
		if err != nil {
			return nil, err
		}
		slots = append(slots, slot)
	}
	return slots, nil
}

// take lets a slot take something in, and the trail sum it up. What the slot has taken in
// before changes nothing.
func (u *trailUpdate) take(slot *slotUpdate, take func(*evidence.Slot)) {
	before := slot.Value
	before.Artifacts, before.Entries = slices.Clone(before.Artifacts), slices.Clone(before.Entries)
	take(&slot.Value)
	slot.Value.Prune()
	if slot.Value.Version == 0 || !slot.Value.Equal(&before) {
		slot.Value.Version++
		slot.changed = true
	}
	u.trail.Value.Summarize(slot.Value.Name, compliance.Summarize(u.template.ID, &u.template.Template, &slot.Value))
}

// touch notes in the trail that a fact was recorded.
func (u *trailUpdate) touch(at float64, repo string) {
	u.trail.Value.AddRepo(repo)
	u.trail.Value.Touch(at)
}

// concern notes the fingerprints of artifacts whose state may change.
func (u *trailUpdate) concern(fingerprints ...string) {
	for _, fingerprint := range fingerprints {
		u.concerned[fingerprint] = true
	}
}

// decision returns the latest decision on a control about a subject, as it is with all that is
// to be written.
func (u *trailUpdate) decision(ctx context.Context, of *pipelines.Decision) (*decisionUpdate, error) {
	if known, ok := u.decisions[of.Key()]; ok {
		return known, nil
	}
	seen, err := u.recorder.decisions.GetOrZero(ctx, of)
	if err != nil {
		return nil, err
	}
	u.decisions[of.Key()] = &decisionUpdate{Versioned: seen}
	return u.decisions[of.Key()], nil
}

// write writes what is to be written: the facts first, then what reflects them, at last the
// events. It is one batch, unless others change the provenances or decisions in it all the time.
// Somebody else's change since the trail was read is a *storage.RefusedWrite.
func (u *trailUpdate) write(ctx context.Context) error {
	concerned, err := u.affected(ctx)
	if err != nil {
		return err
	}
	batch := &storage.Batch{}
	u.addTrail(batch)
	if u.contended && u.changesShared() {
		if err := u.writeShared(ctx, batch); err != nil {
			return err
		}
		batch = &storage.Batch{}
	} else {
		u.addShared(batch)
	}
	if u.concernsAll || len(u.concerned) > 0 {
		u.recorder.announceIn(batch, u.trail.Value.Org, concerned)
	}
	if err := u.recorder.events.TellIn(ctx, batch, u.events...); err != nil {
		return err
	}
	return batch.Write(ctx, u.recorder.docs)
}

// addTrail adds the facts, the slots and the trail to a batch.
func (u *trailUpdate) addTrail(batch *storage.Batch) {
	trail := &u.trail.Value
	if u.remembered {
		u.recorder.trails.Collection.CheckIn(batch, trail.Key(), u.trail.Revision)
	}
	batch.Append(&u.facts)
	for _, name := range slices.Sorted(maps.Keys(u.slots)) {
		if slot := u.slots[name]; slot.changed {
			slot.Revision = u.recorder.slots.StoreIn(batch, &slot.Value, slot.Revision)
		}
	}
	trail.Status = compliance.Trail(&u.template.Template, trail)
	u.trail.Revision = u.recorder.trails.Collection.ReplaceIn(batch, trail, u.trail.Revision)
}

// changesShared reports whether documents that trails share are to be written. Without them, two batches
// would be refused as often as one.
func (u *trailUpdate) changesShared() bool { return len(u.provenances) > 0 || len(u.decisions) > 0 }

// addShared adds what trails share, provenances and decisions, to a batch.
func (u *trailUpdate) addShared(batch *storage.Batch) {
	for _, one := range u.provenances {
		u.recorder.provenances.AddIn(batch, one.record, one.seen)
	}
	for _, decision := range u.decisions {
		if decision.changed {
			u.recorder.decisions.StoreIn(batch, &decision.Value, decision.Revision)
		}
	}
}

// writeShared writes a batch, and then what trails share: for each document together with
// others that change it at the same time.
func (u *trailUpdate) writeShared(ctx context.Context, batch *storage.Batch) error {
	if err := batch.Write(ctx, u.recorder.docs); err != nil {
		return err
	}
	for _, one := range u.provenances {
		if err := u.recorder.provenances.Add(ctx, one.record); err != nil {
			return err
		}
	}
	for _, decision := range u.decisions {
		if decision.changed {
			if err := u.recorder.decisions.Add(ctx, &decision.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// affected returns where the artifacts run that are concerned.
func (u *trailUpdate) affected(ctx context.Context) (affected, error) {
	if u.concernsAll || len(u.concerned) == 0 {
		return affected{all: u.concernsAll}, nil
	}
	if u.everywhere {
		return affected{all: true}, nil
	}
	fingerprints := slices.Sorted(maps.Keys(u.concerned))
	return u.recorder.whereRunning.of(ctx, u.trail.Value.Org, fingerprints, u.repeated)
}

// size is how much memory the update takes, roughly and in bytes.
func (u *trailUpdate) size() int {
	size := 1000 + len(u.trail.Value.UserData) + 300*len(u.trail.Value.Slots) + 200*len(u.trail.Value.Entries)
	for _, slot := range u.slots {
		size += 300 + 200*len(slot.Value.Artifacts) + 300*len(slot.Value.Entries)
	}
	return size
}
