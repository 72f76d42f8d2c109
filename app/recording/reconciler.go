package recording

import (
	"context"
	"errors"

	"attestry/evidence"
	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// appliedBytes bounds the facts that the reconciler has in memory at a time, in bytes.
const appliedBytes = 8 << 20

// Reconcile applies facts whose process was killed before it updated the aggregates and answered. It reads the facts of
// an organization up to until, a time so long ago that no process still applies them, and returns how many it had to
// apply. After an error the next call reads the same facts again.
func (r *Recorder) Reconcile(ctx context.Context, org string, until float64) (int, error) {
	last, err := r.marks.get(ctx, org)
	if err != nil || until <= last.start() {
		return 0, err
	}
	byCreation := storage.Query{
		Index: "created", Equal: []any{org}, Limit: storage.MaxMany,
		From: &storage.Bound{Value: last.start(), Exclusive: true}, To: &storage.Bound{Value: until},
	}
	byTime := byCreation
	byTime.Index = "time"
	artifacts, err := reapply(ctx, r, "artifacts", r.Artifacts.Collection, byCreation, r.reapplyArtifact)
	attestations, attestationErr := reapply(ctx, r, "attestations", r.Attestations.Collection, byTime, r.reapplyAttestation)
	approvals, approvalErr := reapply(ctx, r, "approvals", r.Approvals.Collection, byCreation, r.addApprovalEvent)
	applied := artifacts.applied + attestations.applied + approvals.applied
	if err := errors.Join(err, attestationErr, approvalErr); err != nil {
		return applied, err
	}
	if !last.advance(max(artifacts.newest, attestations.newest, approvals.newest)) {
		return applied, nil
	}
	return applied, r.marks.collection.Put(ctx, last)
}

// reapplied is the number of facts that reapply applied, and the time of the span's newest fact, in Unix seconds.
type reapplied struct {
	applied int
	newest  float64
}

// reapply applies the facts of a time span, in the collection of a name, whose events or leaves are missing. If one
// cannot be applied, the others still are. The index of the span has the name of the field with the time of a fact.
func reapply[T any](ctx context.Context, r *Recorder, name string, collection storage.Collection[T], span storage.Query, apply func(context.Context, *T) error) (reapplied, error) {
	var result reapplied
	var faults []error
	for {
		found, next, err := collection.FindFields(ctx, span)
		if err != nil {
			return result, err
		}
		for _, fact := range found {
			result.newest = max(result.newest, fact.Float(span.Index))
		}
		ids, err := r.unreflected(ctx, name, found)
		if err != nil {
			return result, err
		}
		err = collection.OfIDs(ids).Each(ctx, appliedBytes, func(fact *T) error {
			if err := goroutine.Recovered(func() error { return apply(ctx, fact) }); err != nil {
				faults = append(faults, collection.Wrap("apply", collection.IDOf(fact), err))
			} else {
				result.applied++
			}
			return nil
		})
		if err != nil {
			return result, err
		}
		if next == "" || ctx.Err() != nil {
			return result, errors.Join(append(faults, ctx.Err())...)
		}
		span.After = next
	}
}

// unreflected returns the ids of those facts, in the collection of a name, whose events or leaves are missing.
func (r *Recorder) unreflected(ctx context.Context, name string, facts []storage.Record) ([]string, error) {
	if len(facts) == 0 {
		return nil, nil
	}
	refs := evidence.Map(facts, func(fact storage.Record) pipelines.TrailEventRef {
		return pipelines.TrailEventRef{Trail: fact.Text("trail"), ID: fact.ID}
	})
	missing, err := r.TrailEvents.Missing(ctx, refs)
	if err != nil {
		return nil, err
	}
	ids := evidence.Map(missing, func(ref pipelines.TrailEventRef) string { return ref.ID })
	unlogged, err := r.Logged.Unlogged(ctx, name, facts[0].Text("org"), facts)
	return evidence.Distinct(append(ids, unlogged...)), err
}

func (r *Recorder) reapplyArtifact(ctx context.Context, record *evidence.ArtifactRecord) error {
	repo, err := r.repoOf(ctx, record.Org, record.Repo)
	if err != nil {
		return err
	}
	scope := Scope{Org: record.Org, Trail: record.Trail, By: record.ReportedBy, ByID: record.ReportedByID, At: record.CreatedAt}
	return r.changeOrBegin(ctx, scope, record.Flow, &recordingTime{}, func(ctx context.Context, u *trailUpdate) error {
		if u.pending() {
			return errWriteFirst
		}
		in, err := r.loadReported(ctx, u, record)
		if err != nil {
			return err
		}
		u.applyArtifact(in, record, repo)
		return nil
	})
}

// repoOf returns the repository that a report named, for its event; nil when it named none.
func (r *Recorder) repoOf(ctx context.Context, org, id string) (*evidence.Repo, error) {
	if id == "" {
		return nil, nil
	}
	repo, err := r.Repos.Get(ctx, org, id)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	return &repo, err
}

func (r *Recorder) reapplyAttestation(ctx context.Context, a *evidence.Attestation) error {
	repo, err := r.repoOf(ctx, a.Org, a.Repo)
	if err != nil {
		return err
	}
	scope := Scope{Org: a.Org, Trail: a.Trail, By: a.ReportedBy, ByID: a.ReportedByID, At: a.CreatedAt}
	return r.changeOrBegin(ctx, scope, a.Flow, &recordingTime{}, func(ctx context.Context, u *trailUpdate) error {
		names, _, err := r.namesOf(ctx, scope, u, a)
		if err != nil && evidence.CodeOf(err) != evidence.NotFound { // it was accepted when it was made
			return err
		}
		slots, err := u.loadAttested(ctx, names, a)
		if err != nil {
			return err
		}
		u.applyAttestation(attestationInput{slots: slots}, a, repo)
		return nil
	})
}
