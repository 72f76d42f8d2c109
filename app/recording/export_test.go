package recording

import (
	"context"

	"attestry/evidence"
)

// Waiting returns how many changes of trails wait for another one to be written.
func (r *Recorder) Waiting() int { return r.changes.Waiting() }

// AttestAndPanic records an attestation in the trail of a key by a change that panics when it has made
// half of its effects.
func (r *Recorder) AttestAndPanic(ctx context.Context, scope Scope, trail string, a evidence.Attestation) error {
	return r.change(ctx, trail, func(ctx context.Context, u *trailUpdate) error {
		at := recordingTime{now: a.CreatedAt}
		if err := r.attest(ctx, scope, u, a, &at, nil); err != nil {
			return err
		}
		u.events = u.events[:len(u.events)-1]
		panic("half of the change is made")
	})
}

// NamedBegin is a trail that is to be begun, with the id of a template or "".
type NamedBegin struct{ Trail, Template string }

// BeginTogether begins trails of a flow with one batch, and returns their errors in the same order.
func (r *Recorder) BeginTogether(ctx context.Context, scope Scope, flow string, wanted ...NamedBegin) []error {
	begins := make([]*begin, 0, len(wanted))
	for _, one := range wanted {
		scope.Trail = one.Trail
		begins = append(begins, &begin{scope: scope, change: evidence.TrailChange{Template: one.Template}})
	}
	r.beginAll(ctx, flow, begins)
	errs := make([]error, len(begins))
	for i, one := range begins {
		errs[i] = one.err
	}
	return errs
}

// WhereRunning returns the environments in which artifacts run, or their children, of which some are given.
func (r *Recorder) WhereRunning(ctx context.Context, org string, fingerprints []string, children map[string][]string) ([]string, error) {
	found, err := r.whereRunning(ctx, org, fingerprints, children, true)
	return found.environments, err
}
