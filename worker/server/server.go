// Package server is the worker: it serves the configured queues and runs the periodic jobs.
package server

import (
	"context"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"attestry/config"
	"attestry/evidence/job"
	"attestry/goroutine"
	"attestry/links"
	"attestry/process"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/logs"
	"attestry/storage/notifications"
	"attestry/storage/packages"
	"attestry/tasks"
	"attestry/tasks/auditpackage"
	"attestry/tasks/notification"
	"attestry/tasks/orphans"
	"attestry/tasks/reports"
	"attestry/tasks/sequencer"
)

const (
	// taskCheckInterval is how often an idle worker polls its queues. asynq's 1 s delays reports by 0.5 s on average.
	taskCheckInterval = 20 * time.Millisecond
	// delayedCheckInterval is how often due retries are moved to their queues.
	delayedCheckInterval = time.Second
	// aloneInterval is the shortest interval of periodic jobs in a process that works alone, where writes wake them.
	aloneInterval = 5 * time.Second
	// aloneCheckInterval replaces taskCheckInterval there. asynq sleeps up to 1.5 times as long, even when it stops.
	aloneCheckInterval = time.Second
	// wakePause is the pause before a job can be woken again.
	wakePause = 20 * time.Millisecond
)

// Server is a worker.
type Server struct {
	process *process.Process
	// servers serve one queue each, or one serves all if the process works alone.
	servers   []*asynq.Server
	mux       *asynq.ServeMux
	processor *reports.Processor
	sweeper   *reports.Sweeper
	// collectors delete the objects of reports and of packages that no record names.
	collectors []*orphans.Collector
	reconciler *reconciler
	notifier   *notifier
	packager   *packager
	// logging is nil without a key.
	logging *logging
	// cosigning is nil without witnesses.
	cosigning *cosigning
}

// New makes a worker; nothing runs yet.
func New(p *process.Process) (*Server, error) {
	address := links.Links{Base: string(p.Settings.HTTP.BaseURL)}
	keys, err := p.Settings.Log.Keys()
	if err != nil {
		return nil, err
	}
	logging, err := newLogging(p, keys)
	if err != nil {
		return nil, err
	}
	registerJobCollector(p)
	s := &Server{
		logging:   logging,
		cosigning: newCosigning(p),
		process:   p,
		processor: reports.NewProcessor(p.Store, p.Tasks, p.Clock, p.Log, newParkedCounter(p)),
		sweeper:   reports.NewSweeper(p.Store, p.Tasks, p.Clock, p.Log),
		collectors: []*orphans.Collector{
			orphans.NewCollector(p.Store.Objects, p.Store.Leases, environments.ReportObjects, p.Store.Reports.ObjectKeys,
				p.Clock, p.Log),
			orphans.NewCollector(p.Store.Objects, p.Store.Leases, packages.Objects, p.Store.Assemblies.ObjectKeys,
				p.Clock, p.Log),
		},
		reconciler: newReconciler(p),
		notifier:   newNotifier(p, address),
		packager:   newPackager(p, address, keys),
		servers:    newServers(p),
	}
	s.mux = s.newMux(newMetrics(p))
	return s, nil
}

// newServers makes a server for each queue, so that tasks of one never block those of another. A process that works
// alone runs most tasks itself (RunLocally) and needs only one server.
func newServers(p *process.Process) []*asynq.Server {
	if p.Written != nil {
		return []*asynq.Server{newServer(p, p.Settings.Worker.Concurrency, p.Settings.Worker.Queues)}
	}
	var servers []*asynq.Server
	for queue, concurrency := range concurrencyOf(&p.Settings.Worker) {
		servers = append(servers, newServer(p, concurrency, map[string]int{queue: 1}))
	}
	return servers
}

// concurrencyOf returns how many tasks of each queue run at once.
func concurrencyOf(settings *config.Worker) map[string]int {
	queues := settings.Queues
	shared := queues[job.QueueReports] + queues[job.QueueCompliance]
	concurrency := make(map[string]int, len(queues))
	for queue, weight := range queues {
		concurrency[queue] = job.Concurrency[queue]
		if concurrency[queue] == 0 {
			concurrency[queue] = max(1, settings.Concurrency*weight/shared)
		}
	}
	return concurrency
}

