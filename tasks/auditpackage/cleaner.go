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
)

const (
	// CleanInterval is how often Clean is to be called.
	CleanInterval = 10 * time.Minute
	// keepReplaced is how long a replaced package is kept: a client may still be downloading it.
	keepReplaced = time.Hour
	// cleanAgain is the pause after a failed deletion.
	cleanAgain = 24 * time.Hour
)

// Cleaner deletes packages that are not needed any more.
type Cleaner struct {
	store *app.Store
	clock evidence.Clock
	log   *slog.Logger
	// keep is how long a package is kept after its last request; 0 is for ever.
	keep time.Duration
}

// NewCleaner makes a cleaner. keep is how long a package is kept after its last request; 0 is for ever.
func NewCleaner(store *app.Store, keep time.Duration, clock evidence.Clock, log *slog.Logger) *Cleaner {
	return &Cleaner{store: store, keep: keep, clock: clock, log: log}
}

// Clean expires packages that were not requested for long, and deletes the objects of packages that expired or were
// replaced some time ago. A failed deletion is tried again a day later.
func (c *Cleaner) Clean(ctx context.Context) error {
	if err := c.expire(ctx); err != nil {
		return err
	}
	before := evidence.Seconds(c.clock().Add(-keepReplaced))
	for {
		found, err := c.store.Assemblies.Replaced(ctx, before, storage.MaxMany)
		if err != nil || len(found) == 0 {
			return err
		}
		for i := range found {
			if err := c.clean(ctx, found[i].ID, before); err != nil {
				return err
			}
		}
	}
}

// expire expires packages whose last request is longer ago than keep. The next request assembles them again.
func (c *Cleaner) expire(ctx context.Context) error {
	if c.keep == 0 {
		return nil
	}
	now := c.clock()
	since := evidence.Seconds(now.Add(-c.keep))
	for {
		ids, err := c.store.Assemblies.NotRequestedSince(ctx, since, storage.MaxMany)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			_, err := c.store.Assemblies.Update(ctx, id, func(known *audit.Assembly) { known.Expire(since, evidence.Seconds(now)) })
			if err != nil {
				return err
			}
		}
	}
}

// clean deletes the objects that an assembly replaced before a time in Unix seconds. While it is due, the next package
// may have one of them: then the collector deletes the others.
func (c *Cleaner) clean(ctx context.Context, id string, before float64) error {
	assembly, err := c.store.Assemblies.Get(ctx, id)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, replaced := range assembly.Replaced {
		if replaced.At > before || assembly.Uses(replaced.Object) || assembly.Due > 0 {
			continue
		}
		if err := c.store.Objects.Delete(ctx, replaced.Object); err != nil {
			kept[replaced.Object] = true
			if !errors.Is(err, storage.ErrRetained) {
				c.log.Warn("a replaced audit package cannot be deleted and is tried again", "package", id, "error", err.Error())
			}
		}
	}
	_, err = c.store.Assemblies.Update(ctx, id, func(known *audit.Assembly) {
		known.Forget(before, kept, evidence.Seconds(c.clock().Add(cleanAgain)))
	})
	return err
}
