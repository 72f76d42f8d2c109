package guard

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"attestry/evidence"
	"attestry/storage"
)

const (
	// probeSize is how many bytes a probe writes: a store with room for them has room for most real writes too.
	probeSize = 256 << 10
	// probeInterval is the minimum time between two probes, as any client may request the readiness.
	probeInterval = 5 * time.Second
)

// refusal records that a store refused a write, until a probe succeeds.
type refusal struct {
	store string
	log   *slog.Logger
	clock evidence.Clock

	mu     sync.Mutex
	reason error // of the last refusal or probe, nil if the store accepts writes
	probed time.Time
}

// observe records err if it is a refused write, and returns it.
func (r *refusal) observe(err error) error {
	if !errors.Is(err, storage.ErrWriteRefused) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reason == nil {
		r.log.Error("a store refuses writes", "store", r.store, "reason", err.Error())
		r.reason = err
	}
	return err
}

// check returns why the store refuses writes, or nil. After a refused write it probes, at most once per probeInterval.
func (r *refusal) check(ctx context.Context, probe func(context.Context) error) error {
	if reason, due := r.beginProbe(); !due {
		return reason
	}
	err := probe(ctx)
	if err != nil && ctx.Err() != nil {
		return err // the probe was canceled, which says nothing about the store
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reason = err
	if err == nil {
		r.log.Info("a store takes writes again", "store", r.store)
	}
	return err
}

func (r *refusal) beginProbe() (reason error, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	if r.reason == nil || !r.probed.IsZero() && now.Sub(r.probed) < probeInterval {
		return r.reason, false
	}
	r.probed = now
	return nil, true
}
