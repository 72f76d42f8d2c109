package reports

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/storage"
	"attestry/storage/environments"
)

const (
	// SweepInterval is how often the sweep looks. With job.EnqueueAgain it bounds the wait after a lost task.
	SweepInterval = 2 * time.Second
	// sweepLease elects the one worker that sweeps.
	sweepLease = "sweep"
)

// Enqueuer puts tasks on their queues.
type Enqueuer interface {
	Report(ctx context.Context, environment string, arrival int64, attempt int) error
	Evaluate(ctx context.Context, environment string, arrival int64, attempt int) error
}

// Sweeper enqueues again what still waits: Redis may have lost its task, or a worker may have been killed.
type Sweeper struct {
	store    *app.Store
	enqueuer Enqueuer
	clock    evidence.Clock
	holder   string
	log      *slog.Logger
}

// NewSweeper makes a sweeper that works when Sweep is called.
func NewSweeper(store *app.Store, enqueuer Enqueuer, clock evidence.Clock, log *slog.Logger) *Sweeper {
	return &Sweeper{store: store, enqueuer: enqueuer, clock: clock, holder: evidence.NewID(), log: log}
}

// Sweep looks once, if this process is the elected one.
func (s *Sweeper) Sweep(ctx context.Context) error {
	elected, err := s.store.Leases.Acquire(ctx, sweepLease, s.holder, 3*SweepInterval)
	if err != nil || !elected {
		return err
	}
	now := evidence.Seconds(s.clock())
	seen := map[waiting]bool{}
	for after := ""; ; {
		refs, next, err := s.store.Reports.AcceptedBefore(ctx, now-job.EnqueueAgain.Seconds(), after)
		if err != nil {
			return err
		}
		if err := s.handle(ctx, refs, seen, now); err != nil {
			return err
		}
		if after = next; next == "" {
			return nil
		}
	}
}

// waiting is what waits in an environment. Reports and evaluations have tasks of their own, as workers of different queues
// serve them.
type waiting struct {
	environment string
	repeat      bool
}

// handle enqueues one task per environment and kind, and removes processed records that a killed worker left.
func (s *Sweeper) handle(ctx context.Context, refs []environments.ReportRef, seen map[waiting]bool, now float64) error {
	heads, err := s.store.Heads.GetMany(ctx, environmentsOf(refs))
	if err != nil {
		return err
	}
	var done []environments.ReportRef
	for _, ref := range refs {
		head := heads[ref.Environment]
		if ref.Arrival <= head.Processed {
			done = append(done, ref)
			continue
		}
		kind := waiting{environment: ref.Environment, repeat: ref.Repeat}
		if seen[kind] {
			continue
		}
		seen[kind] = true
		if err := s.enqueue(ctx, head.Org, ref, now); err != nil {
			return err
		}
	}
	if len(done) == 0 {
		return nil
	}
	return s.store.Reports.Discard(ctx, done)
}

func environmentsOf(refs []environments.ReportRef) []string {
	return storage.Distinct(storage.IDs(refs, func(ref environments.ReportRef) string { return ref.Environment }))
}

func (s *Sweeper) enqueue(ctx context.Context, org string, ref environments.ReportRef, now float64) error {
	attempt := int((now - ref.AcceptedAt) / job.EnqueueAgain.Seconds())
	enqueue := s.enqueuer.Report
	if ref.Repeat {
		enqueue = s.enqueuer.Evaluate
	}
	if err := enqueue(ctx, ref.Environment, ref.Arrival, attempt); err != nil {
		return fmt.Errorf("enqueue report %s/%d again: %w", ref.Environment, ref.Arrival, err)
	}
	s.log.Info("enqueued a waiting report again", "org", org, "environment", ref.Environment,
		"arrival", ref.Arrival, "evaluation", ref.Repeat, "attempt", attempt)
	return nil
}
