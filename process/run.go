package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"attestry/config"
	"attestry/monitor"
)

// monitorTimeout bounds a request to the monitoring port.
const monitorTimeout = 10 * time.Second

// Work is what a process does until its context ends.
type Work func(ctx context.Context, p *Process) error

// Main runs a process from its environment to its end and returns the exit
// status: 0 after a stop that was asked for, 1 otherwise. The argument
// `healthcheck` asks the running process instead, for images without a shell.
func Main(name string, work Work) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := command{name: name, work: work, environ: os.Environ(), out: os.Stdout, errs: os.Stderr}
	return c.main(ctx, os.Args[1:])
}

// command is a process with what it gets from the system.
type command struct {
	name      string
	work      Work
	environ   []string
	out, errs io.Writer
}

func (c *command) main(ctx context.Context, args []string) int {
	settings, err := config.Load(c.environ)
	if err != nil {
		fmt.Fprintf(c.errs, "%s cannot start:\n%s\n", c.name, err)
		return 1
	}
	if len(args) > 0 && args[0] == "healthcheck" {
		return c.exit(healthcheck(ctx, settings))
	}
	err = c.run(ctx, settings)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		// It was told to stop while it was still starting.
		return 0
	}
	return c.exit(err)
}

func (c *command) exit(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(c.errs, err)
	return 1
}

func (c *command) run(ctx context.Context, settings config.Settings) error {
	log := NewLog(c.errs, settings.Process.LogLevel).With("process", c.name)
	slog.SetDefault(log)
	redis.SetLogger(redisLogger{log})
	p, err := Open(ctx, settings, log)
	if err != nil {
		return fmt.Errorf("%s cannot start: %w", c.name, err)
	}
	err = p.Bootstrap(ctx, c.out)
	if err == nil {
		err = p.withMonitor(ctx, c.work)
	}
	log.Info("stopped")
	return errors.Join(err, p.Close())
}

// redisLogger lets the Redis client speak through slog.
type redisLogger struct {
	log *slog.Logger
}

// Printf logs what the client cannot return as an error.
func (l redisLogger) Printf(ctx context.Context, format string, values ...any) {
	l.log.WarnContext(ctx, fmt.Sprintf(format, values...))
}

// withMonitor serves the monitoring port while work runs.
func (p *Process) withMonitor(ctx context.Context, work Work) error {
	address := string(p.Settings.Process.MonitorListen)
	if address == "" {
		return work(ctx, p)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen for monitoring: %w", err)
	}
	server := &http.Server{
		Handler:           monitor.New(p.Metrics, p.Checks(), p.Clock),
		ReadHeaderTimeout: monitorTimeout,
		WriteTimeout:      monitorTimeout,
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.Log.Error("the monitoring port failed", "error", err.Error())
		}
	}()
	defer server.Close()
	return work(ctx, p)
}

// healthcheck asks the monitoring port of the process beside us.
func healthcheck(ctx context.Context, settings config.Settings) error {
	address := string(settings.Process.MonitorListen)
	if address == "" {
		return errors.New("the monitoring port is off")
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, monitorTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort("127.0.0.1", port)+"/healthz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the process answers %s", response.Status)
	}
	return nil
}
