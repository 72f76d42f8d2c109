package recording

import (
	"context"
	"maps"
	"slices"

	"attestry/evidence/compliance"
	"attestry/storage"
)

// write commits an update: first the facts, then the aggregates, then the events. It is one batch,
// unless other processes keep changing the provenances or decisions in it. If another
// process has changed the trail since it was read, it returns a *storage.RefusedWrite.
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
		u.recorder.announceIn(batch, u.trail.Value.Org, concerned, u.givesChildren)
	}
	if err := u.recorder.TrailEvents.EnqueueIn(ctx, batch, u.events...); err != nil {
		return err
	}
	return batch.Write(ctx, u.recorder.docs)
}

// addTrail adds the facts, the slots and the trail to a batch.
func (u *trailUpdate) addTrail(batch *storage.Batch) {
	trail := &u.trail.Value
	if u.cached {
		u.recorder.Trails.Collection.CheckIn(batch, trail.Key(), u.trail.Revision)
	}
	batch.Append(&u.facts)
	for _, name := range slices.Sorted(maps.Keys(u.slots)) {
		if slot := u.slots[name]; slot.changed {
			slot.Revision = u.recorder.Slots.StoreIn(batch, &slot.Value, slot.Revision)
		}
	}
	compliance.Update(&u.template.Template, trail)
	u.trail.Revision = u.recorder.Trails.Collection.ReplaceIn(batch, trail, u.trail.Revision)
}

// changesShared reports whether to write documents that trails share. Without them a second batch does not help.
func (u *trailUpdate) changesShared() bool { return len(u.provenances) > 0 || len(u.decisions) > 0 }

// addShared adds the documents that trails share, provenances and decisions, to a batch.
func (u *trailUpdate) addShared(batch *storage.Batch) {
	for _, one := range u.provenances {
		u.recorder.Provenances.AddIn(batch, one.record, one.seen)
	}
	for _, decision := range u.decisions {
		if decision.changed {
			u.recorder.Decisions.StoreIn(batch, &decision.Value, decision.Revision)
		}
	}
}

// writeShared writes a batch, and then the documents that trails share. Each of them is written
// together with the other changes that this process makes to it at the same time.
func (u *trailUpdate) writeShared(ctx context.Context, batch *storage.Batch) error {
	if err := batch.Write(ctx, u.recorder.docs); err != nil {
		return err
	}
	for _, one := range u.provenances {
		if err := u.recorder.Provenances.Add(ctx, one.record); err != nil {
			return err
		}
	}
	for _, decision := range u.decisions {
		if decision.changed {
			if err := u.recorder.Decisions.Add(ctx, &decision.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// affected returns the environments in which the concerned artifacts run.
func (u *trailUpdate) affected(ctx context.Context) (affected, error) {
	if u.concernsAll || len(u.concerned) == 0 {
		return affected{all: u.concernsAll}, nil
	}
	if u.everywhere {
		return affected{all: true}, nil
	}
	fingerprints := slices.Sorted(maps.Keys(u.concerned))
	return u.recorder.whereRunning(ctx, u.trail.Value.Org, fingerprints, u.children, u.repeated || u.givesChildren)
}

// announceIn adds new generations of the affected environments to a batch, after the check that nothing has started
// since they were read. If a record adds children to its artifact, the version of the running set also changes. Then a
// concurrent write that looked up environments without these children is refused, unless it stored its fact before.
func (r *Recorder) announceIn(batch *storage.Batch, org string, a affected, givesChildren bool) {
	if !a.all {
		r.Running.CheckIn(batch, org, a.version)
	}
	if givesChildren {
		r.Running.ChangeIn(batch, org)
	}
	if a.all {
		r.Generations.BumpIn(batch, org)
	} else {
		r.Generations.BumpEnvironmentsIn(batch, org, a.environments)
	}
}
