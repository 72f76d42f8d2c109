package reports

import (
	"context"
	"maps"

	"attestry/evidence/notification"
	rules "attestry/evidence/snapshot"
	"attestry/storage"
)

// scale finds the artifacts that run on in another number of instances than by the report before.
// It returns what becomes of rules.Head.Scaled, nil if that stays as it was, and what is to be
// written before the head.
func (p *Processor) scale(ctx context.Context, h *lease, record *pending, next *nextSnapshot) (*int64, *storage.Batch, error) {
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
	switch {
	case next.significant || len(scaling) == 0:
		return new(int64(0)), batch, err
	case maps.Equal(scaling, last):
		return nil, batch, err
	}
	p.store.Scalings.PutIn(batch, record.Environment, record.Arrival, scaling)
	return new(record.Arrival), batch, err
}
