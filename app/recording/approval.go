package recording

import (
	"context"

	"attestry/evidence/approval"
	"attestry/storage"
)

// Approve records the approval of an artifact and its event with one batch. The trail must exist. The
// approval gets the next release number of its flow, and a later time than everything in the trail.
func (r *Recorder) Approve(ctx context.Context, fresh approval.Approval) error {
	trail, err := r.Trails.Collection.Get(ctx, fresh.TrailKey())
	if err != nil {
		return err
	}
	if fresh.CreatedAt, err = r.timeAfter(ctx, fresh.Org, trail.LastModifiedAt, fresh.CreatedAt); err != nil {
		return err
	}
	_, err = r.Approvals.Add(ctx, fresh, func(batch *storage.Batch, made *approval.Approval) error {
		return r.TrailEvents.EnqueueIn(ctx, batch, made.Event())
	})
	return err
}

// addApprovalEvent adds the leaf and the event of a stored approval, unless they are there.
func (r *Recorder) addApprovalEvent(ctx context.Context, made *approval.Approval) error {
	batch := &storage.Batch{}
	r.Approvals.Collection.AddIn(batch, *made)
	if err := batch.Write(ctx, r.docs); err != nil {
		return err
	}
	return r.TrailEvents.Add(ctx, made.Event())
}
