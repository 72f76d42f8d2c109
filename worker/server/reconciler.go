package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"attestry/evidence"
	"attestry/process"
)

const (
	reconcileInterval = 30 * time.Second
	// reconcileAge is how old a fact must be before it is reconciled: no request and no write takes that long.
	reconcileAge = time.Minute
	// reconcileLease elects the one worker that reconciles.
	reconcileLease = "reconcile"
)

// reconciler completes the writes of killed processes. No client got an answer to these.
type reconciler struct {
	process *process.Process
	applied *prometheus.CounterVec
}

func newReconciler(p *process.Process) *reconciler {
	r := &reconciler{
		process: p,
		applied: promauto.With(p.Metrics).NewCounterVec(prometheus.CounterOpts{
			Name: "attestry_reconciled_total",
			Help: "What had been left unfinished and was finished later, by kind: trails and facts.",
		}, []string{"kind"}),
	}
	for _, kind := range []string{"trails", "facts"} {
		r.applied.WithLabelValues(kind) // exists from the start, so that a rate shows the first increase
	}
	return r
}

// reconcile does one pass, if this process is the elected one. An error of one organization does not stop the others.
func (r *reconciler) reconcile(ctx context.Context) error {
	elected, err := r.process.Store.Leases.Acquire(ctx, reconcileLease, 3*reconcileInterval)
	if err != nil || !elected {
		return err
	}
	before := evidence.Seconds(r.process.Clock().Add(-reconcileAge))
	settled, err := r.process.Store.Trails.ApplyPendingBefore(ctx, before)
	r.count("trails", "", settled)
	faults := []error{err}
	err = r.process.Store.Tenancy.EachOrganization(ctx, func(org *evidence.Organization) error {
		applied, err := r.process.Store.Recorder.Reconcile(ctx, org.ID, before)
		r.count("facts", org.ID, applied)
		if err != nil {
			faults = append(faults, fmt.Errorf("organization %s: %w", org.ID, err))
		}
		return ctx.Err()
	})
	return errors.Join(append(faults, err)...)
}

func (r *reconciler) count(kind, org string, n int) {
	if n == 0 {
		return
	}
	r.applied.WithLabelValues(kind).Add(float64(n))
	r.process.Log.Warn("finished what a process had left unfinished", "kind", kind, "org", org, "number", n)
}
