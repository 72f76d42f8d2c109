package auditpackage

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/job"
	"attestry/storage"
	"attestry/storage/packages"
)

const (
	// RelayInterval is how often Relay is to be called: so long a package waits at most until a
	// worker is told of it.
	RelayInterval = 250 * time.Millisecond
	// maxRelayed is how many packages are looked at: those that wait longest.
	maxRelayed = 1_000
	// CleanInterval is how often Clean is to be called.
	CleanInterval = 10 * time.Minute
	// keepReplaced is how long a package is kept that another one has replaced: somebody may still
	// be downloading it.
	keepReplaced = time.Hour
	// cleanAgain is how much later the deletion of what cannot be deleted is tried again.
	cleanAgain = 24 * time.Hour
)

// Enqueuer puts tasks on their queue.
type Enqueuer interface {
	// Assemble asks a worker to assemble the package of an assembly that is due since a time in Unix
	// seconds. A task that waits already for the same attempt is no error. One that a worker has taken
	// is repeated a few times.
	Assemble(ctx context.Context, assembly string, due float64, attempt int64) error
}

// Relay enqueues the packages that are asked for: new ones, those that Redis has forgotten and those
// whose worker may have been killed. Every worker does so. A task that waits is not repeated, as its
// repetition would have the same id; of several that workers have taken, one assembles.
type Relay struct {
	store    *app.Store
	enqueuer Enqueuer
	clock    evidence.Clock
	log      *slog.Logger
	// keep is how long a package is kept after it was last asked for; 0 is for ever.
	keep time.Duration
	// enqueued is when what still waits was enqueued last.
	enqueued map[packages.Ref]time.Time
}

// NewRelay makes a relay that works when Relay is called, by one goroutine. A package is kept so long after
// it was last asked for; 0 is for ever.
func NewRelay(store *app.Store, enqueuer Enqueuer, keep time.Duration, clock evidence.Clock, log *slog.Logger) *Relay {
	return &Relay{store: store, enqueuer: enqueuer, keep: keep, clock: clock, log: log, enqueued: map[packages.Ref]time.Time{}}
}

// Relay looks once: one command.
func (r *Relay) Relay(ctx context.Context) error {
	now := r.clock()
	waiting, err := r.store.Assemblies.Due(ctx, evidence.Seconds(now), maxRelayed)
	if err != nil {
		return err
	}
	before := r.enqueued
	r.enqueued = make(map[packages.Ref]time.Time, len(waiting))
	for _, ref := range waiting {
		last, known := before[ref]
		if known && now.Sub(last) < job.EnqueueAgain && !now.Before(last) {
			r.enqueued[ref] = last
			continue
		}
		// While a task waits in Redis, this adds none.
		if err := r.enqueuer.Assemble(ctx, ref.ID, ref.Due, ref.Attempts); err != nil {
			return err
		}
		r.enqueued[ref] = now
	}
	return nil
}

// Clean forgets packages that nobody has asked for, and deletes the objects of those that were forgotten or
// replaced some time ago. What cannot be deleted is tried again a day later.
func (r *Relay) Clean(ctx context.Context) error {
	if err := r.expire(ctx); err != nil {
		return err
	}
	before := evidence.Seconds(r.clock().Add(-keepReplaced))
	for {
		found, err := r.store.Assemblies.Replaced(ctx, before, storage.MaxMany)
		if err != nil || len(found) == 0 {
			return err
		}
		for i := range found {
			if err := r.clean(ctx, found[i].ID, before); err != nil {
				return err
			}
		}
	}
}

// expire forgets packages that were last asked for longer ago than they are kept. Asked for again, they are
// assembled again.
func (r *Relay) expire(ctx context.Context) error {
	if r.keep == 0 {
		return nil
	}
	now := r.clock()
	since := evidence.Seconds(now.Add(-r.keep))
	for {
		ids, err := r.store.Assemblies.Unasked(ctx, since, storage.MaxMany)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			_, err := r.store.Assemblies.Update(ctx, id, func(known *audit.Assembly) { known.Expire(since, evidence.Seconds(now)) })
			if err != nil {
				return err
			}
		}
	}
}

// clean deletes what an assembly replaced before a time in Unix seconds.
func (r *Relay) clean(ctx context.Context, id string, before float64) error {
	assembly, err := r.store.Assemblies.Get(ctx, id)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, replaced := range assembly.Replaced {
		if replaced.At > before || assembly.Uses(replaced.Object) {
			continue
		}
		if err := r.store.Objects.Delete(ctx, replaced.Object); err != nil {
			kept[replaced.Object] = true
			if !errors.Is(err, storage.ErrRetained) {
				r.log.Warn("a replaced audit package cannot be deleted and is tried again", "package", id, "error", err.Error())
			}
		}
	}
	_, err = r.store.Assemblies.Update(ctx, id, func(known *audit.Assembly) {
		known.Forget(before, kept, evidence.Seconds(r.clock().Add(cleanAgain)))
	})
	return err
}
