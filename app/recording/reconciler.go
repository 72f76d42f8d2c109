package recording

import (
	"context"
	"errors"

	"attestry/evidence"
	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// Reconciler applies the facts that a process stored before it was killed, and that the aggregates
// do not reflect. No client got an answer to these.
type Reconciler struct {
	recorder *Recorder
	marks    *highWaterMarks
}

// NewReconciler makes a reconciler of what a recorder records.
func NewReconciler(recorder *Recorder) *Reconciler {
	return &Reconciler{recorder: recorder, marks: recorder.marks}
}

// Reconcile reads the facts that an organization recorded up to a time, which must be so long ago
// that no process can still be applying them. It returns how many it had to apply. After an error
// it reads the same ones again the next time.
func (r *Reconciler) Reconcile(ctx context.Context, org string, until float64) (int, error) {
	last, err := r.marks.get(ctx, org)
	if err != nil || until <= last.start() {
		return 0, err
	}
	span := storage.Query{
		From: &storage.Bound{Value: last.start(), Exclusive: true}, To: &storage.Bound{Value: until}, Equal: []any{org}, Limit: storage.MaxMany,
	}
	artifacts, err := r.artifacts(ctx, span)
	attestations, attestationFault := r.attestations(ctx, span)
	approvals, approvalFault := r.approvals(ctx, span)
	applied := artifacts.applied + attestations.applied + approvals.applied
	if err := errors.Join(err, attestationFault, approvalFault); err != nil {
		return applied, err
	}
	if !last.advance(max(artifacts.newest, attestations.newest, approvals.newest)) {
		return applied, nil
	}
	return applied, r.marks.collection.Put(ctx, last)
}

// artifacts applies the artifacts whose events or leaves are missing.
func (r *Reconciler) artifacts(ctx context.Context, span storage.Query) (walked, error) {
	span.Index = "created"
	return walk(ctx, r.recorder, "artifacts", r.recorder.artifacts.Collection, span, "created", r.recorder.reapplyArtifact)
}

// attestations applies the attestations whose events or leaves are missing.
func (r *Reconciler) attestations(ctx context.Context, span storage.Query) (walked, error) {
	span.Index = "time"
	return walk(ctx, r.recorder, "attestations", r.recorder.attestations.Collection, span, "time", r.recorder.reapplyAttestation)
}

// approvals adds the missing events and leaves of approvals.
func (r *Reconciler) approvals(ctx context.Context, span storage.Query) (walked, error) {
	span.Index = "created"
	return walk(ctx, r.recorder, "approvals", r.recorder.approvals.Collection, span, "created", r.recorder.addApprovalEvent)
}

// walked is how many facts of a span had to be applied, and the time of the newest one in it, in
// Unix seconds.
type walked struct {
	applied int
	newest  float64
}

// walk applies the facts of a span, in the collection of a name, whose events or leaves are missing. If one cannot be
// applied, the others still are. timeField is the field that holds the time of a fact.
func walk[T any](ctx context.Context, r *Recorder, name string, collection storage.Collection[T], span storage.Query, timeField string, apply func(context.Context, *T) error) (walked, error) {
	var result walked
	var faults []error
	for {
		found, next, err := collection.FindFields(ctx, span)
		if err != nil {
			return result, err
		}
		for _, fact := range found {
			at, _ := fact.Fields[timeField].(float64)
			result.newest = max(result.newest, at)
		}
		ids, err := r.unreflected(ctx, name, found)
		if err != nil {
			return result, err
		}
		facts, err := collection.GetMany(ctx, ids)
		if err != nil {
			return result, err
		}
		for i := range facts {
			if err := goroutine.Recovered(func() error { return apply(ctx, &facts[i]) }); err != nil {
				faults = append(faults, collection.Wrap("apply", collection.IDOf(&facts[i]), err))
				continue
			}
			result.applied++
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
	refs := make([]pipelines.TrailEventRef, 0, len(facts))
	for _, fact := range facts {
		trail, _ := fact.Fields["trail"].(string)
		refs = append(refs, pipelines.TrailEventRef{Trail: trail, ID: fact.ID})
	}
	missing, err := r.events.Missing(ctx, refs)
	if err != nil {
		return nil, err
	}
	ids := storage.IDs(missing, func(ref pipelines.TrailEventRef) string { return ref.ID })
	org, _ := facts[0].Fields["org"].(string)
	unlogged, err := r.logged.Unlogged(ctx, name, org, facts)
	return storage.Distinct(append(ids, unlogged...)), err
}

// reapplyArtifact applies a stored record again.
func (r *Recorder) reapplyArtifact(ctx context.Context, record *evidence.ArtifactRecord) error {
	repo, err := r.repoOf(ctx, record.Org, record.Repo)
	if err != nil {
		return err
	}
	scope := scopeOf(record.Org, record.Trail, record.ReportedBy, record.ReportedByID, record.CreatedAt)
	return r.changeOrBegin(ctx, scope, record.Flow, &recordingTime{}, func(ctx context.Context, u *trailUpdate) error {
		if u.pending() {
			return errWriteFirst
		}
		in, err := r.loadReported(ctx, u, record)
		if err != nil {
			return err
		}
		u.applyArtifact(in, record, repo)
		r.artifacts.Collection.AddIn(&u.facts, *record) // its leaf may be missing
		return nil
	})
}

// repoOf returns the repository that a report named, for its event; nil when it
// named none.
func (r *Recorder) repoOf(ctx context.Context, org, id string) (*evidence.Repo, error) {
	if id == "" {
		return nil, nil
	}
	repo, err := r.repos.Get(ctx, org, id)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	return &repo, err
}

// reapplyAttestation applies a stored attestation again.
func (r *Recorder) reapplyAttestation(ctx context.Context, a *evidence.Attestation) error {
	repo, err := r.repoOf(ctx, a.Org, a.Repo)
	if err != nil {
		return err
	}
	scope := scopeOf(a.Org, a.Trail, a.ReportedBy, a.ReportedByID, a.CreatedAt)
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
		r.attestations.Collection.AddIn(&u.facts, *a) // its leaf may be missing
		return nil
	})
}

func scopeOf(org, trail, by, byID string, at float64) Scope {
	return Scope{Org: org, Trail: trail, By: by, ByID: byID, At: at}
}
