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
		names, err := r.place(ctx, scope, u, &a)
		if err != nil {
			return err
		}
		at := recordingTime{now: a.CreatedAt}
		if err := r.attest(ctx, u, names, &a, &at, nil); err != nil {
			return err
		}
		u.events = u.events[:len(u.events)-1]
		panic("half of the change is made")
	})
}

// BeginTogether begins trails of a flow with one batch, each with a template, and returns the errors by
// the trails' names.
func (r *Recorder) BeginTogether(ctx context.Context, scope Scope, flow string, templates map[string]string) map[string]error {
	var begins []*begin
	for name, template := range templates {
		scope.Trail = name
		begins = append(begins, &begin{scope: scope, change: evidence.TrailChange{Template: template}})
	}
	r.beginAll(ctx, flow, begins)
	errs := map[string]error{}
	for _, one := range begins {
		errs[one.scope.Trail] = one.err
	}
	return errs
}
