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
	// keepReplaced is how long a package is kept that another one has replaced: somebody may still be downloading it.
	keepReplaced = time.Hour
	// cleanAgain is how much later the deletion of what cannot be deleted is tried again.
	cleanAgain = 24 * time.Hour
)

// Cleaner deletes packages that are not needed any more.
type Cleaner struct {
	store *app.Store
	clock evidence.Clock
	log   *slog.Logger
	// keep is how long a package is kept after it was last asked for; 0 is for ever.
	keep time.Duration
}

// NewCleaner makes a cleaner. A package is kept so long after it was last asked for; 0 is for ever.
func NewCleaner(store *app.Store, keep time.Duration, clock evidence.Clock, log *slog.Logger) *Cleaner {
	return &Cleaner{store: store, keep: keep, clock: clock, log: log}
}

// Clean forgets packages that nobody has asked for, and deletes the objects of those that were forgotten or
// replaced some time ago. What cannot be deleted is tried again a day later.
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

// expire forgets packages that were last asked for longer ago than they are kept. Asked for again, they are
// assembled again.
func (c *Cleaner) expire(ctx context.Context) error {
	if c.keep == 0 {
		return nil
	}
	now := c.clock()
	since := evidence.Seconds(now.Add(-c.keep))
	for {
		ids, err := c.store.Assemblies.Unasked(ctx, since, storage.MaxMany)
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

// clean deletes what an assembly replaced before a time in Unix seconds.
func (c *Cleaner) clean(ctx context.Context, id string, before float64) error {
	assembly, err := c.store.Assemblies.Get(ctx, id)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, replaced := range assembly.Replaced {
		if replaced.At > before || assembly.Uses(replaced.Object) {
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
