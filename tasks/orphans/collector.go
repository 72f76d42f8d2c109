// Package orphans deletes objects that no record names: their process failed between the writes of the object and its
// record, or between the deletions of both.
package orphans

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/transfer"
)

const (
	// Interval is how often Collect is to be called.
	Interval = 10 * time.Minute
	// minAge is how long an object must have been known without a record before it is deleted. It must be longer than a
	// process takes from the write of an object to that of its record.
	minAge = time.Hour
	// maxKnown bounds how many objects without a record are remembered.
	maxKnown = 10_000
)

// Collector deletes objects with a prefix that no record names. It keeps the time when it first saw an object without a
// record, so that it compares no times of different machines.
type Collector struct {
	objects storage.Objects
	leases  *storage.Leases
	// prefix is what the keys of these objects begin with, and no others. named returns the keys that records name.
	prefix string
	named  func(ctx context.Context) (map[string]bool, error)
	clock  evidence.Clock
	log    *slog.Logger
	// known is when objects were first listed without a record, by key.
	known map[string]time.Time
}

// NewCollector makes a collector of the objects with a prefix, of which named returns the keys that records name. It
// works when Collect is called, by one goroutine.
func NewCollector(objects storage.Objects, leases *storage.Leases, prefix string,
	named func(context.Context) (map[string]bool, error), clock evidence.Clock, log *slog.Logger) *Collector {
	return &Collector{objects: objects, leases: leases, prefix: prefix, named: named, clock: clock, log: log}
}

// Collect does one pass, if this process is the elected one.
func (c *Collector) Collect(ctx context.Context) error {
	elected, err := c.leases.Acquire(ctx, "orphans/"+c.prefix, 3*Interval)
	if err != nil || !elected {
		return err
	}
	// Read the clock before the names. Then an object known for minAge was listed that long before
	// the names were read, and its record would be among them.
	now := c.clock()
	named, err := c.named(ctx)
	if err != nil {
		return err
	}
	known := map[string]time.Time{}
	for object, err := range transfer.ObjectsIn(c.objects).All(ctx, c.prefix) {
		if err != nil {
			return err
		}
		if len(known) == maxKnown {
			break
		}
		if named[object.Key] {
			continue
		}
		if err := c.collect(ctx, object.Key, now, known); err != nil {
			return err
		}
	}
	c.known = known
	return nil
}

// collect deletes an object without a record if it is known for long enough, or adds it to known.
func (c *Collector) collect(ctx context.Context, key string, now time.Time, known map[string]time.Time) error {
	since, again := c.known[key]
	if !again {
		known[key] = c.clock()
		return nil
	}
	if now.Sub(since) < minAge {
		known[key] = since
		return nil
	}
	err := c.objects.Delete(ctx, key)
	switch {
	case ctx.Err() != nil || errors.Is(err, storage.ErrOutage):
		return fmt.Errorf("delete an object that no record names: %w", err)
	case err == nil:
		c.log.Info("deleted an object that no record names", "id", key)
		return nil
	case !errors.Is(err, storage.ErrRetained):
		c.log.Warn("an object that no record names cannot be deleted and is tried again", "id", key, "error", err.Error())
	}
	known[key] = since
	return nil
}
