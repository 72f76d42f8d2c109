package auditpackage

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/storage"
	"attestry/storage/packages"
)

const (
	// RelayInterval is how often Relay is to be called: so long a package waits at most until a
	// worker is told of it.
	RelayInterval = 250 * time.Millisecond
	// relayAgain is how long what was enqueued is left alone: its task may wait or be under way, or
	// Redis may have forgotten it.
	relayAgain = 10 * time.Second
	// maxRelayed is how many packages are looked at: those that wait longest.
	maxRelayed = 1_000
	// CleanInterval is how often Clean is to be called.
	CleanInterval = 10 * time.Minute
	// keepReplaced is how long a package is kept that another one has replaced: somebody may still
	// be downloading it.
	keepReplaced = time.Hour
)

// Enqueuer puts tasks on their queue.
type Enqueuer interface {
	// Assemble asks a worker to assemble the package of an assembly.
	Assemble(ctx context.Context, assembly string, attempt int) error
}

// Relay enqueues the packages that are asked for, new ones as well as those that Redis has
// forgotten. Every worker does so: what one has enqueued the others' tasks do not repeat, as they
// have the same ids.
type Relay struct {
	store    *app.Store
	enqueuer Enqueuer
	clock    evidence.Clock
	log      *slog.Logger
	// enqueued is when what still waits was enqueued last.
	enqueued map[packages.Ref]time.Time
}

// NewRelay makes a relay that works when Relay is called, by one goroutine.
func NewRelay(store *app.Store, enqueuer Enqueuer, clock evidence.Clock, log *slog.Logger) *Relay {
	return &Relay{store: store, enqueuer: enqueuer, clock: clock, log: log, enqueued: map[packages.Ref]time.Time{}}
}

// Relay looks once: one command.
func (r *Relay) Relay(ctx context.Context) error {
	waiting, err := r.store.Assemblies.Due(ctx, maxRelayed)
	if err != nil {
		return err
	}
	now := r.clock()
	before := r.enqueued
	r.enqueued = make(map[packages.Ref]time.Time, len(waiting))
	for _, ref := range waiting {
		last, known := before[ref]
		if known && now.Sub(last) < relayAgain && !now.Before(last) {
			r.enqueued[ref] = last
			continue
		}
		// Another number each time makes another task, whatever became of the last one.
		since := evidence.Seconds(now) - ref.Due
		attempt := int(ref.Due*1000) + int(max(0, since)/relayAgain.Seconds())
		if err := r.enqueuer.Assemble(ctx, ref.ID, attempt); err != nil {
			return err
		}
		r.enqueued[ref] = now
	}
	return nil
}

// Clean deletes the objects of packages that others have replaced some time ago.
func (r *Relay) Clean(ctx context.Context) error {
	before := evidence.Seconds(r.clock().Add(-keepReplaced))
	for {
		found, err := r.store.Assemblies.Replaced(ctx, before, storage.MaxMany)
		if err != nil || len(found) == 0 {
			return err
		}
		for i := range found {
			if err := r.clean(ctx, &found[i], before); err != nil {
				return err
			}
		}
	}
}

// clean deletes what an assembly replaced before a time in Unix seconds. What is kept from being
// deleted stays, and is forgotten.
func (r *Relay) clean(ctx context.Context, assembly *audit.Assembly, before float64) error {
	for _, replaced := range assembly.Replaced {
		if replaced.At > before || assembly.Uses(replaced.Object) {
			continue
		}
		if err := r.store.Objects.Delete(ctx, replaced.Object); err != nil && !errors.Is(err, storage.ErrRetained) {
			return err
		}
	}
	_, err := r.store.Assemblies.Update(ctx, assembly.ID, func(known *audit.Assembly) { known.Forget(before) })
	return err
}
