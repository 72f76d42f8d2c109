package recording

import (
	"context"

	"attestry/evidence"
)

// Waiting returns how many changes wait until another one of their trail is written.
func (r *Recorder) Waiting() int { return r.changes.Waiting() }

// AttestAndPanic attests in a trail, by key, with a change that panics when it is applied in part.
func (r *Recorder) AttestAndPanic(ctx context.Context, scope Scope, trail string, a evidence.Attestation) error {
	return r.change(ctx, trail, func(ctx context.Context, u *trailUpdate) error {
		at := recordingTime{now: a.CreatedAt}
		if err := r.attest(ctx, scope, u, a, &at, nil); err != nil {
			return err
		}
		u.events = u.events[:len(u.events)-1]
		panic("the change is applied in part")
	})
}

// NamedBegin is a trail to begin, with the id of a template or "".
type NamedBegin struct{ Trail, Template string }

// BeginTogether begins trails of a flow with one batch, and returns their errors in order.
func (r *Recorder) BeginTogether(ctx context.Context, scope Scope, flow string, wanted ...NamedBegin) []error {
	begins := make([]*newTrail, 0, len(wanted))
	for _, one := range wanted {
		scope.Trail = one.Trail
		begins = append(begins, &newTrail{scope: scope, change: evidence.TrailChange{Template: one.Template}})
	}
	r.beginAll(ctx, flow, begins)
	errs := make([]error, len(begins))
	for i, one := range begins {
		errs[i] = one.err
	}
	return errs
}

// WhereRunning returns the environments in which artifacts or their children run. It looks up children not given.
// refresh ignores the cache.
func (r *Recorder) WhereRunning(ctx context.Context, org string, fingerprints []string, children map[string][]string, refresh bool) ([]string, error) {
	found, err := r.whereRunning(ctx, org, fingerprints, children, refresh)
	return found.environments, err
}
