// Package instance runs all of Attestry in one process: the api, a worker and, by default, a Redis in memory.
// scripts/standalone, the end-to-end tests and the benchmarks start it.
package instance

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"
	lua "github.com/yuin/gopher-lua"

	"attestry/api/service"
	"attestry/config"
	"attestry/evidence"
	"attestry/goroutine"
	"attestry/process"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/written"
	worker "attestry/worker/server"
)

// Options describe an instance. Stores without an address are embedded.
type Options struct {
	// Listen is the address of the API, host:port; port 0 takes a free one.
	Listen string
	// Data is the absolute path of the directory of the embedded stores.
	Data string
	// Redis, Database and S3 are addresses of stores, "" for embedded ones.
	Redis, Database, S3 string
	// Environ has settings in the form of os.Environ. They override Database, S3 and ReportWait, but not Listen and Redis.
	Environ []string
	// ReportWait is how long the answer to a report waits for its verdict.
	ReportWait time.Duration
	Clock      evidence.Clock
	Log        *slog.Logger
	// Wrap wraps the database for tests and benchmarks, unless it is nil.
	Wrap func(storage.Documents) storage.Documents
	// WithoutWorker starts no worker, so no queues are served.
	WithoutWorker bool
	// AcceptLoss opens a damaged embedded database with the data that can be read.
	AcceptLoss bool
	// Prepare is called before the first request is served, unless it is nil.
	Prepare func(ctx context.Context, p *process.Process) error
}

// Instance is a running service.
type Instance struct {
	// URL is scheme and host of the API on this machine.
	URL string
	// MonitorAddr is host:port of the monitoring port, "" if it is off.
	MonitorAddr string
	Process     *process.Process
	// Environment has the settings of the instance, for another process on the same stores.
	Environment []string
	// Redis is the embedded Redis, nil for none.
	Redis *miniredis.Miniredis

	// Faults gets the result, an error or nil, of each part of the instance that has ended.
	Faults chan error

	monitor *http.Server
	stop    context.CancelFunc
	group   goroutine.Group
}

