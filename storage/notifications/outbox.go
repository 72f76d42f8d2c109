package notifications

import (
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/storage"
	"attestry/trace"
)

var outboxSchema = storage.NewSchema("outbox",
	// Parked events do not have at.
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

// EnqueueIn adds an event to a batch, unless no action fires on it: one command. A repeated event makes no new
// deliveries.
func (o *Outbox) EnqueueIn(ctx context.Context, batch *storage.Batch, event notification.Event) error {
	actions, err := o.actions.Of(ctx, event.Org)
	o.addIn(ctx, batch, event, &actions)
	return err
}

// EnqueueTrailEventsIn is EnqueueIn for events of trails. It takes a command for each organization, at most twice a
// second (see Actions.Recent). Events that are added again notify once.
func (o *Outbox) EnqueueTrailEventsIn(ctx context.Context, batch *storage.Batch, events []evidence.TrailEvent) error {
	for i := range events {
		event := notification.TrailEvent(&events[i])
		if !event.Fires() {
			continue
		}
		actions, err := o.actions.Recent(ctx, event.Org)
		if err != nil {
			return err
		}
		o.addIn(ctx, batch, event, actions)
	}
	return nil
}

// EnqueueExpiringIn is EnqueueIn for keys that expire soon, at a time in Unix seconds. It takes the commands of
// EnqueueTrailEventsIn. Keys of people belong to no organization, so no action fires on them.
func (o *Outbox) EnqueueExpiringIn(ctx context.Context, batch *storage.Batch, keys []evidence.Key, now float64) error {
	for i := range keys {
		actions, err := o.actions.Recent(ctx, keys[i].AccountOrgID)
		if err != nil {
			return err
		}
		if event, ok := actions.ExpiringEvent(&keys[i], now); ok {
			o.addIn(ctx, batch, event, actions)
		}
	}
	return nil
}

func (o *Outbox) addIn(ctx context.Context, batch *storage.Batch, event notification.Event, actions *notification.Actions) {
	event.Actions = actions.FiringOn(&event)
	event.Trace = trace.Reference(ctx)
	if len(event.Actions) > 0 {
		o.Collection.PutIn(batch, event)
	}
}

// Due returns a page of the jobs that are due at a time in Unix seconds: each action of an event, oldest events first;
// and the next cursor. An event is due at once, also if it is later than the clock, as facts get increasing times even
// when clocks are set back. After a failure it waits.
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

// CompleteAction removes an action from an event after its deliveries were made. With the last action, the event is
// deleted.
func (o *Outbox) CompleteAction(ctx context.Context, id string, action int64) error {
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
