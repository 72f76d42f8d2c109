package snapshot

import (
	"context"
	"maps"

	"attestry/evidence/notification"
	rules "attestry/evidence/snapshot"
	"attestry/storage"
)

// scale finds the artifacts that run on in another number of instances than by the report before.
// It returns whether the numbers differ from those of the last snapshot, the one that is made now
// included, nil if that stays as it was; and what is to be written before the head.
func (p *Processor) scale(ctx context.Context, h *lease, record *pending, next *nextSnapshot) (*bool, *storage.Batch, error) {
	batch := &storage.Batch{}
	if record.Repeat {
		return nil, batch, nil
	}
	head := h.current()
	last, err := p.store.Scalings.Of(ctx, &head)
	if err != nil {
		return nil, nil, err
	}
	scaling, scaled := rules.Scale(next.before, next.changes, last)
	err = p.store.Outbox.AddScaledIn(ctx, batch, record.Org, record.ID, record.AcceptedAt, notification.ArtifactsScaled{
		Environment: record.Environment, Snapshot: head.Last, Artifacts: scaled,
	})
	if next.significant {
		return new(false), batch, err
	}
	if !maps.Equal(scaling, last) {
		p.store.Scalings.PutIn(batch, record.Environment, scaling)
	}
	return new(len(scaling) > 0), batch, err
}
