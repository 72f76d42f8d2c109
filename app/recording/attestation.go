package recording

import (
	"context"
	"errors"

	"attestry/evidence"
)

// Attest records an attestation, and begins its flow and trail unless it needs them to exist
// (docs/semantics.md 4.2). It completes the attestation from its trail. An attestation of a
// fingerprint that was not reported in the trail is evidence.NotFound.
func (r *Recorder) Attest(ctx context.Context, scope Scope, attestation evidence.Attestation, repo *evidence.Repo) error {
	at := recordingTime{now: attestation.CreatedAt}
	attest := func(ctx context.Context, u *trailUpdate) error {
		return r.attest(ctx, scope, u, attestation, &at, repo)
	}
	if attestation.Fingerprint != "" {
		err := r.changeExisting(ctx, scope, attest)
		if !errors.Is(err, errNoTrail) {
			return err
		}
		if err := r.checkUnreported(ctx, scope, &attestation); err != nil {
			return err
		}
	}
	return r.changeOpened(ctx, scope, &at, attest)
}

// attest loads what an attestation depends on and applies it, later than its trail and its control's decisions.
func (r *Recorder) attest(ctx context.Context, scope Scope, u *trailUpdate, a evidence.Attestation, at *recordingTime, repo *evidence.Repo) error {
	names, err := r.loadNames(ctx, scope, u, &a)
	if err != nil {
		return err
	}
	in, err := r.loadAttestation(ctx, u, names, &a)
	if err != nil {
		return err
	}
	a.CreatedAt, a.ControlVersion = at.choose(u, in.times), in.controlVersion
	u.applyAttestation(in, &a, repo)
	return nil
}

// Override records an attestation that replaces the verdict of the latest one of its name, type and target, or of one
// that is required and missing. It is later than the original. Without either it is evidence.Invalid.
func (r *Recorder) Override(ctx context.Context, scope Scope, attestation evidence.Attestation, repo *evidence.Repo) error {
	unknown := evidence.Errorf(evidence.Invalid,
		"Attestation named '%s' of type '%s' does not exist in trail '%s' of flow '%s' belonging to organization '%s'",
		attestation.Name, attestation.Type, scope.Trail, scope.Flow, scope.OrgName)
	at := recordingTime{now: attestation.CreatedAt}
	err := r.changeExisting(ctx, scope, func(ctx context.Context, u *trailUpdate) error {
		if u.pending() {
			return errWriteFirst
		}
		a := attestation
		names, err := r.loadNames(ctx, scope, u, &a)
		if err != nil {
			return err
		}
		original, control, ok, err := r.loadOverridden(ctx, u, names, &a)
		if err != nil {
			return err
		}
		if !ok {
			return unknown
		}
		if control != "" {
			a.Control = control
		}
		a.Override = &evidence.Override{Reason: a.Override.Reason, Original: original.Original()}
		in, err := r.loadAttestation(ctx, u, names, &a)
		if err != nil {
			return err
		}
		in.times.superseded = max(in.times.superseded, original.Time)
		a.CreatedAt, a.ControlVersion = at.choose(u, in.times), in.controlVersion
		u.applyAttestation(in, &a, repo)
		return nil
	})
	if errors.Is(err, errNoTrail) {
		return unknown
	}
	return err
}
