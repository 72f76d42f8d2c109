// Package server is the worker: it serves the queues it is told to and runs the
// periodic jobs.
package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"attestry/app"
	"attestry/evidence"
	"attestry/tasks"
	"attestry/tasks/snapshot"
)

const (
	// taskCheckInterval is how long an idle worker sleeps between looks at its
	// queues; at asynq's own second, a report would wait half of one.
	taskCheckInterval = 20 * time.Millisecond
	// delayedCheckInterval is how often tasks that are due again are moved.
	delayedCheckInterval = time.Second
)

// Deps is what a worker is made of.
type Deps struct {
	Store   *app.Store
	Redis   *redis.Client
	Clock   evidence.Clock
	Log     *slog.Logger
	Metrics prometheus.Registerer
	// Queues maps the queues to serve to their weights.
	Queues map[string]int
	// Concurrency is how many tasks run at the same time.
	Concurrency int
	// ShutdownTimeout is how long tasks may take to end when the worker stops.
	ShutdownTimeout time.Duration
}

// Server is a worker.
type Server struct {
	deps       Deps
	asynq      *asynq.Server
	mux        *asynq.ServeMux
	processor  *snapshot.Processor
	sweeper    *snapshot.Sweeper
	reconciler *reconciler
}

// New makes a worker; nothing runs yet.
func New(deps Deps) (*Server, error) {
	metrics, err := newMetrics(deps)
	if err != nil {
		return nil, fmt.Errorf("register the worker's metrics: %w", err)
	}
	reconciler, err := newReconciler(deps)
	if err != nil {
		return nil, fmt.Errorf("register the reconciler's metrics: %w", err)
	}
	processor := snapshot.NewProcessor(deps.Store, tasks.NewPublisher(deps.Redis), deps.Clock, deps.Log)
	if err := newParkedCollector(deps, processor); err != nil {
		return nil, fmt.Errorf("register the metric of reports: %w", err)
	}
	mux := asynq.NewServeMux()
	mux.Use(metrics.observe)
	mux.Use(logged(deps.Log))
	mux.Handle(tasks.TypeReport, reportHandler(processor))
	return &Server{
		deps:       deps,
		mux:        mux,
		processor:  processor,
		sweeper:    snapshot.NewSweeper(deps.Store, tasks.NewEnqueuer(deps.Redis), deps.Clock, deps.Log),
		reconciler: reconciler,
		asynq: asynq.NewServerFromRedisClient(deps.Redis, asynq.Config{
			Concurrency:              deps.Concurrency,
			Queues:                   deps.Queues,
			TaskCheckInterval:        taskCheckInterval,
			DelayedTaskCheckInterval: delayedCheckInterval,
			RetryDelayFunc:           tasks.RetryDelay,
			ShutdownTimeout:          deps.ShutdownTimeout,
			Logger:                   &logger{log: deps.Log},
			LogLevel:                 asynq.WarnLevel,
		}),
	}, nil
}

// Run works until the context ends, then lets the tasks under way end.
func (s *Server) Run(ctx context.Context) error {
	if err := s.asynq.Start(s.mux); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	var jobs sync.WaitGroup
	jobs.Go(func() { s.repeat(ctx, snapshot.SweepInterval, "sweep", s.sweeper.Sweep) })
	jobs.Go(func() { s.repeat(ctx, snapshot.RefundInterval, "refund of attempts", s.processor.Refund) })
	jobs.Go(func() { s.repeat(ctx, reconcileInterval, "reconciliation", s.reconciler.reconcile) })
	jobs.Wait()
	s.asynq.Shutdown()
	return nil
}

// repeat runs a periodic job until the context ends.
func (s *Server) repeat(ctx context.Context, interval time.Duration, name string, job func(context.Context) error) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := job(ctx); err != nil && ctx.Err() == nil {
			s.deps.Log.Warn("a periodic job failed and will be tried again", "job", name, "error", err.Error())
		}
	}
}
