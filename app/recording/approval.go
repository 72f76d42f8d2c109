package recording

import (
	"context"

	"attestry/evidence/approval"
)

// Approve records the approval of an artifact and tells its trail, which must exist. The
// approval gets the next release number of its flow, and a later time than all of the trail.
func (r *Recorder) Approve(ctx context.Context, fresh approval.Approval) error {
	trail, err := r.trails.Collection.Get(ctx, fresh.TrailKey())
	if err != nil {
		return err
	}
	if fresh.CreatedAt, err = r.timeAfter(ctx, fresh.Org, trail.LastModifiedAt, fresh.CreatedAt); err != nil {
		return err
	}
	made, err := r.approvals.Add(ctx, fresh)
	if err != nil {
		return err
	}
	return r.tellOfApproval(ctx, &made)
}

// tellOfApproval adds the event of a stored approval to the trail's, unless it is there.
func (r *Recorder) tellOfApproval(ctx context.Context, made *approval.Approval) error {
	return r.events.Add(ctx, made.Event())
}
