package notifications

import (
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/evidence/admission"
	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/trace"
)

var outboxSchema = storage.NewSchema("outbox",
	// Events that were given up lack at.
	storage.Index{Name: "at", Fields: []string{"at"}},
	storage.StageIndex,
)

// Outbox keeps the events that actions are still to be notified of. An event is stored together with its fact.
type Outbox struct {
	storage.JobList[notification.Event]
	docs    storage.Documents
	actions *Actions
}

// NewOutbox binds the repository to an engine.
func NewOutbox(docs storage.Documents, actions *Actions) *Outbox {
	collection := storage.NewCollection(docs, outboxSchema,
		func(e *notification.Event) string { return e.ID },
		func(e *notification.Event) map[string]any {
			fields := map[string]any{}
			if e.Parked == 0 {
				fields["at"] = e.DueAt()
			}
			return storage.SetStage(fields, &e.Status)
		})
	return &Outbox{JobList: storage.NewJobList(collection, "at", (*notification.Event).Job), docs: docs, actions: actions}
}

// addIn adds an event to a batch, unless no action wants it. Stored again, it makes the same deliveries.
func (o *Outbox) addIn(ctx context.Context, batch *storage.Batch, event notification.Event) {
	event.Trace = trace.Reference(ctx)
	if len(event.Actions) > 0 {
		o.Collection.PutIn(batch, event)
	}
}

// AddSnapshotIn adds the event of a snapshot that actions want to a batch: one command.
func (o *Outbox) AddSnapshotIn(ctx context.Context, batch *storage.Batch, made *snapshot.Snapshot) error {
	actions, err := o.actions.Of(ctx, made.Org)
	wanting := actions.Wanting(made.Environment, made.Timestamp, notification.SnapshotTriggers()...)
	o.addIn(ctx, batch, notification.SnapshotEvent(made.Org, made.Environment, made.Number, made.Timestamp, wanting))
	return err
}

// AddScaledIn adds the event of artifacts that a report, by its id, has scaled at a time in Unix seconds to a batch:
// one command, none without artifacts.
func (o *Outbox) AddScaledIn(ctx context.Context, batch *storage.Batch, org, report string, at float64, scaled notification.ArtifactsScaled) error {
	if len(scaled.Artifacts) == 0 {
		return nil
	}
	actions, err := o.actions.Of(ctx, org)
	wanting := actions.Wanting(scaled.Environment, at, notification.ScaledArtifact)
	o.addIn(ctx, batch, notification.ScaledEvent(org, report, at, scaled, wanting))
	return err
}

// AddAllowanceIn adds the event of an allowance to a batch: one command.
func (o *Outbox) AddAllowanceIn(ctx context.Context, batch *storage.Batch, allowed evidence.Allowance) error {
	actions, err := o.actions.Of(ctx, allowed.Org)
	wanting := actions.Wanting(allowed.Environment, allowed.At, notification.AllowedArtifact)
	o.addIn(ctx, batch, notification.AllowedEvent(allowed, wanting))
	return err
}

// AddBreakGlassIn adds the event of a workload that was admitted for the reason it gave to a batch: one command.
func (o *Outbox) AddBreakGlassIn(ctx context.Context, batch *storage.Batch, record admission.Record) error {
	actions, err := o.actions.Of(ctx, record.Org)
	wanting := actions.Wanting(record.Environment, record.FirstAt, notification.BrokenGlass)
	o.addIn(ctx, batch, notification.BreakGlassEvent(record, wanting))
	return err
}

// AddTrailEventsIn adds events of trails that actions want to a batch. It takes a command for each organization, at
// most twice a second (see Actions.Recent).
func (o *Outbox) AddTrailEventsIn(ctx context.Context, batch *storage.Batch, events []evidence.TrailEvent) error {
	for i := range events {
		event := &events[i]
		trigger := notification.TrailTrigger(event)
		if trigger == "" {
			continue
		}
		actions, err := o.actions.Recent(ctx, event.Org)
		if err != nil {
			return err
		}
		o.addIn(ctx, batch, notification.TrailEvent(event, actions.Wanting(event.Flow, event.Time, trigger)))
	}
	return nil
}

// Due names a page of what is due at a time in Unix seconds: each action of an event, oldest events first. It returns
// the next cursor. Events are due at once, even those later than the clock, as facts get increasing times also when
// clocks are set back. Only after a failure they wait.
func (o *Outbox) Due(ctx context.Context, now float64, after string) ([]job.Ref, string, error) {
	events, next, err := o.Collection.Find(ctx, storage.Query{
		Index: "at", From: &storage.Bound{Value: 0.0}, After: after, Limit: outboxPage,
	})
	var refs []job.Ref
	for i := range events {
		if events[i].Due <= now {
			refs = append(refs, events[i].Refs()...)
		}
	}
	return refs, next, err
}

// outboxPage is how many events are read with one command: some hold many artifacts.
const outboxPage = 200

// Told notes that the deliveries of an event for an action were made. With the last action, the event is deleted.
func (o *Outbox) Told(ctx context.Context, id string, action int64) error {
	for {
		stored, err := o.Collection.GetVersioned(ctx, id)
		if err != nil {
			return storage.IgnoreMissing(err)
		}
		event := &stored.Value
		event.Actions = slices.DeleteFunc(event.Actions, func(number int64) bool { return number == action })
		batch := &storage.Batch{}
		if len(event.Actions) > 0 {
			o.Collection.ReplaceIn(batch, event, stored.Revision)
		} else {
			o.Collection.CheckIn(batch, id, stored.Revision)
			o.Collection.DeleteIn(batch, id)
		}
		err = batch.Write(ctx, o.docs)
		if _, ok := errors.AsType[*storage.RefusedWrite](err); !ok {
			return err
		}
	}
}
