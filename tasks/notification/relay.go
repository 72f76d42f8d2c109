// Package notification tells the targets of actions: Relay hands over what waits, Fanout makes
// the deliveries of an event, Deliverer tries a delivery. The rules are in evidence/notification.
package notification

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/goroutine"
)

const (
	// RelayInterval is how often Relay is to be called: so long an event waits at most until a
	// worker is told of it.
	RelayInterval = 500 * time.Millisecond
	// maxWaiting is how many tasks may wait in the queue: what workers cannot keep up with waits
	// in the database rather than in Redis.
	maxWaiting = 10_000
	// enqueuers is how many tasks are enqueued at the same time.
	enqueuers = 16
	// CleanInterval is how often Clean is to be called.
	CleanInterval = 10 * time.Minute
	// relayLease elects the one worker that hands over.
	relayLease = "notifications"
)

// Enqueuer puts tasks on their queues.
type Enqueuer interface {
	// Fanout asks for the deliveries of an event to the targets of an action.
	Fanout(ctx context.Context, event string, action int64, attempt int) error
	// Send asks for an attempt of a delivery of an organization.
	Send(ctx context.Context, org, delivery string, attempt int) error
	// Waiting is how many of these tasks no worker has taken yet.
	Waiting(ctx context.Context) (int, error)
}

// Relay enqueues the events that actions are to be told of, new ones as well as those that Redis
// has forgotten, and the deliveries that are due: those that no task was enqueued with, and those
// that are to be tried again.
type Relay struct {
	store    *app.Store
	enqueuer Enqueuer
	clock    evidence.Clock
	holder   string
	log      *slog.Logger
	// enqueued is when what still waits was enqueued last.
	enqueued map[string]time.Time
}

// NewRelay makes a relay that works when Relay is called, by one goroutine.
func NewRelay(store *app.Store, enqueuer Enqueuer, clock evidence.Clock, log *slog.Logger) *Relay {
	return &Relay{store: store, enqueuer: enqueuer, clock: clock, holder: evidence.NewID(), log: log, enqueued: map[string]time.Time{}}
}

// waiting is something that a task is to be enqueued for.
type waiting struct {
	key string
	// since is when it began to wait, in Unix seconds.
	since   float64
	enqueue func(ctx context.Context, attempt int) error
}

// Relay looks once. While nothing waits it takes two commands; else this process must be the
// elected one.
func (r *Relay) Relay(ctx context.Context) error {
	now := r.clock()
	for key, at := range r.enqueued {
		if now.Sub(at) >= job.EnqueueAgain || now.Before(at) {
			delete(r.enqueued, key)
		}
	}
	first, err := r.read(ctx, now, 1)
	if err != nil || len(first) == 0 {
		return err
	}
	elected, err := r.store.Leases.Acquire(ctx, relayLease, r.holder, job.EnqueueAgain)
	if err != nil || !elected {
		return err
	}
	n, err := r.enqueuer.Waiting(ctx)
	if err != nil || n >= maxWaiting {
		return err
	}
	fresh, err := r.read(ctx, now, maxWaiting)
	if err != nil {
		return err
	}
	return r.enqueue(ctx, now, fresh[:min(len(fresh), maxWaiting-n)])
}

func (r *Relay) enqueue(ctx context.Context, now time.Time, fresh []waiting) error {
	var group goroutine.Group
	group.Limit(enqueuers)
	for _, one := range fresh {
		r.enqueued[one.key] = now
		// Another number each time makes another task, whatever became of the last one.
		attempt := int(math.Floor((evidence.Seconds(now) - one.since) / job.EnqueueAgain.Seconds()))
		group.Go(func() error { return one.enqueue(ctx, attempt) })
	}
	if err := group.Wait(); err != nil {
		clear(r.enqueued)
		return err
	}
	return nil
}

// read returns what was not enqueued a moment ago of what waits longest: it looks at so many
// events and deliveries each, and at the rest of a page.
func (r *Relay) read(ctx context.Context, now time.Time, most int) ([]waiting, error) {
	fresh, err := r.readEvents(ctx, most)
	if err != nil {
		return nil, err
	}
	for after, seen := "", 0; seen < most; {
		refs, next, err := r.store.Deliveries.Due(ctx, evidence.Seconds(now), after)
		if err != nil {
			return nil, err
		}
		seen += len(refs)
		for _, ref := range refs {
			org, id, _ := strings.Cut(ref.Key, "/")
			// Each time at which a delivery is due has tasks of its own.
			due := int(ref.Due * 1000)
			fresh = r.add(fresh, waiting{key: ref.Key + "@" + strconv.Itoa(due), since: ref.Due, enqueue: func(ctx context.Context, attempt int) error {
				return r.enqueuer.Send(ctx, org, id, due+attempt)
			}})
		}
		if after = next; next == "" {
			break
		}
	}
	return fresh, nil
}

func (r *Relay) readEvents(ctx context.Context, most int) ([]waiting, error) {
	var fresh []waiting
	for after, seen := "", 0; seen < most; {
		events, next, err := r.store.Outbox.Waiting(ctx, after)
		if err != nil {
			return nil, err
		}
		seen += len(events)
		for _, event := range events {
			fresh = r.addEvent(fresh, &event)
		}
		if after = next; next == "" {
			break
		}
	}
	return fresh, nil
}

func (r *Relay) addEvent(fresh []waiting, event *notification.Event) []waiting {
	id := event.ID
	for _, action := range event.Actions {
		fresh = r.add(fresh, waiting{key: id + "/" + strconv.FormatInt(action, 10), since: event.At, enqueue: func(ctx context.Context, attempt int) error {
			return r.enqueuer.Fanout(ctx, id, action, attempt)
		}})
	}
	return fresh
}

func (r *Relay) add(fresh []waiting, one waiting) []waiting {
	if _, ok := r.enqueued[one.key]; ok {
		return fresh
	}
	return append(fresh, one)
}

// Clean deletes deliveries that have been settled for long enough.
func (r *Relay) Clean(ctx context.Context) error {
	before := evidence.Seconds(r.clock().Add(-notification.KeepFor))
	removed := 0
	for {
		n, err := r.store.Deliveries.RemoveSettled(ctx, before)
		removed += n
		if err != nil || n == 0 {
			if removed > 0 {
				r.log.Info("deleted old deliveries of notifications", "number", removed)
			}
			return err
		}
	}
}
