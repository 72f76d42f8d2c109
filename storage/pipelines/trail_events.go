package pipelines

import (
	"context"
	"slices"

	"attestry/evidence"
	"attestry/storage"
)

var trailEventSchema = storage.NewSchema("trail_events",
	storage.Index{Name: "trail", Fields: []string{"org", "trail", "time"}})

// Outbox keeps the events that actions are to be notified of.
type Outbox interface {
	// EnqueueTrailEventsIn adds the events that actions fire on to a batch. Events that are added again notify once.
	EnqueueTrailEventsIn(ctx context.Context, batch *storage.Batch, events []evidence.TrailEvent) error
}

// TrailEvents keeps what happened to trails.
type TrailEvents struct {
	docs       storage.Documents
	outbox     Outbox
	collection storage.Collection[evidence.TrailEvent]
}

// NewTrailEvents binds the repository to an engine.
func NewTrailEvents(docs storage.Documents, outbox Outbox) *TrailEvents {
	return &TrailEvents{docs: docs, outbox: outbox, collection: storage.NewCollection(docs, trailEventSchema,
		func(e *evidence.TrailEvent) string { return idIn(e.Trail, e.ID) },
		func(e *evidence.TrailEvent) map[string]any {
			return map[string]any{"org": e.Org, "trail": e.Trail, "time": e.Time}
		})}
}

// Add stores events and notifies actions of them; those that exist stay as they are.
func (e *TrailEvents) Add(ctx context.Context, events ...evidence.TrailEvent) error {
	batch := &storage.Batch{}
	if err := e.outbox.EnqueueTrailEventsIn(ctx, batch, events); err != nil {
		return err
	}
	e.collection.AddIn(batch, events...)
	return batch.Write(ctx, e.docs)
}

// EnqueueIn adds events to a batch and notifies actions of them. They are the last writes of a change to a trail. So
// when an event is found, the rest of the change is stored.
func (e *TrailEvents) EnqueueIn(ctx context.Context, batch *storage.Batch, events ...evidence.TrailEvent) error {
	if err := e.outbox.EnqueueTrailEventsIn(ctx, batch, events); err != nil {
		return err
	}
	e.AddIn(batch, events...)
	return nil
}

// AddIn adds events that notify no action to a batch. An event that follows from a fact is the same when stored again.
func (e *TrailEvents) AddIn(batch *storage.Batch, events ...evidence.TrailEvent) {
	e.collection.PutIn(batch, events...)
}

// OfTrail returns the events of a trail, oldest first.
func (e *TrailEvents) OfTrail(ctx context.Context, org, trail string) ([]evidence.TrailEvent, error) {
	return storage.FindAll(ctx, e.collection, storage.Query{Index: "trail", Equal: []any{org, trail}, Limit: storage.Unlimited})
}

// Extent returns how many events trails have, at most storage.MaxCount, and when the last one happened, in Unix
// seconds: two commands. Both are unchanged as long as no event was added.
func (e *TrailEvents) Extent(ctx context.Context, org string, trails []string) (count int64, newest float64, err error) {
	query := storage.Query{Index: "trail", Equal: []any{org, storage.OneOrSet(trails)}}
	if count, err = e.collection.Count(ctx, query); err != nil {
		return 0, 0, err
	}
	newest, err = storage.NewestTime(ctx, e.collection, query, "time")
	return count, newest, err
}

// Missing returns the references to events that are not stored.
func (e *TrailEvents) Missing(ctx context.Context, refs []TrailEventRef) ([]TrailEventRef, error) {
	found, err := e.collection.GetMany(ctx, evidence.Map(refs, func(ref TrailEventRef) string { return idIn(ref.Trail, ref.ID) }))
	if err != nil {
		return nil, err
	}
	stored := evidence.SetOf(found, func(event *evidence.TrailEvent) TrailEventRef { return TrailEventRef{Trail: event.Trail, ID: event.ID} })
	return slices.DeleteFunc(slices.Clone(refs), func(ref TrailEventRef) bool { return stored[ref] }), nil
}

// TrailEventRef names an event of a trail.
type TrailEventRef struct {
	Trail, ID string
}
