// Package service puts the api process together.
package service

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"attestry/api/links"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/app"
	"attestry/app/evaluation"
	"attestry/evidence"
	"attestry/monitor"
	"attestry/tasks"
	"attestry/tasks/logical"
	"attestry/tasks/snapshot"
)

// subscriptionWait is how long the service waits for Redis before it serves. On a
// Redis that is there, subscribing takes a few milliseconds.
const subscriptionWait = time.Second

// ServiceDeps is what the api process is made of.
type ServiceDeps struct {
	BaseURL         string
	Store           *app.Store
	Redis           *redis.Client
	Clock           evidence.Clock
	Log             *slog.Logger
	Metrics         prometheus.Registerer
	Checks          []monitor.Check
	RequestTimeout  time.Duration
	ReportWait      time.Duration
	ShutdownTimeout time.Duration
	// MemoryBudget is in bytes; 0 means the default of the machine.
	MemoryBudget int64
}

// Service is the whole api process: the HTTP server and the loops beside it.
type Service struct {
	server     *server.Server
	dispatcher *tasks.Dispatcher
	waiters    *tasks.Waiters
	evaluator  *evaluation.Evaluator
}

// NewService puts the api process together; nothing runs yet.
func NewService(deps ServiceDeps) (*Service, error) {
	dispatcher := tasks.NewDispatcher(tasks.NewEnqueuer(deps.Redis), deps.Log)
	waiters := tasks.NewWaiters(deps.Redis, deps.Log)
	evaluator := evaluation.New(evaluation.Options{Log: deps.Log})
	links, err := links.New(deps.BaseURL)
	if err != nil {
		return nil, err
	}
	shell := server.Deps{
		BaseURL:         deps.BaseURL,
		Clock:           deps.Clock,
		Logger:          deps.Log,
		Registerer:      deps.Metrics,
		Authenticator:   deps.Store.Tenancy,
		Memberships:     deps.Store.Tenancy,
		Checks:          deps.Checks,
		RequestTimeout:  deps.RequestTimeout,
		ShutdownTimeout: deps.ShutdownTimeout,
		MemoryBudget:    deps.MemoryBudget,
	}
	server, err := server.New(shell, Routes(&resource.Base{
		Clock: deps.Clock, Links: links,
		Stores: resource.Stores{
			Environments: deps.Store.Environments, Flows: deps.Store.Flows, Repos: deps.Store.Repos, Trails: deps.Store.Trails,
		},
		Intake:    snapshot.NewIntake(deps.Store, dispatcher, waiters, deps.Clock, deps.ReportWait),
		Evaluator: evaluator, Logical: logical.NewUpdater(deps.Store, deps.Clock, deps.Log),
		Log: deps.Log, BatchBytes: shell.BatchBytes(),
	}, deps.Store))
	return &Service{server: server, dispatcher: dispatcher, waiters: waiters, evaluator: evaluator}, err
}

// Serve answers on the listener until ctx ends, then lets the requests under way
// finish and hands over what is still to be dispatched.
func (s *Service) Serve(ctx context.Context, listener net.Listener) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	loops.Go(func() { s.dispatcher.Run(background) })
	loops.Go(func() { s.waiters.Run(background) })
	s.awaitSubscription(ctx)
	err := s.server.Serve(ctx, listener)
	stop()
	loops.Wait()
	s.evaluator.Close()
	return err
}

// awaitSubscription lets the first reports find a subscription that can wake
// them. A Redis that is away or hangs does not keep the service from serving.
func (s *Service) awaitSubscription(ctx context.Context) {
	end := time.NewTimer(subscriptionWait)
	defer end.Stop()
	select {
	case <-s.waiters.Tried():
	case <-end.C:
	case <-ctx.Done():
	}
}
