package recording

import (
	"context"
	"errors"
	"maps"
	"slices"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/storage"
)

// errTemplateMoved ends an update that was prepared under another template.
var errTemplateMoved = errors.New("the trail's template has changed")

// patchAttempts bounds how often a change is prepared again because the trail
// got another template meanwhile.
const patchAttempts = 5

// Begin begins a trail of the flow of that id, or patches the one that is there.
// It reports whether it was begun.
func (r *Recorder) Begin(ctx context.Context, scope Scope, flow string, change evidence.TrailChange, repo *evidence.Repo) (created bool, err error) {
	for range patchAttempts {
		seen, err := r.trails.Collection.GetVersioned(ctx, evidence.TrailKey(flow, scope.Trail))
		switch {
		case errors.Is(err, storage.ErrNotFound):
			err = r.begin(ctx, scope, flow, change, repo)
			if !errors.Is(err, storage.ErrExists) {
				return err == nil, err
			}
		case err != nil:
			return false, err
		default:
			err = r.patch(ctx, scope, seen, change, repo)
			if !errors.Is(err, errTemplateMoved) {
				return false, err
			}
		}
	}
	return false, busy()
}

// patch changes a trail. Under another template, all slots are evaluated anew.
func (r *Recorder) patch(ctx context.Context, scope Scope, seen storage.Versioned[evidence.Trail], change evidence.TrailChange, repo *evidence.Repo) error {
	wanted := seen.Value.Template
	if change.Template != "" {
		wanted = change.Template
	}
	stored, err := r.templates.Get(ctx, scope.Org, wanted)
	if err != nil {
		return err
	}
	summaries := map[string]evidence.SlotSummary{}
	if wanted != seen.Value.Template {
		slots, err := r.slots.OfTrail(ctx, seen.Value.Key(), seen.Value.SlotNames())
		if err != nil {
			return err
		}
		for name, slot := range slots {
			summaries[name] = compliance.Summarize(wanted, &stored.Template, &slot)
		}
	}
	event, now := evidence.NewID(), scope.At
	moved := false
	trail, err := r.trails.Collection.UpdateFrom(ctx, seen, func(t *evidence.Trail) error {
		changed := t.Apply(change)
		if len(changed) == 0 {
			return nil
		}
		if t.Template != wanted {
			return errTemplateMoved
		}
		if moved = slices.Contains(changed, "template"); moved {
			for name, known := range t.Slots {
				fresh, ok := summaries[name]
				if !ok || fresh.Version < known.Version {
					return errTemplateMoved
				}
				t.Slots[name] = fresh
			}
		}
		scope.At = evidence.TimeAfter(t.LastModifiedAt, now)
		t.Touch(scope.At)
		t.EntriesAt = max(t.EntriesAt, scope.At)
		t.Status = compliance.Trail(&stored.Template, t)
		t.Pending = append(t.Pending, t.ChangeEvent(event, scope.ByID, scope.At, changed, repo))
		return nil
	})
	if err != nil {
		return err
	}
	if moved || leftBehind(&trail, event) {
		if err := r.announceTrail(ctx, &trail); err != nil {
			return err
		}
	}
	return r.trails.Settle(ctx, trail)
}

// announceTrail makes the environments evaluate again what runs of a trail. It must be called
// after the trail was changed.
func (r *Recorder) announceTrail(ctx context.Context, trail *evidence.Trail) error {
	// Older artifacts may run as well, whose fingerprints the trail does not know.
	if trail.HasOlderArtifacts() {
		return r.generations.Bump(ctx, trail.Org)
	}
	where, complete, err := r.running.Where(ctx, trail.Org, trail.Fingerprints())
	if err != nil {
		return err
	}
	if !complete {
		return r.generations.Bump(ctx, trail.Org)
	}
	batch := &storage.Batch{}
	r.generations.BumpEnvironmentsIn(batch, trail.Org, storage.Distinct(slices.Concat(slices.Collect(maps.Values(where))...)))
	return batch.Write(ctx, r.docs)
}

// leftBehind reports whether a change of a trail is pending whose author may have been
// killed before announcing it.
func leftBehind(trail *evidence.Trail, own string) bool {
	return slices.ContainsFunc(trail.Pending, func(e evidence.TrailEvent) bool {
		return e.Type == evidence.TrailUpdated && e.ID != own
	})
}
