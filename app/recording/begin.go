package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// newTrail is a trail that is to be begun.
type newTrail struct {
	scope  Scope
	change evidence.TrailChange
	repo   *evidence.Repo
	trail  evidence.Trail
	err    error
}

// beginTrail begins a trail of the flow of that id, or returns storage.ErrExists. The trail gets a later time than all
// trails of the flow. Trails of one flow that are begun at the same time in this process are written together.
func (r *Recorder) beginTrail(ctx context.Context, scope Scope, flow string, change evidence.TrailChange, repo *evidence.Repo) error {
	mine := &newTrail{scope: scope, change: change, repo: repo}
	if err := r.begins.Do(ctx, flow, mine); err != nil {
		return err
	}
	return mine.err
}

// beginAll begins the trails of a flow, as many with one batch as possible.
func (r *Recorder) beginAll(ctx context.Context, flow string, begins []*newTrail) {
	for some := range slices.Chunk(begins, maxCombined) {
		err := r.beginSome(ctx, flow, some)
		for _, one := range some {
			one.err = cmp.Or(one.err, err)
		}
	}
}

// beginSome begins trails of a flow. Its error applies to all trails that have no error yet.
func (r *Recorder) beginSome(ctx context.Context, flow string, begins []*newTrail) error {
	found, err := r.Flows.GetMany(ctx, []string{flow})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("flow %s has a name but no document", flow)
	}
	tally, err := r.Trails.Tallies.GetOrZero(ctx, flow)
	if err != nil {
		return err
	}
	begun, err := r.prepare(ctx, &found[0], tally.Value.LatestAt, begins)
	if err != nil || len(begun) == 0 {
		return err
	}
	err = r.insertTogether(ctx, begun, tally)
	if _, ok := errors.AsType[*storage.RefusedWrite](err); !ok {
		return err
	}
	// Some trails may have been inserted before the write was refused. insertAlone accepts them.
	for _, one := range begun {
		one.err = r.insertAlone(ctx, one.trail)
	}
	return nil
}

// prepare makes the trails, and returns those that can be inserted. If one name is begun several
// times, all but the first get the error storage.ErrExists. A panic becomes the error of its trail
// alone. latest is the time of the flow's latest trail in Unix seconds.
func (r *Recorder) prepare(ctx context.Context, flow *evidence.Flow, latest float64, begins []*newTrail) ([]*newTrail, error) {
	names := map[string]bool{}
	var begun []*newTrail
	for _, one := range begins {
		if names[one.scope.Trail] {
			one.err = storage.ErrExists
			continue
		}
		err := goroutine.Recovered(func() error { return r.prepareOne(ctx, flow, latest, one) })
		if errors.Is(err, goroutine.ErrPanicked) {
			one.err = err
			continue
		}
		if err != nil {
			return nil, err
		}
		names[one.scope.Trail] = true
		latest = one.trail.CreatedAt
		begun = append(begun, one)
	}
	return begun, nil
}

func (r *Recorder) prepareOne(ctx context.Context, flow *evidence.Flow, latest float64, one *newTrail) error {
	scope := one.scope
	at, err := r.timeAfter(ctx, scope.Org, latest, scope.At)
	if err != nil {
		return err
	}
	one.trail = evidence.Trail{
		ID: evidence.NewID(), Org: scope.Org, Flow: flow.ID, Name: scope.Trail,
		CreatedAt: at, CreatedBy: scope.By, CreatedByID: scope.ByID,
		Template: flow.Template, EntriesAt: at, Uncounted: true,
	}
	one.trail.Apply(one.change)
	one.trail.Touch(at)
	stored, err := r.Templates.Get(ctx, scope.Org, one.trail.Template)
	if err != nil {
		return err
	}
	compliance.Update(&stored.Template, &one.trail)
	one.trail.Pending = []evidence.TrailEvent{one.trail.BeginEvent(one.repo)}
	return nil
}

// insertTogether inserts trails, counts them and adds their events with one batch. If only the beginning of the batch
// is stored, the trails still have Uncounted and Pending, and their next reader completes the rest.
func (r *Recorder) insertTogether(ctx context.Context, begins []*newTrail, tally storage.Versioned[pipelines.TrailTally]) error {
	batch, trails := &storage.Batch{}, make([]evidence.Trail, 0, len(begins))
	revisions := make([]int64, 0, len(begins))
	for _, one := range begins {
		trails = append(trails, one.trail)
		revisions = append(revisions, r.Trails.Collection.InsertIn(batch, &one.trail))
	}
	r.Trails.Tallies.AddIn(batch, trails, tally)
	for i := range trails {
		if err := r.TrailEvents.EnqueueIn(ctx, batch, trails[i].Pending...); err != nil {
			return err
		}
		trails[i].Uncounted, trails[i].Pending = false, nil
		revisions[i] = r.Trails.Collection.ReplaceIn(batch, &trails[i], revisions[i])
	}
	if err := batch.Write(ctx, r.docs); err != nil {
		return err
	}
	for i := range trails {
		// A trail that is not cached is read again.
		if u, err := r.newUpdate(ctx, storage.Versioned[evidence.Trail]{Value: trails[i], Revision: revisions[i]}); err == nil {
			r.keep(u)
		}
	}
	return nil
}

// insertAlone inserts a trail, counts it and adds its event. It returns storage.ErrExists for a taken name.
func (r *Recorder) insertAlone(ctx context.Context, trail evidence.Trail) error {
	err := r.Trails.Collection.Insert(ctx, trail)
	if errors.Is(err, storage.ErrExists) {
		stored, getErr := r.Trails.Collection.Get(ctx, trail.Key())
		if getErr != nil || stored.ID != trail.ID {
			return errors.Join(getErr, err)
		}
		err = nil
	}
	if err != nil {
		return err
	}
	return r.Trails.ApplyPending(ctx, trail)
}
