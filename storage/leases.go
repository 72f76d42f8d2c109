package storage

import (
	"context"
	"time"

	"attestry/evidence"
	"attestry/evidence/job"
)

// LeaseSchema declares the collection of leases.
var LeaseSchema = &Schema{Name: "leases"}

type lease struct {
	Name string `json:"name"`
	job.Lease
}

// Leases elects one process among many for periodic work. It only saves work: two processes may do it at once.
type Leases struct {
	collection Collection[lease]
	clock      evidence.Clock
	holder     string
}

// NewLeases binds the leases of a process to an engine and a clock.
func NewLeases(docs Documents, clock evidence.Clock) *Leases {
	return &Leases{clock: clock, holder: evidence.NewID(), collection: NewCollection(docs, LeaseSchema,
		func(l *lease) string { return l.Name }, nil)}
}

// Acquire takes or renews a lease and reports whether this process has it. It only reads in the first half of the span.
func (l *Leases) Acquire(ctx context.Context, name string, span time.Duration) (bool, error) {
	now := l.clock()
	until, renewBefore := evidence.Seconds(now.Add(span)), evidence.Seconds(now.Add(span/2))
	taken := false
	_, err := Upsert(ctx, l.collection, lease{Name: name}, func(stored *lease) error {
		held := stored.Holder == l.holder && stored.Until > renewBefore && stored.Until <= until
		taken = stored.Holder != l.holder && stored.Taken(span.Seconds(), evidence.Seconds(now))
		if !held && !taken {
			stored.Holder, stored.Until = l.holder, until
		}
		return nil
	})
	return err == nil && !taken, err
}