// Start opens the stores and serves. It returns when the API accepts connections.
func Start(ctx context.Context, options Options) (*Instance, error) {
	listener, err := net.Listen("tcp", options.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	address := listener.Addr().String()
	i := &Instance{URL: string(config.Address(address).URL()), Faults: make(chan error, 2)}
	if err := i.open(ctx, options, address); err != nil {
		listener.Close()
		i.closeRedis()
		return nil, err
	}
	err = i.Process.Store.Retention.Verify(ctx)
	if err == nil && options.Prepare != nil {
		err = options.Prepare(ctx, i.Process)
	}
	if err == nil {
		err = i.serve(options, listener)
	}
	if err != nil {
		listener.Close()
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

func (i *Instance) open(ctx context.Context, options Options, address string) error {
	redis := options.Redis
	if redis == "" {
		var err error
		if redis, err = i.startRedis(); err != nil {
			return fmt.Errorf("start the embedded Redis: %w", err)
		}
	}
	i.Environment = environment(options, address, redis)
	settings, err := config.Load(i.Environment)
	if err != nil {
		return err
	}
	i.URL = string(settings.HTTP.URL(config.Address(address)))
	settings.Stores.Database.AcceptLoss = options.AcceptLoss
	// No other process uses the embedded Redis, so all writes are made by this instance.
	var watched *written.Documents
	wrap := func(docs storage.Documents) storage.Documents {
		if options.Wrap != nil {
			docs = options.Wrap(docs)
		}
		if i.Redis == nil || options.WithoutWorker {
			return docs
		}
		watched = written.Watch(docs)
		return watched
	}
	if i.Process, err = process.OpenWith(ctx, settings, options.Log, options.Clock, wrap); err != nil {
		return err
	}
	i.Process.Written = watched
	return nil
}

// startRedis starts the embedded Redis and returns its URL. It has a password, as all users of the machine can connect
// to its port.
func (i *Instance) startRedis() (string, error) {
	password := rand.Text()
	i.Redis = miniredis.NewMiniRedis()
	i.Redis.RequireAuth(password)
	if err := i.Redis.Start(); err != nil {
		return "", err
	}
	i.Redis.ClockTTL(true)
	return "redis://:" + password + "@" + i.Redis.Addr(), nil
}

// environment returns the settings, in the form that the api and the worker read them.
func environment(options Options, address, redis string) []string {
	return slices.Concat([]string{
		"ATTESTRY_DATABASE_URL=" + cmp.Or(options.Database, Database(options.Data)),
		"ATTESTRY_OBJECTS_URL=" + cmp.Or(options.S3, Files(options.Data)),
		"ATTESTRY_REPORT_WAIT=" + options.ReportWait.String(),
		"ATTESTRY_MONITOR_LISTEN=off",
	}, options.Environ, []string{
		"ATTESTRY_LISTEN=" + address,
		"ATTESTRY_REDIS_URL=" + redis,
	})
}

// Database returns the URL of the embedded database in a directory.
func Database(directory string) string {
	return (&url.URL{Scheme: "pebble", Path: directory + "/documents"}).String()
}

// Files returns the URL of the embedded object store in a directory.
func Files(directory string) string {
	return (&url.URL{Scheme: "file", Path: directory + "/objects"}).String()
}

func (i *Instance) serve(options Options, listener net.Listener) error {
	p := i.Process
	service, err := service.New(p)
	if err != nil {
		return err
	}
	if i.monitor, err = p.ServeMonitor(); err != nil {
		return err
	}
	i.MonitorAddr = i.monitor.Addr
	ctx, stop := context.WithCancel(context.Background())
	i.stop = stop
	// The worker stops after the API, so that running requests still get their verdicts.
	working, stopWorker := context.WithCancel(context.Background())
	if !options.WithoutWorker {
		if err := i.StartWorker(working); err != nil {
			stopWorker()
			return err
		}
	}
	i.run(func() error {
		defer stopWorker()
		return service.Serve(ctx, listener)
	})
	return nil
}

// StartWorker serves the queues until ctx ends.
func (i *Instance) StartWorker(ctx context.Context) error {
	w, err := worker.New(i.Process)
	if err != nil {
		return err
	}
	i.run(func() error { return w.Run(ctx) })
	return nil
}

func (i *Instance) run(part func() error) {
	i.group.Go(func() error {
		i.Faults <- goroutine.Recovered(part)
		return nil
	})
}

// Close stops the instance and closes its stores.
func (i *Instance) Close() error {
	if i.stop != nil {
		i.stop()
	}
	_ = i.group.Wait() // errors are in Faults
	if i.monitor != nil {
		i.monitor.Close()
	}
	err := i.Process.Close()
	i.closeRedis()
	return err
}

func (i *Instance) closeRedis() {
	if i.Redis != nil {
		i.Redis.Close()
	}
}

// miniredis makes a new interpreter for each script of asynq, hundreds per second. The 120 KB that gopher-lua reserves
// for each by default would be most allocations of the process. The scripts are short and not recursive.
func init() { lua.RegistrySize, lua.CallStackSize = 1024, 64 }

// KeyFile returns the path of a private key in a directory. If there is none, it creates one that only its owner can
// read, completely or not at all.
func KeyFile(directory, name string, newKey func() ([]byte, error)) (string, error) {
	file := filepath.Join(directory, name)
	_, err := os.Stat(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	content, err := newKey()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return "", err
	}
	temporary, err := os.CreateTemp(directory, name+"-*") // mode 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(content)
	if err := errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return "", err
	}
	if err := os.Rename(temporary.Name(), file); err != nil {
		return "", err
	}
	return file, filesystem.SyncFolder(directory)
}
