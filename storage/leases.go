package storage

import (
	"context"
	"errors"
	"time"

	"attestry/evidence"
)

// LeaseSchema declares the collection of leases.
var LeaseSchema = &Schema{Name: "leases"}

type lease struct {
	Name   string  `json:"name"`
	Holder string  `json:"holder"`
	Until  float64 `json:"until"` // Unix seconds
}

// Leases elects one process among many for periodic work. It only saves work: two processes may do it at once.
type Leases struct {
	collection Collection[lease]
	clock      evidence.Clock
}

// NewLeases binds the leases to an engine and a clock.
func NewLeases(docs Documents, clock evidence.Clock) *Leases {
	return &Leases{clock: clock, collection: NewCollection(docs, LeaseSchema,
		func(l *lease) string { return l.Name }, nil)}
}

// Acquire takes or renews a lease and reports whether holder has it. It does not write in the first half of the span.
func (l *Leases) Acquire(ctx context.Context, name, holder string, span time.Duration) (bool, error) {
	now := l.clock()
	until, renewBefore := evidence.Seconds(now.Add(span)), evidence.Seconds(now.Add(span/2))
	taken := false
	_, err := l.collection.Update(ctx, name, func(stored *lease) error {
		held := stored.Holder == holder && stored.Until > renewBefore && stored.Until <= until
		taken = stored.Holder != holder && stored.Until > evidence.Seconds(now)
		if !held && !taken {
			stored.Holder, stored.Until = holder, until
		}
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		err = l.collection.Insert(ctx, lease{Name: name, Holder: holder, Until: until})
		if errors.Is(err, ErrExists) {
			return false, nil
		}
	}
	return err == nil && !taken, err
}
