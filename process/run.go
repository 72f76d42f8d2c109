package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"attestry/config"
	"attestry/monitor"
)

// monitorTimeout bounds a request to the monitoring port.
const monitorTimeout = 10 * time.Second

// Main runs a process from its environment to its end and returns the exit
// status: 0 after a stop that was asked for, 1 otherwise. The argument
// `healthcheck` asks the running process instead, for images without a shell.
func Main(name string, work func(ctx context.Context, p *Process) error) int {
	settings, err := config.Load(os.Environ())
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s cannot start:\n%s\n", name, err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "healthcheck" {
		return exit(os.Stderr, healthcheck(ctx, settings))
	}
	return exit(os.Stderr, run(ctx, name, settings, work))
}

func exit(out *os.File, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(out, err)
	return 1
}

func run(ctx context.Context, name string, settings config.Settings, work func(ctx context.Context, p *Process) error) error {
	log := NewLog(os.Stderr, settings.Process.LogLevel).With("process", name)
	slog.SetDefault(log)
	p, err := Open(ctx, settings, log)
	if err != nil {
		return fmt.Errorf("%s cannot start: %w", name, err)
	}
	err = p.Bootstrap(ctx, os.Stdout)
	if err == nil {
		err = p.withMonitor(ctx, work)
	}
	log.Info("stopped")
	return errors.Join(err, p.Close())
}

// withMonitor serves the monitoring port while work runs.
func (p *Process) withMonitor(ctx context.Context, work func(ctx context.Context, p *Process) error) error {
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
