package notification

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/goroutine"
	"attestry/storage"
)

const (
	// maxOfOrganization bounds the concurrent attempts of one organization in this process, below the bound of all
	// attempts, so that unresponsive receivers of one organization do not block those of others.
	maxOfOrganization = 400
	// maxAtHost bounds the concurrent attempts of this process at one host.
	maxAtHost = 4
)

// CleanInterval is how often Clean is to be called.
const CleanInterval = 10 * time.Minute

// successInterval is how often the last success of a target that does not fail is stored, in seconds.
const successInterval = 1.0

// Sender makes one attempt to notify a target.
type Sender interface {
	// Send sends a delivery's notice to a target, signed with secrets, newest first. The attempt has the outcome.
	Send(ctx context.Context, target *notification.Target, delivery *notification.Delivery, secrets []string) notification.Attempt
}

// Deliverer tries deliveries.
type Deliverer struct {
	store  *app.Store
	sender Sender
	clock  evidence.Clock
	log    *slog.Logger
	// count is called for each attempt.
	count func(kind notification.TargetType, delivered bool)

	// organizations have slots by id, and hosts by name.
	organizations, hosts *slots
}

// NewDeliverer makes a deliverer, which calls count for each attempt.
func NewDeliverer(store *app.Store, sender Sender, clock evidence.Clock, log *slog.Logger, count func(notification.TargetType, bool)) *Deliverer {
	return &Deliverer{
		store: store, sender: sender, clock: clock, log: log, count: count,
		organizations: newSlots(maxOfOrganization), hosts: newSlots(maxAtHost),
	}
}

// Deliver makes the next attempt of a delivery of an organization, by its id. It does nothing if none is due, if
// another process makes it, or if too many attempts of the organization run. A failed attempt is no error.
func (d *Deliverer) Deliver(ctx context.Context, org, id string) error {
	release, _ := d.organizations.acquire(ctx, org, 0)
	if release == nil {
		return ctx.Err() // the relay enqueues it again
	}
	defer release(0)
	return d.deliver(ctx, org, id)
}

func (d *Deliverer) deliver(ctx context.Context, org, id string) error {
	stored, err := d.store.Deliveries.Get(ctx, org, id)
	if err != nil {
		return storage.IgnoreMissing(err)
	}
	now := evidence.Seconds(d.clock())
	if !stored.Value.Begin(now) {
		return nil
	}
	target, state, reason, err := d.target(ctx, &stored.Value)
	if err != nil {
		return err
	}
	var attempt notification.Attempt
	switch {
	case reason != "":
		stored.Value.GiveUp(now, reason)
	case state.QuietUntil > now:
		stored.Value.Postpone(state.QuietUntil, stored.Value.Reason)
	default:
		release, due := d.hosts.acquire(ctx, target.Host(), now)
		if release != nil {
			defer func() { release(attempt.Duration) }()
		} else {
			stored.Value.Postpone(due, stored.Value.Reason)
		}
	}
	stored.Revision, err = d.store.Deliveries.Replace(ctx, stored.Value, stored.Revision)
	if errors.Is(err, storage.ErrMoved) {
		return nil
	}
	if err != nil || stored.Value.Until == 0 {
		return err
	}
	attempt = d.send(ctx, &target, &stored.Value, state.Secrets(now))
	if err := ctx.Err(); err != nil {
		return err // the attempt may have been cut short by this process alone
	}
	return d.record(ctx, stored, &state, attempt)
}

// send makes an attempt. One that panics has failed: a delivery that cannot be sent is not tried for ever.
func (d *Deliverer) send(ctx context.Context, target *notification.Target, delivery *notification.Delivery, secrets []string) (attempt notification.Attempt) {
	err := goroutine.Recovered(func() error {
		attempt = d.sender.Send(ctx, target, delivery, secrets)
		return nil
	})
	if err != nil {
		d.log.ErrorContext(ctx, "sending a notification panicked", "org", delivery.Org, "delivery", delivery.ID, "error", err.Error())
		return notification.Attempt{At: evidence.Seconds(d.clock()), Reason: "An internal error occurred."}
	}
	return attempt
}

// target returns the target of a delivery and its state, or the reason why nothing is sent to it any more.
func (d *Deliverer) target(ctx context.Context, delivery *notification.Delivery) (target notification.Target, state notification.TargetState, reason string, err error) {
	actions, err := d.store.Actions.Recent(ctx, delivery.Org)
	if err != nil {
		return target, state, "", err
	}
	target, ok := actions.TargetOf(delivery)
	if !ok { // the cached actions may lack a new one
		fresh, err := d.store.Actions.Of(ctx, delivery.Org)
		if err != nil {
			return target, state, "", err
		}
		target, ok = fresh.TargetOf(delivery)
	}
	if !ok {
		return target, state, "The action or the target was removed.", nil
	}
	state, err = d.store.Targets.Ensure(ctx, delivery.Org, delivery.Action, delivery.Target)
	if delivery.Since < state.SwitchedOffAt {
		reason = state.SwitchedOffReason()
	}
	return target, state, reason, err
}

// record stores the outcome of an attempt, first in the delivery, then in the state of the target.
func (d *Deliverer) record(ctx context.Context, stored storage.Versioned[notification.Delivery], state *notification.TargetState, attempt notification.Attempt) error {
	delivered := attempt.Reason == ""
	d.count(stored.Value.Type, delivered)
	until, jitter := stored.Value.Until, rand.Float64()
	delivery, err := d.store.Deliveries.UpdateFrom(ctx, stored, storage.WithoutError(func(delivery *notification.Delivery) {
		delivery.End(until, attempt, jitter)
	}))
	if err != nil {
		return err
	}
	log := d.log.With("org", delivery.Org, "delivery", delivery.ID, "action", delivery.Action, "type", delivery.Type)
	if !delivered {
		log.InfoContext(ctx, "an attempt to deliver a notification failed", "attempt", delivery.Tried, "reason", attempt.Reason, "state", delivery.State)
	}
	if delivered && !state.Gone && state.FailingSince == 0 && attempt.At-state.LastSuccessAt < successInterval {
		return nil
	}
	switchedOff, why := false, ""
	err = d.store.Targets.UpdateKnown(ctx, delivery.Org, delivery.Action, delivery.Target, func(state *notification.TargetState) {
		switchedOff = state.RecordAttempt(&attempt)
		why = state.SwitchedOffReason()
	})
	if switchedOff && err == nil {
		log.WarnContext(ctx, "switched off a target of an action", "target", delivery.Target, "reason", why)
	}
	return err
}

// Clean deletes deliveries that were delivered or failed long enough ago.
func (d *Deliverer) Clean(ctx context.Context) error {
	before := evidence.Seconds(d.clock().Add(-notification.KeepFor))
	removed := 0
	for {
		n, err := d.store.Deliveries.RemoveFinished(ctx, before)
		removed += n
		if err != nil || n == 0 {
			if removed > 0 {
				d.log.Info("deleted old deliveries of notifications", "number", removed)
			}
			return err
		}
	}
}
