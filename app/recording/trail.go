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

// Begin begins a trail of the flow of that id, or patches the one that is there.
// It reports whether it was begun.
func (r *Recorder) Begin(ctx context.Context, scope Scope, flow string, change evidence.TrailChange, repo *evidence.Repo) (created bool, err error) {
	for range reflectAttempts {
		seen, err := r.trails.Collection.GetVersioned(ctx, evidence.TrailKey(flow, scope.Trail))
		switch {
		case errors.Is(err, storage.ErrNotFound):
			_, err = r.create(ctx, scope, flow, change, repo)
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

// create begins a trail that is not there yet, or returns ErrExists. It begins later
// than all trails of the flow, the last of which is the flow's latest.
func (r *Recorder) create(ctx context.Context, scope Scope, flow string, change evidence.TrailChange, repo *evidence.Repo) (evidence.Trail, error) {
	found, err := r.flows.GetMany(ctx, []string{flow})
	if err != nil {
		return evidence.Trail{}, err
	}
	if len(found) == 0 {
		return evidence.Trail{}, fmt.Errorf("flow %s has a name but no document", flow)
	}
	tally, err := r.trails.Tallies.LookUp(ctx, flow)
	if err != nil {
		return evidence.Trail{}, err
	}
	if scope.At, err = r.timeAfter(ctx, scope.Org, tally.Value.LatestAt, scope.At); err != nil {
		return evidence.Trail{}, err
	}
	trail := evidence.Trail{
		ID: evidence.NewID(), Org: scope.Org, Flow: flow, Name: scope.Trail,
		CreatedAt: scope.At, CreatedBy: scope.By, CreatedByID: scope.ByID,
		Template: found[0].Template, EntriesAt: scope.At, Uncounted: true,
	}
	trail.Apply(change)
	trail.Touch(scope.At)
	stored, err := r.templates.Get(ctx, scope.Org, trail.Template)
	if err != nil {
		return trail, err
	}
	trail.Status = compliance.Trail(&stored.Template, &trail)
	trail.Pending = []evidence.TrailEvent{trail.BeginEvent(repo)}
	if err := r.trails.Collection.Insert(ctx, trail); err != nil {
		return trail, err
	}
	return trail, r.trails.SettleFrom(ctx, trail, tally)
}

// open returns a trail, which is begun if it is not there, and the time of the newest
// thing in it, in Unix seconds. What the trail is begun for may have the same time as the
// trail, and only that.
func (r *Recorder) open(ctx context.Context, scope Scope, flow string) (seen storage.Versioned[evidence.Trail], last float64, err error) {
	begun := false
	for {
		seen, err := r.trails.Collection.GetVersioned(ctx, evidence.TrailKey(flow, scope.Trail))
		switch {
		case errors.Is(err, storage.ErrNotFound):
		case begun:
			return seen, seen.Value.CreatedAt - microsecond, err
		default:
			return seen, seen.Value.LastModifiedAt, err
		}
		_, err = r.create(ctx, scope, flow, evidence.TrailChange{}, nil)
		if err != nil && !errors.Is(err, storage.ErrExists) {
			return seen, 0, err
		}
		begun = err == nil
	}
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
		if err := r.bumpIfTrailRuns(ctx, &trail); err != nil {
			return err
		}
	}
	return r.trails.Settle(ctx, trail)
}

// leftBehind reports whether a change of a trail is pending whose author may have been
// killed before announcing it.
func leftBehind(trail *evidence.Trail, own string) bool {
	return slices.ContainsFunc(trail.Pending, func(e evidence.TrailEvent) bool {
		return e.Type == evidence.TrailUpdated && e.ID != own
	})
}
