package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"attestry/evidence"
	"attestry/goroutine"
	"attestry/storage"
)

const (
	// updateAttempts bounds how often changes of a trail are tried again after changes of other processes.
	updateAttempts = 10
	// contendedAttempts is after how many attempts the documents that trails share are written in a separate batch.
	contendedAttempts = 2
	// everywhereAttempts is after how many attempts all environments of the organization get a new generation. The
	// running set may change faster than the environments of the artifacts can be looked up.
	everywhereAttempts = 6
	// maxCombined is how many changes of a trail are written at once.
	maxCombined = 64
	// maxCached bounds, in bytes, the trails and slots that a process caches.
	maxCached = 32 << 20
)

// errWriteFirst is the error of a change that depends on facts not written yet. The change is applied after the write.
var errWriteFirst = errors.New("what was recorded before must be written first")

// errNoTrail reports that a trail does not exist.
var errNoTrail = fmt.Errorf("the trail: %w", storage.ErrNotFound)

// change is something that is recorded in an existing trail.
type change struct {
	// ctx is that of its caller. A change is not begun after its end.
	ctx context.Context
	// apply applies the change to an update, or returns an error and changes nothing. Each attempt calls it.
	apply func(ctx context.Context, u *trailUpdate) error
	err   error
	// panicked means that apply has panicked. It is not called again.
	panicked bool
}

// change records something in a trail, by key, together with other changes of this process, or returns errNoTrail.
func (r *Recorder) change(ctx context.Context, trail string, apply func(context.Context, *trailUpdate) error) error {
	mine := &change{ctx: ctx, apply: apply}
	if err := r.changes.Do(ctx, trail, mine); err != nil {
		return err
	}
	return mine.err
}

// applyChanges records all changes of the trail of a key, as many with one batch as possible.
func (r *Recorder) applyChanges(ctx context.Context, trail string, changes []*change) {
	for len(changes) > 0 {
		some := changes[:min(len(changes), maxCombined)]
		done, err := r.applySome(ctx, trail, some)
		if err != nil {
			done = len(some)
			for _, one := range some {
				one.err = cmp.Or(one.err, err)
			}
		}
		changes = changes[done:]
	}
}

// applySome records the first changes and returns their number. Its error applies to all changes without an error.
func (r *Recorder) applySome(ctx context.Context, trail string, changes []*change) (done int, err error) {
	repeated := false
	for try := range updateAttempts {
		u, n, err := r.applyWhole(ctx, trail, changes, try, repeated)
		if err != nil {
			return 0, err
		}
		done = n
		if u.cached && failed(changes[:done]) {
			continue // the cached trail may lack what other processes have recorded since
		}
		if !u.pending() {
			r.keep(u)
			return done, nil
		}
		if err = u.write(ctx); err == nil {
			r.keep(u)
			return done, nil
		}
		var refused *storage.RefusedWrite
		if !errors.As(err, &refused) {
			return done, err
		}
		// If the first write was refused, nothing was stored.
		repeated = repeated || u.contended || refused.Index > 0
		if try == 0 {
			continue // the cached trail may just have been old
		}
		if err := storage.BackOff(ctx, try-1); err != nil {
			return done, err
		}
	}
	return done, errBusy
}

// applyWhole starts an update and applies the first ones of the changes to it. After a panic, which may have applied a
// change in part, the other changes are applied to a new update.
func (r *Recorder) applyWhole(ctx context.Context, trail string, changes []*change, try int, repeated bool) (u *trailUpdate, done int, err error) {
	for {
		if u, err = r.startUpdate(ctx, trail, try); err != nil {
			return nil, 0, err
		}
		u.repeated, u.contended, u.everywhere = repeated, try >= contendedAttempts, try >= everywhereAttempts
		done, whole := u.apply(ctx, changes)
		if whole {
			return u, done, nil
		}
	}
}

// apply applies as many changes as can be written together. whole is false if one has panicked.
func (u *trailUpdate) apply(ctx context.Context, changes []*change) (done int, whole bool) {
	for i, one := range changes {
		if one.panicked {
			continue
		}
		if one.err = one.ctx.Err(); one.err != nil {
			continue
		}
		one.err = goroutine.Recovered(func() error { return one.apply(ctx, u) })
		switch {
		case errors.Is(one.err, goroutine.ErrPanicked):
			one.panicked = true
			return i, false
		case errors.Is(one.err, errWriteFirst):
			one.err = nil
			return i, true
		}
	}
	return len(changes), true
}

func failed(changes []*change) bool {
	return slices.ContainsFunc(changes, func(one *change) bool { return one.err != nil })
}

// startUpdate returns the trail of a key for an attempt. The first attempt uses the cached trail.
func (r *Recorder) startUpdate(ctx context.Context, trail string, try int) (*trailUpdate, error) {
	if try == 0 {
		if u, ok := r.cached.Get(trail); ok {
			r.cached.Remove(trail)
			u.cached = true
			return u, nil
		}
	}
	seen, err := r.Trails.Collection.GetVersioned(ctx, trail)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, errNoTrail
	}
	if err != nil {
		return nil, err
	}
	return r.newUpdate(ctx, seen)
}

func (r *Recorder) newUpdate(ctx context.Context, seen storage.Versioned[evidence.Trail]) (*trailUpdate, error) {
	template, err := r.Templates.Get(ctx, seen.Value.Org, seen.Value.Template)
	if err != nil {
		return nil, err
	}
	u := &trailUpdate{recorder: r, trail: seen, template: template, slots: map[string]*slotUpdate{}}
	u.forgetFacts()
	return u, nil
}

// keep caches an update for the next one of its trail.
func (r *Recorder) keep(u *trailUpdate) {
	u.forgetFacts()
	for _, slot := range u.slots {
		slot.changed = false
	}
	r.cached.Put(u.trail.Value.Key(), u, u.size())
}

// changeExisting records something in the trail of a scope, or returns errNoTrail if trail or flow do not exist.
func (r *Recorder) changeExisting(ctx context.Context, scope Scope, apply func(context.Context, *trailUpdate) error) error {
	ref, err := r.Flows.Registry.Resolve(ctx, scope.Org, scope.Flow)
	if errors.Is(err, storage.ErrNotFound) {
		return errNoTrail
	}
	if err != nil {
		return err
	}
	return r.change(ctx, evidence.TrailKey(ref.ID, scope.Trail), apply)
}

// changeOpened records something in the trail of a scope. If need be it begins the trail and flow, and sets at.begun.
func (r *Recorder) changeOpened(ctx context.Context, scope Scope, at *recordingTime, apply func(context.Context, *trailUpdate) error) error {
	flow, err := r.Flows.Ensure(ctx, scope.Org, scope.Flow, scope.By, scope.At)
	if err != nil {
		return err
	}
	return r.changeOrBegin(ctx, scope, flow, at, apply)
}

// changeOrBegin records something in the trail of a scope. flow is the id of its flow. If need be, it begins the trail.
func (r *Recorder) changeOrBegin(ctx context.Context, scope Scope, flow string, at *recordingTime, apply func(context.Context, *trailUpdate) error) error {
	for {
		err := r.change(ctx, evidence.TrailKey(flow, scope.Trail), apply)
		if !errors.Is(err, errNoTrail) {
			return err
		}
		err = r.beginTrail(ctx, scope, flow, evidence.TrailChange{}, nil)
		if err != nil && !errors.Is(err, storage.ErrExists) {
			return err
		}
		at.begun = err == nil
	}
}
