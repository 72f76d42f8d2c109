package reports

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/storage/environments"
	"attestry/tasks/relay"
)

const (
	// SweepInterval is the time between two sweeps. With job.EnqueueAgain it bounds the wait after a lost task.
	SweepInterval = 2 * time.Second
	// sweepLease elects the one worker that sweeps.
	sweepLease = "sweep"
)

// Sweeper enqueues waiting reports again: Redis may have lost their tasks, or a worker may have been killed.
type Sweeper struct {
	store  *app.Store
	queues relay.Queues
	clock  evidence.Clock
	log    *slog.Logger
	intake *Intake
}

// NewSweeper makes a sweeper that works when Sweep is called.
func NewSweeper(store *app.Store, queues relay.Queues, clock evidence.Clock, log *slog.Logger) *Sweeper {
	return &Sweeper{store: store, queues: queues, clock: clock, log: log,
		intake: NewIntake(store, nil, nil, clock, 0)}
}

// Sweep does one sweep, then lapse, if this process is the elected one.
func (s *Sweeper) Sweep(ctx context.Context) error {
	elected, err := s.store.Leases.Acquire(ctx, sweepLease, 3*SweepInterval)
	if err != nil || !elected {
		return err
	}
	return errors.Join(s.enqueueWaiting(ctx), s.lapse(ctx))
}

// enqueueWaiting enqueues a task for each environment whose reports wait for longer than job.EnqueueAgain.
func (s *Sweeper) enqueueWaiting(ctx context.Context) error {
	one := &sweep{at: evidence.Seconds(s.clock()), seen: map[waiting]bool{}, room: map[*job.Kind]int{}}
	for after := ""; ; {
		refs, next, err := s.store.Reports.AcceptedBefore(ctx, one.at-job.EnqueueAgain.Seconds(), after)
		if err != nil {
			return err
		}
		if err := s.handle(ctx, one, refs); err != nil {
			return err
		}
		if after = next; next == "" {
			return nil
		}
	}
}

type sweep struct {
	at   float64 // Unix seconds
	seen map[waiting]bool
	// room is how many tasks the queues of kinds still take.
	room map[*job.Kind]int
}

// waiting identifies a task for an environment. Reports and evaluations have separate tasks, in different queues.
type waiting struct {
	kind        *job.Kind
	environment string
}

// handle enqueues one task per environment and kind, and removes processed records that a killed worker left.
func (s *Sweeper) handle(ctx context.Context, one *sweep, refs []environments.ReportRef) error {
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
		what := waiting{kind: kindOf(ref.Repeat), environment: ref.Environment}
		if one.seen[what] {
			continue
		}
		one.seen[what] = true
		if err := s.enqueue(ctx, one, what.kind, head.Org, ref); err != nil {
			return err
		}
	}
	if len(done) == 0 {
		return nil
	}
	return s.store.Reports.Discard(ctx, done)
}

func environmentsOf(refs []environments.ReportRef) []string {
	return evidence.Distinct(evidence.Map(refs, func(ref environments.ReportRef) string { return ref.Environment }))
}

// enqueue enqueues a task, unless its queue is so long that the workers cannot keep up. Waiting reports get tasks with
// new ids every job.EnqueueAgain, so Redis would have to hold more and more of them.
func (s *Sweeper) enqueue(ctx context.Context, one *sweep, kind *job.Kind, org string, ref environments.ReportRef) error {
	if _, ok := one.room[kind]; !ok {
		n, err := s.queues.Waiting(ctx, kind.Queue)
		if err != nil {
			return err
		}
		one.room[kind] = relay.MaxWaiting - n
	}
	if one.room[kind] <= 0 {
		return nil
	}
	one.room[kind]--
	attempt := int64((one.at - ref.AcceptedAt) / job.EnqueueAgain.Seconds())
	if err := s.queues.Enqueue(ctx, job.EnvironmentRef(kind, ref.Environment, ref.Arrival), attempt); err != nil {
		return fmt.Errorf("enqueue report %s/%d again: %w", ref.Environment, ref.Arrival, err)
	}
	s.log.Info("enqueued a waiting report again", "org", org, "environment", ref.Environment,
		"arrival", ref.Arrival, "evaluation", ref.Repeat, "attempt", attempt)
	return nil
}
