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

// errLeaseTaken ends an update of a lease that another holder has.
var errLeaseTaken = errors.New("lease is taken")

// errLeaseHeld ends an update of a lease that its holder has for long enough.
var errLeaseHeld = errors.New("lease is held")

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

// Acquire takes or renews a lease and reports whether holder has it. A lease with more than half of its span left
// is not written again.
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