func newServer(p *process.Process, concurrency int, queues map[string]int) *asynq.Server {
	check, delayed := taskCheckInterval, delayedCheckInterval
	if p.Written != nil {
		check, delayed = aloneCheckInterval, 2*aloneInterval
	}
	return asynq.NewServerFromRedisClient(p.Redis, asynq.Config{
		Concurrency:              concurrency,
		Queues:                   queues,
		TaskCheckInterval:        check,
		DelayedTaskCheckInterval: delayed,
		JanitorInterval:          time.Minute,
		RetryDelayFunc:           tasks.RetryDelay,
		ShutdownTimeout:          p.Settings.Process.ShutdownTimeout,
		Logger:                   &logger{log: p.Log},
		LogLevel:                 asynq.WarnLevel,
	})
}

// Run works until the context ends, then waits for running tasks.
func (s *Server) Run(ctx context.Context) error {
	context.AfterFunc(ctx, s.processor.Stop)
	for i, server := range s.servers {
		if err := server.Start(s.mux); err != nil {
			shutDown(s.servers[:i])
			return fmt.Errorf("start the worker: %w", err)
		}
	}
	if s.logging != nil {
		defer s.logging.keepLast(ctx) // running tasks may still sign some
	}
	if s.process.Written != nil {
		stop := s.process.Tasks.RunLocally(s.mux, concurrencyOf(&s.process.Settings.Worker))
		defer stop(s.process.Settings.Process.ShutdownTimeout)
	}
	var jobs goroutine.Group
	repeat := func(interval time.Duration, name string, job func(context.Context) error, concerned ...*storage.Schema) {
		var wake <-chan struct{}
		if watched := s.process.Written; watched != nil {
			wake, interval = watched.Wake(concerned...), max(interval, aloneInterval)
		}
		jobs.Go(func() error { s.repeat(ctx, interval, wake, name, job); return nil })
	}
	repeat(notificationInterval, "relay of notifications", s.notifier.relay.Relay, notifications.Schemas()...)
	repeat(notification.CleanInterval, "deletion of old deliveries", s.notifier.deliverer.Clean)
	jobs.Go(func() error { s.searchExpiring(ctx); return nil })
	repeat(packageInterval, "relay of audit packages", s.packager.relay.Relay, packages.Schemas()...)
	if s.process.Written != nil {
		repeat(aloneInterval, "relay of audit packages that a log covers", s.packager.enqueueCovered, logs.CheckpointSchema)
	}
	repeat(auditpackage.CleanInterval, "deletion of replaced audit packages", s.packager.cleaner.Clean)
	repeat(reports.SweepInterval, "sweep", s.sweeper.Sweep)
	for _, collector := range s.collectors {
		repeat(orphans.Interval, "deletion of objects that no record names", collector.Collect)
	}
	repeat(reports.RefundInterval, "refund of attempts", s.processor.Refund)
	repeat(reconcileInterval, "reconciliation", s.reconciler.reconcile)
	if s.logging != nil {
		jobs.Go(func() error { s.logging.addExisting(ctx); return nil })
		repeat(logInterval, "transparency logs", s.logging.enqueue, logs.PendingSchema)
		repeat(sequencer.KeepInterval, "checkpoints in the object store", s.logging.keep)
	}
	if s.cosigning != nil {
		repeat(logInterval, "relay of checkpoints to witnesses", s.cosigning.relay.Relay, logs.LogSchema)
	}
	err := jobs.Wait()
	shutDown(s.servers)
	return err
}

// searchExpiring searches for keys that expire, at once and then each interval: a worker may not run for that long.
func (s *Server) searchExpiring(ctx context.Context) {
	atOnce := make(chan struct{}, 1)
	atOnce <- struct{}{}
	s.repeat(ctx, notification.ExpiryInterval, atOnce, "search for keys that expire", func(ctx context.Context) error {
		return notification.EnqueueExpiring(ctx, s.process.Store, s.process.Clock())
	})
}

// shutDown stops servers after their running tasks.
func shutDown(servers []*asynq.Server) {
	var group goroutine.Group
	for _, server := range servers {
		group.Go(func() error { server.Shutdown(); return nil })
	}
	_ = group.Wait() // a panic of one server does not stop the others
}

// repeat runs a periodic job until the context ends, and in between when it is woken.
func (s *Server) repeat(ctx context.Context, interval time.Duration, wake <-chan struct{}, name string, job func(context.Context) error) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-wake:
			ticker.Reset(interval)
		}
		// If both are ready, select may choose the wake instead of the end.
		if ctx.Err() != nil {
			return
		}
		if err := goroutine.Recovered(func() error { return job(ctx) }); err != nil && ctx.Err() == nil {
			s.process.Log.Warn("a periodic job failed and will be tried again", "job", name, "error", err.Error())
		}
		if wake != nil {
			pause(ctx, wakePause)
		}
	}
}

func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}
