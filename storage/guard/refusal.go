package guard

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"attestry/storage"
)

// probeSize is how much a probe writes, in bytes: enough that a store with room
// for it takes most real writes too, and readiness does not flap.
const probeSize = 256 << 10

// refusal remembers that a store refused a write, until a probe is taken.
type refusal struct {
	store   string
	log     *slog.Logger
	refused atomic.Bool
}

// note remembers whether err is a refused write, and returns err.
func (r *refusal) note(err error) error {
	if errors.Is(err, storage.ErrWriteRefused) && r.refused.CompareAndSwap(false, true) {
		r.log.Error("a store refuses writes", "store", r.store, "reason", err.Error())
	}
	return err
}

// check returns why the store refuses writes, or nil. As long as no write was
// refused it costs nothing; then it writes a probe.
func (r *refusal) check(ctx context.Context, probe func(context.Context) error) error {
	if !r.refused.Load() {
		return nil
	}
	if err := probe(ctx); err != nil {
		return err
	}
	r.refused.Store(false)
	r.log.Info("a store takes writes again", "store", r.store)
	return nil
}
