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
	// probeSize is how many bytes a probe writes: enough that a store with room for it takes most real writes too.
	probeSize = 256 << 10
	// probeInterval is the least time between two probes, as anybody may ask for readiness.
	probeInterval = 5 * time.Second
)

// refusal remembers that a store refused a write, until a probe succeeds.
type refusal struct {
	store string
	log   *slog.Logger
	clock evidence.Clock

	mu     sync.Mutex
	reason error // of the last refusal or probe, nil if the store takes writes
	probed time.Time
}

// note remembers whether err is a refused write, and returns err.
func (r *refusal) note(err error) error {
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

// check returns why the store refuses writes, or nil. After a refused write, it writes a probe, at most one per
// probeInterval.
func (r *refusal) check(ctx context.Context, probe func(context.Context) error) error {
	if reason, due := r.beginProbe(); !due {
		return reason
	}
	err := probe(ctx)
	if err != nil && ctx.Err() != nil {
		return err // it was cut short, and says nothing of the store
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
