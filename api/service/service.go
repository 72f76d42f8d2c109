// Package service assembles the api process.
package service

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"attestry/api/access"
	"attestry/api/audits"
	"attestry/api/oidc"
	"attestry/api/recognition"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/web"
	"attestry/app/evaluation"
	"attestry/config"
	"attestry/goroutine"
	"attestry/links"
	"attestry/monitor"
	"attestry/process"
	"attestry/tasks"
	"attestry/tasks/auditpackage"
	"attestry/tasks/logical"
	"attestry/tasks/reports"
)

// verdictGrace is how long requests wait for a verdict after the drain. Then their reports are answered as accepted.
const verdictGrace = time.Second

// subscriptionWait bounds the wait for Redis before the service serves. Subscribing usually takes a few milliseconds.
const subscriptionWait = time.Second

// Service is the api process: the HTTP server and its background loops.
type Service struct {
	server     *server.Server
	dispatcher *tasks.Dispatcher
	waiters    *tasks.Waiters
	evaluator  *evaluation.Evaluator
	// rates is the Redis client of the rate limits, nil without any.
	rates    io.Closer
	settings config.HTTP
	log      *slog.Logger
}

// New assembles the api process without starting it.
func New(p *process.Process) (*Service, error) {
	settings := p.Settings.HTTP
	dispatcher := tasks.NewDispatcher(p.Tasks, p.Log)
	waiters := tasks.NewWaiters(p.Redis, p.Log)
	evaluator := evaluation.New(p.Log)
	links := links.Links{Base: string(settings.BaseURL)}
	key, err := settings.SigningKey()
	if err != nil {
		return nil, err
	}
	recognized := recognition.NewCache(recognition.MaxEnvironments)
	p.Metrics.MustRegister(recognized.Recognized)
	tokens := oidc.NewVerifier(p.Store.Tenancy, p.OutboundClient(), p.Clock, p.Log)
	gate, rates, err := newGate(p, tokens)
	if err != nil {
		return nil, err
	}
	monitor.RegisterLimits(p.Metrics, dispatcher.Limit(), waiters.Limit())
	deps := server.Deps{
		BaseURL:         string(settings.BaseURL),
		Clock:           p.Clock,
		Logger:          p.Log,
		Registerer:      p.Metrics,
		Gate:            gate,
		Checks:          p.Checks(),
		RequestTimeout:  settings.RequestTimeout,
		ShutdownTimeout: p.Settings.Process.ShutdownTimeout,
		MemoryBudget:    int64(settings.MemoryBudget),
	}
	site, err := newSite(p, gate, links)
	if err != nil {
		return nil, err
	}
	if site != nil {
		deps.Session = site.Principal
	}
	httpServer, err := server.New(deps, Routes(&resource.Base{
		Store: p.Store, Clock: p.Clock, Links: links,
		Intake:      reports.NewIntake(p.Store, dispatcher, waiters, p.Clock, settings.ReportWait),
		Recognition: recognized,
		Evaluator:   evaluator, Logical: logical.NewUpdater(p.Store, p.Clock, p.Log),
		Tokens: tokens, SigningKey: key, Log: p.Log, BatchBytes: deps.BatchBytes(),
	}, auditpackage.NewRequests(p.Store, waiters, p.Clock, audits.ReleaseMemory), settings.RequestTimeout))
	if err == nil && site != nil {
		site.Mount(httpServer)
	}
	return &Service{
		server: httpServer, dispatcher: dispatcher, waiters: waiters, evaluator: evaluator, rates: rates, settings: settings, log: p.Log,
	}, err
}

// Serve serves on the listener until ctx ends. It then serves for DrainDelay, in which load balancers notice the
// failing /ready, waits for the requests in flight, and dispatches the remaining tasks.
func (s *Service) Serve(ctx context.Context, listener net.Listener) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var loops goroutine.Group
	loops.Go(func() error { s.dispatcher.Run(background); return nil })
	loops.Go(func() error { s.waiters.Run(background); return nil })
	drained, end := context.WithCancel(background)
	loops.Go(func() error {
		defer end()
		if waitAfter(ctx, background, 0) {
			s.server.Drain()
			waitAfter(ctx, background, s.settings.DrainDelay)
		}
		return nil
	})
	loops.Go(func() error {
		if waitAfter(drained, background, verdictGrace) {
			s.waiters.End()
		}
		return nil
	})
	s.awaitSubscription(ctx)
	listener, err := listenTLS(listener, s.settings, s.log)
	if err == nil {
		err = s.server.Serve(drained, listener)
	}
	stop()
	err = errors.Join(err, loops.Wait())
	s.evaluator.Close()
	if s.rates != nil {
		err = errors.Join(err, s.rates.Close())
	}
	return err
}

// waitAfter waits for the end of ctx and then for delay. It returns false as soon as background ends.
func waitAfter(ctx, background context.Context, delay time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-background.Done():
		return false
	}
	select {
	case <-time.After(delay):
		return true
	case <-background.Done():
		return false
	}
}

// awaitSubscription waits for the subscription that wakes waiting reports, so that the first reports are woken. It
// waits at most subscriptionWait, so that the service also serves without Redis.
func (s *Service) awaitSubscription(ctx context.Context) {
	end := time.NewTimer(subscriptionWait)
	defer end.Stop()
	select {
	case <-s.waiters.Tried():
	case <-end.C:
	case <-ctx.Done():
	}
}

// newSite makes the pages for people, nil if the settings disable them.
func newSite(p *process.Process, gate *access.Gate, addresses links.Links) (*web.Site, error) {
	if !p.Settings.HTTP.Web {
		return nil, nil
	}
	options := web.Options{
		Links: addresses, Identities: p.Store.Tenancy, Storage: p.Store.Sessions, Attempts: gate.Attempts, Clock: p.Clock,
	}
	if p.Settings.SignIn.Issuer != "" {
		options.Login = &oidc.Login{
			SignIn: p.Settings.SignIn, Redirect: addresses.Base + web.CallbackPath, Client: p.OutboundClient(), Clock: p.Clock, Log: p.Log,
		}
	}
	return web.New(options)
}
