package recording

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/storage"
)

// errReevaluate ends an update that was prepared under another template or for another author.
var errReevaluate = errors.New("the trail's template or commit has changed")

// patchAttempts bounds how often a change is prepared again because the trail got another template or commit meanwhile.
const patchAttempts = 5

// Begin begins a trail of the flow of that id, or changes the existing one. It reports whether it was begun.
func (r *Recorder) Begin(ctx context.Context, scope Scope, flow string, change evidence.TrailChange, repo *evidence.Repo) (created bool, err error) {
	for range patchAttempts {
		seen, err := r.Trails.Collection.GetVersioned(ctx, evidence.TrailKey(flow, scope.Trail))
		switch {
		case errors.Is(err, storage.ErrNotFound):
			err = r.beginTrail(ctx, scope, flow, change, repo)
			if !errors.Is(err, storage.ErrExists) {
				return err == nil, err
			}
		case err != nil:
			return false, err
		default:
			err = r.patch(ctx, scope, seen, change, repo)
			if !errors.Is(err, errReevaluate) {
				return false, err
			}
		}
	}
	return false, errBusy
}

// patch changes a trail. For another template, or another author where approvals are required, it evaluates all slots.
func (r *Recorder) patch(ctx context.Context, scope Scope, seen storage.Versioned[evidence.Trail], change evidence.TrailChange, repo *evidence.Repo) error {
	wanted := cmp.Or(change.Template, seen.Value.Template)
	stored, err := r.Templates.Get(ctx, scope.Org, wanted)
	if err != nil {
		return err
	}
	author := seen.Value.Author()
	if change.Commit != nil {
		author = evidence.ZeroIfNil(change.Commit.Author)
	}
	reevaluate := wanted != seen.Value.Template || author != seen.Value.Author() && stored.Template.FourEyes()
	summaries := map[string]evidence.SlotSummary{}
	if reevaluate {
		slots, err := r.Slots.OfTrail(ctx, seen.Value.Key(), seen.Value.SlotNames())
		if err != nil {
			return err
		}
		for name, slot := range slots {
			summaries[name] = compliance.Summarize(wanted, &stored.Template, author, &slot)
		}
	}
	event, now := evidence.NewID(), scope.At
	trail, err := r.Trails.Collection.UpdateFrom(ctx, seen, func(t *evidence.Trail) error {
		if t.Author() != seen.Value.Author() || t.Template != seen.Value.Template {
			return errReevaluate
		}
		changed := t.Apply(change)
		if len(changed) == 0 {
			return nil
		}
		if reevaluate {
			for name, known := range t.Slots {
				fresh, ok := summaries[name]
				if !ok || fresh.Version < known.Version {
					return errReevaluate
				}
				t.Slots[name] = fresh
			}
		}
		scope.At = evidence.TimeAfter(t.LastModifiedAt, now)
		t.Touch(scope.At)
		if author != seen.Value.Author() {
			t.AuthorChangedAt = scope.At
		}
		t.EntriesAt = max(t.EntriesAt, scope.At)
		compliance.Update(&stored.Template, t)
		t.Pending = append(t.Pending, t.ChangeEvent(event, scope.ByID, scope.At, changed, repo))
		return nil
	})
	if err != nil {
		return err
	}
	if reevaluate || author != seen.Value.Author() || hasUnannounced(&trail, event) {
		if err := r.announceTrail(ctx, &trail); err != nil {
			return err
		}
	}
	return r.Trails.ApplyPending(ctx, trail)
}

// announceTrail changes the generations of the environments in which artifacts of a trail run. Call it after the trail
// was changed. Then an environment that was evaluated with the old trail is evaluated again.
func (r *Recorder) announceTrail(ctx context.Context, trail *evidence.Trail) error {
	// Older artifacts, whose fingerprints the trail does not keep, may still run.
	if trail.HasOlderArtifacts() {
		return r.Generations.Bump(ctx, trail.Org)
	}
	found, err := r.whereRunning(ctx, trail.Org, trail.Fingerprints(), nil, true)
	if err != nil {
		return err
	}
	if found.all {
		return r.Generations.Bump(ctx, trail.Org)
	}
	batch := &storage.Batch{}
	r.Generations.BumpEnvironmentsIn(batch, trail.Org, found.environments)
	return batch.Write(ctx, r.docs)
}

// hasUnannounced reports whether the trail has a pending change other than own, which may not be announced yet.
func hasUnannounced(trail *evidence.Trail, own string) bool {
	return slices.ContainsFunc(trail.Pending, func(e evidence.TrailEvent) bool {
		return e.Type == evidence.TrailUpdated && e.ID != own
	})
}
