// Package process has what the api and the worker share: opening the stores, applying the bootstrap file, serving the
// monitoring port, and stopping.
package process

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"attestry/app"
	"attestry/config"
	"attestry/evidence"
	"attestry/monitor"
	"attestry/outbound"
	"attestry/process/redact"
	"attestry/storage"
	"attestry/storage/guard"
	"attestry/storage/mongodb"
	"attestry/storage/pebble"
	"attestry/storage/retention"
	"attestry/storage/written"
	"attestry/tasks"
)

// openTimeout bounds how long the stores may take to open, indexes included.
const openTimeout = 2 * time.Minute

// Process has the settings and stores of a running api or worker.
type Process struct {
	Settings config.Settings
	Log      *slog.Logger
	Clock    evidence.Clock
	Store    *app.Store
	Redis    *redis.Client
	Tasks    *tasks.Enqueuer
	// Written is set only in a process that is both the api and the only worker: it sees all writes and runs all tasks.
	Written *written.Documents
	Metrics *prometheus.Registry
	// Roots are those of config.Process.
	Roots *x509.CertPool
	// Engines are the stores without their wrappers.
	Engines Engines
}

// Engines are the stores without wrappers. Reads from them are neither verified nor reported.
type Engines struct {
	Documents storage.Documents
	Objects   storage.Objects
	// Embedded is the database if it is embedded in this process, nil if it is a server.
	Embedded *pebble.DB
}

// HoldDeletions blocks the deletion of objects by this process until release is called.
func (p *Process) HoldDeletions() (release func()) {
	return p.Store.Objects.(interface{ HoldDeletions() func() }).HoldDeletions()
}

// NewLog makes the log of a process: one JSON object per line, with API keys hidden.
func NewLog(out io.Writer, level slog.Level) *slog.Logger {
	return slog.New(redact.NewHandler(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level})))
}

// Open opens the stores. It does not need Redis: without it, the service is degraded.
func Open(ctx context.Context, settings config.Settings, log *slog.Logger) (*Process, error) {
	return OpenWith(ctx, settings, log, time.Now, nil)
}

