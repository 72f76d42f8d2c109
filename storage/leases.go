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

// errLeaseTaken ends an update that finds the lease with somebody else.
var errLeaseTaken = errors.New("lease is taken")

// errLeaseHeld ends an update that finds the lease with the holder for long enough.
var errLeaseHeld = errors.New("lease is held")

// Leases elects one process among many for periodic work. It saves double work,
// no more: what the elected do must bear being done twice.
type Leases struct {
	collection Collection[lease]
	clock      evidence.Clock
}

// NewLeases binds the leases to an engine and a clock.
func NewLeases(docs Documents, clock evidence.Clock) *Leases {
	return &Leases{clock: clock, collection: NewCollection(docs, LeaseSchema,
		func(l *lease) string { return l.Name }, nil)}
}

// Acquire takes or renews the lease of that name for a while and reports whether
// holder has it. One of which the holder has more than half of that left is not written again.
func (l *Leases) Acquire(ctx context.Context, name, holder string, span time.Duration) (bool, error) {
	until := evidence.Seconds(l.clock().Add(span))
	err := l.renew(ctx, name, holder, until, until-span.Seconds()/2)
	if errors.Is(err, ErrNotFound) {
		err = l.collection.Insert(ctx, lease{Name: name, Holder: holder, Until: until})
	}
	if errors.Is(err, errLeaseHeld) {
		return true, nil
	}
	if errors.Is(err, errLeaseTaken) || errors.Is(err, ErrExists) {
		return false, nil
	}
	return err == nil, err
}

func (l *Leases) renew(ctx context.Context, name, holder string, until, enough float64) error {
	now := evidence.Seconds(l.clock())
	_, err := l.collection.Update(ctx, name, func(stored *lease) error {
		if stored.Holder != holder && stored.Until > now {
			return errLeaseTaken
		}
		if stored.Holder == holder && stored.Until > enough && stored.Until <= until {
			return errLeaseHeld
		}
		stored.Holder, stored.Until = holder, until
		return nil
	})
	return err
}
