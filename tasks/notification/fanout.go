// Package notification delivers events to the targets of actions, by the rules of evidence/notification.
package notification

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/goroutine"
	"attestry/links"
	"attestry/storage"
	"attestry/storage/notifications"
	"attestry/tasks/relay"
)

const (
	// deliveriesAtOnce is how many deliveries are made with one command.
	deliveriesAtOnce = storage.MaxMany
	// maxEnqueued is how many deliveries of an event are enqueued at once; the relay enqueues the others.
	maxEnqueued = 2_000
	// maxDeliveries bounds the deliveries of an event. Beyond it webhooks get one notice of all artifacts, like people.
	maxDeliveries = 50_000
)

// Fanout makes the deliveries of events.
type Fanout struct {
	store    *app.Store
	links    links.Links
	enqueuer relay.Enqueuer
	clock    evidence.Clock
	log      *slog.Logger
}

// NewFanout makes a fanout.
func NewFanout(store *app.Store, links links.Links, enqueuer relay.Enqueuer, clock evidence.Clock, log *slog.Logger) *Fanout {
	return &Fanout{store: store, links: links, enqueuer: enqueuer, clock: clock, log: log}
}

// MakeDeliveries makes the deliveries of an event to the targets of an action, each once even if it is repeated, and enqueues
// them. After an error that is no outage it is repeated for a day; then the event is parked.
func (f *Fanout) MakeDeliveries(ctx context.Context, id string, number int64) error {
	event, err := f.store.Outbox.Get(ctx, id)
	if err != nil || event.Parked > 0 || !slices.Contains(event.Actions, number) {
		return storage.IgnoreMissing(err)
	}
	if err := goroutine.Recovered(func() error { return f.tell(ctx, &event, number) }); err != nil {
		return f.fail(ctx, id, number, err)
	}
	return f.store.Outbox.CompleteAction(ctx, id, number)
}

// fail stores why an action could not be notified. An outage or a stopping worker does not count as an
// attempt. The task's timeout does.
func (f *Fanout) fail(ctx context.Context, id string, number int64, cause error) error {
	if errors.Is(ctx.Err(), context.Canceled) || errors.Is(cause, storage.ErrOutage) || evidence.CodeOf(cause) == evidence.Unavailable {
		return cause
	}
	reason, _, _ := strings.Cut(cause.Error(), "\n") // without the stack of a panic
	retry, now, jitter := false, evidence.Seconds(f.clock()), rand.Float64()
	ctx = context.WithoutCancel(ctx) // the task's timeout may be the cause
	event, err := f.store.Outbox.Update(ctx, id, func(event *notification.Event) { retry = event.FailAttempt(now, jitter, reason) })
	if retry || err != nil {
		return errors.Join(cause, err)
	}
	f.log.ErrorContext(ctx, "gave up an event that an action was to be told of", "org", event.Org, "event", id, "action", number, "error", cause.Error())
	return nil
}

func (f *Fanout) tell(ctx context.Context, event *notification.Event, number int64) error {
	actions, err := f.store.Actions.Of(ctx, event.Org)
	if err != nil {
		return err
	}
	action, ok := actions.Find(number)
	if !ok || event.Subject != "" && !action.FiresOn(event) {
		return nil // it was deleted or changed
	}
	targets, err := f.targets(ctx, event.Org, &action)
	if err != nil || len(targets) == 0 {
		return err
	}
	w := &writer{store: f.store, links: f.links, org: event.Org, orgName: actions.OrgName, action: &action, event: event}
	notices, err := w.notices(ctx)
	if err != nil {
		return err
	}
	return f.deliver(ctx, event.Org, number, targets, notices)
}

// targets are those of an action that are not switched off.
func (f *Fanout) targets(ctx context.Context, org string, action *notification.Action) ([]notification.Target, error) {
	states, err := f.store.Targets.States(ctx, org, *action)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(action.DistinctTargets(), func(target notification.Target) bool {
		return states[notifications.TargetKey{Action: action.Number, Target: target.ID()}].SwitchedOffAt > 0
	}), nil
}

// deliver stores the deliveries of notices to targets, and enqueues them.
func (f *Fanout) deliver(ctx context.Context, org string, number int64, targets []notification.Target, notices noticeSet) error {
	now := evidence.Seconds(f.clock())
	if len(notices.machines)*len(targets) > maxDeliveries {
		notices.machines = notices.people
	}
	enqueued := 0
	var batch []notification.Delivery
	for i := range targets {
		for _, notice := range notices.to(targets[i].Type) {
			batch = append(batch, notification.NewDelivery(org, number, &targets[i], notice, now, job.EnqueueAgain))
			if len(batch) < deliveriesAtOnce {
				continue
			}
			if err := f.add(ctx, batch, enqueued < maxEnqueued); err != nil {
				return err
			}
			enqueued += len(batch)
			batch = nil
		}
	}
	return f.add(ctx, batch, enqueued < maxEnqueued)
}

func (f *Fanout) add(ctx context.Context, batch []notification.Delivery, enqueue bool) error {
	if err := f.store.Deliveries.Add(ctx, batch); err != nil || !enqueue {
		return err
	}
	refs := evidence.Map(batch, func(d notification.Delivery) job.Ref { return notification.DeliveryRef(d.Org, d.ID, d.Due) })
	if err := relay.EnqueueAll(ctx, f.enqueuer, refs, func(*job.Ref) int64 { return 0 }); err != nil {
		// The relay enqueues them later.
		f.log.DebugContext(ctx, "could not enqueue deliveries", "error", err.Error())
	}
	return nil
}