// OpenWith is Open with a clock and, unless it is nil, a wrapper of the database.
func OpenWith(ctx context.Context, settings config.Settings, log *slog.Logger, clock evidence.Clock, wrap func(storage.Documents) storage.Documents) (*Process, error) {
	p, err := open(ctx, settings, log, clock, wrap, true)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	err = recordForm(ctx, p.Store.Documents)
	if err == nil && settings.Log.KeyFile == "" {
		p.Store.Logged.Off()
		err = p.Store.Logs.Forget(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// OpenToRead opens the stores for a process that stores no facts. It writes no documents: it neither records the form
// nor, without a log key, restarts the search for facts that are not logged.
func OpenToRead(ctx context.Context, settings config.Settings, log *slog.Logger) (*Process, error) {
	return open(ctx, settings, log, time.Now, nil, true)
}

// OpenDatabase is OpenToRead without an object store.
func OpenDatabase(ctx context.Context, settings config.Settings, log *slog.Logger) (*Process, error) {
	return open(ctx, settings, log, time.Now, nil, false)
}

func open(ctx context.Context, settings config.Settings, log *slog.Logger, clock evidence.Clock, wrap func(storage.Documents) storage.Documents, withObjects bool) (*Process, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	roots, err := settings.Process.Roots()
	if err != nil {
		return nil, err
	}
	client, err := tasks.NewRedis(settings.Stores.Redis.URL.Reveal(), roots)
	if err != nil {
		return nil, err
	}
	docs, err := OpenDocuments(ctx, settings.Stores.Database, roots)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	var objects storage.Objects
	if withObjects {
		objects, err = OpenObjects(ctx, settings.Stores.Objects, settings.Retention, roots)
	}
	if err != nil {
		return nil, errors.Join(err, docs.Close(), client.Close())
	}
	p := Assemble(settings, log, clock, client, docs, objects, wrap)
	p.Roots = roots
	return p, nil
}

// Assemble makes a process from open stores. A store that is nil must not be used.
func Assemble(settings config.Settings, log *slog.Logger, clock evidence.Clock, client *redis.Client, docs storage.Documents, objects storage.Objects, wrap func(storage.Documents) storage.Documents) *Process {
	embedded, _ := docs.(*pebble.DB)
	engines := Engines{Documents: docs, Objects: objects, Embedded: embedded}
	if wrap != nil {
		docs = wrap(docs)
	}
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	monitor.RegisterLimits(metrics, connectionLimits(engines.Documents, client)...)
	guarded := guard.New(clock, log, metrics)
	store := app.NewStore(guarded.Documents(docs), guarded.Objects(objects), clock, log)
	store.Tenancy.BetaByDefault = bool(settings.Process.Beta)
	store.Retention = retention.New(objects, settings.Retention, clock) // guarded ones hold deletions during backups
	return &Process{
		Settings: settings,
		Log:      log,
		Clock:    clock,
		Store:    store,
		Redis:    client,
		Tasks:    tasks.NewEnqueuer(client),
		Metrics:  metrics,
		Engines:  engines,
	}
}

// connectionLimits returns the limits of connections to Redis and to a database server.
func connectionLimits(docs storage.Documents, client *redis.Client) []monitor.Limit {
	limits := []monitor.Limit{{Name: "redis_connections", Max: client.Options().PoolSize, Used: func() int {
		pool := client.PoolStats()
		return int(pool.TotalConns) - int(pool.IdleConns)
	}}}
	if server, ok := docs.(*mongodb.DB); ok {
		_, most := server.Connections()
		limits = append(limits, monitor.Limit{Name: "database_connections", Max: most, Used: func() int { inUse, _ := server.Connections(); return inUse }})
	}
	return limits
}

// OutboundClient returns a client for calls to addresses that users choose.
func (p *Process) OutboundClient() *http.Client {
	return outbound.NewClient(outbound.Options{Allowed: p.Settings.Outbound.Allow, RootCAs: p.Roots})
}

// Checks returns the health checks of the process. Without Redis it is degraded, but ready.
func (p *Process) Checks() []monitor.Check {
	database := monitor.Check{Name: storage.Database, Ping: p.Store.Documents.Ping, Required: true}
	if p.Engines.Embedded != nil {
		database.Warning = p.Engines.Embedded.Damage
	}
	return []monitor.Check{
		database,
		{Name: storage.ObjectStore, Ping: p.Store.Objects.Ping, Required: true, Retention: p.Store.Retention.State(), KeepFor: 5 * time.Second},
		{Name: "redis", Ping: func(ctx context.Context) error { return p.Redis.Ping(ctx).Err() }, KeepFor: time.Second},
		{Name: "log", Ping: func(context.Context) error { return nil }, Warning: p.logWarning},
	}
}

// logWarning returns why facts are not logged, "" if all are.
func (p *Process) logWarning() string {
	if p.Settings.Log.KeyFile == "" {
		return "there is no ATTESTRY_LOG_KEY_FILE, so nothing is logged"
	}
	return p.Store.Logs.Halted()
}

// RecordAcceptedLoss adds the loss that the operator has accepted, if any, to all audit logs.
func (p *Process) RecordAcceptedLoss(ctx context.Context) error {
	if p.Engines.Embedded == nil || p.Engines.Embedded.AcceptedLoss() == "" {
		return nil
	}
	return p.Store.Tenancy.RecordLoss(ctx, p.Engines.Embedded.AcceptedLoss())
}

// Close closes the stores. The process must not be used afterwards.
func (p *Process) Close() error {
	p.Store.Tenancy.Close()
	faults := []error{p.Redis.Close()}
	if p.Engines.Documents != nil {
		faults = append(faults, p.Store.Documents.Close())
	}
	if closer, ok := p.Engines.Objects.(io.Closer); ok {
		faults = append(faults, closer.Close())
	}
	return errors.Join(faults...)
}
