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

	"attestry/app/evaluation"
	"attestry/config"
	"attestry/evidence/identity"
	"attestry/goroutine"
	"attestry/monitor"
	"attestry/process/buildinfo"
	"attestry/process/cli"
	"attestry/process/spans"
)

// monitorTimeout bounds a request to the monitoring port.
const monitorTimeout = 10 * time.Second

// Work is the main loop of a process. It runs until ctx ends.
type Work func(ctx context.Context, p *Process) error

// healthcheckCommand queries the running process instead of starting one.
const healthcheckCommand = "healthcheck"

// NewProgram makes the command line of a process, with `healthcheck` for images without a shell.
func NewProgram(name, summary string) *cli.Program {
	return cli.NewProgram(name, summary, cli.Command{Name: healthcheckCommand, Summary: "ask the running process whether it is well"})
}

// Main runs a process and returns the exit status: 0 after a requested stop, 2 for a wrong command line, else 1. name
// is its name in the log.
func Main(name string, program *cli.Program, work Work) int {
	evaluation.ServeChild()
	TuneGC(DefaultGCPercent)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := command{name: name, program: program, work: work, environ: os.Environ(), out: os.Stdout, errs: os.Stderr}
	return c.main(ctx, os.Args[1:])
}

// command is a process with its environment and outputs.
type command struct {
	name      string
	program   *cli.Program
	work      Work
	environ   []string
	out, errs io.Writer
}

func (c *command) main(ctx context.Context, args []string) int {
	subcommand, status, done := c.program.Parse(args, c.out, c.errs)
	if done {
		return status
	}
	settings, err := config.LoadFrom(config.Sources{Environ: c.environ, Flags: c.program.Given(), CheckFiles: subcommand != healthcheckCommand})
	if err != nil {
		fmt.Fprintf(c.errs, "%s cannot start:\n%s\n", c.name, err)
		return cli.Failure
	}
	if subcommand == healthcheckCommand {
		return c.exit(healthcheck(ctx, settings))
	}
	err = c.run(ctx, settings)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return cli.Success // a signal stopped it during the start
	}
	return c.exit(err)
}

func (c *command) exit(err error) int {
	if err == nil {
		return cli.Success
	}
	fmt.Fprintln(c.errs, err)
	return cli.Failure
}

func (c *command) run(ctx context.Context, settings config.Settings) error {
	log := StartLog(c.errs, settings.Process.LogLevel, c.name)
	stopSpans, err := spans.Start(ctx, c.name, log)
	if err != nil {
		return fmt.Errorf("%s cannot start:\n%w", c.name, err)
	}
	defer stopSpans()
	declared, err := ReadBootstrap(settings.Process.BootstrapFile)
	if err != nil {
		return fmt.Errorf("%s cannot start:\n%w", c.name, err)
	}
	p, err := Open(ctx, settings, log)
	if err != nil {
		return fmt.Errorf("%s cannot start: %w", c.name, err)
	}
	if err := p.Store.Retention.Verify(ctx); err != nil {
		return errors.Join(fmt.Errorf("%s cannot start: %w", c.name, err), p.Close())
	}
	err = p.Bootstrap(ctx, declared, c.out)
	if err == nil {
		err = p.withMonitor(ctx, c.work)
	}
	log.Info("stopped")
	return errors.Join(err, p.Close())
}

// StartLog makes the log of a process, sets it as the default, and logs the version.
func StartLog(out io.Writer, level slog.Level, name string) *slog.Logger {
	log := NewLog(out, level).With("process", name)
	slog.SetDefault(log)
	redis.SetLogger(redisLogger{log})
	build := buildinfo.Read()
	log.Info("starting", "version", build.Version, "commit", build.Commit)
	return log
}

type redisLogger struct{ log *slog.Logger }

// Printf logs errors that the client cannot return.
func (l redisLogger) Printf(ctx context.Context, format string, values ...any) {
	l.log.WarnContext(ctx, fmt.Sprintf(format, values...))
}

func (p *Process) withMonitor(ctx context.Context, work Work) error {
	server, err := p.ServeMonitor()
	if err != nil {
		return err
	}
	defer server.Close()
	return work(ctx, p)
}

// ServeMonitor serves the monitoring port until the server is closed. Its Addr is "" if the port is off.
func (p *Process) ServeMonitor() (*http.Server, error) {
	server := &http.Server{
		Handler:           monitor.New(p.Metrics, p.Checks(), p.Clock),
		ReadHeaderTimeout: monitorTimeout,
		WriteTimeout:      monitorTimeout,
	}
	address := string(p.Settings.Process.MonitorListen)
	if address == "" {
		return server, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for monitoring: %w", err)
	}
	server.Addr = listener.Addr().String()
	goroutine.Start(func() error { return server.Serve(listener) }, func(err error) {
		if !errors.Is(err, http.ErrServerClosed) {
			p.Log.Error("the monitoring port failed", "error", err.Error())
		}
	})
	return server, nil
}

func healthcheck(ctx context.Context, settings config.Settings) error {
	address := settings.Process.MonitorListen
	if address == "" {
		return errors.New("the monitoring port is off")
	}
	ctx, cancel := context.WithTimeout(ctx, monitorTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, string(address.URL())+"/healthz", nil)
	if err != nil {
		return err
	}
	// The default client would ask a proxy of the environment, unless the address is a loopback one.
	client := http.Client{Transport: &http.Transport{}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the process answers %s", response.Status)
	}
	return nil
}

// ReadBootstrap reads a bootstrap file; "" declares nothing. Call it before a store is opened, so that a faulty file
// has no effects.
func ReadBootstrap(file string) (identity.Bootstrap, error) {
	if file == "" {
		return identity.Bootstrap{}, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return identity.Bootstrap{}, fmt.Errorf("read the bootstrap file: %w", err)
	}
	return config.ParseBootstrap(file, data)
}

// Bootstrap applies a declaration and prints the new keys to out. They are never shown again.
func (p *Process) Bootstrap(ctx context.Context, declared identity.Bootstrap, out io.Writer) error {
	made, err := p.Store.Tenancy.ApplyBootstrap(ctx, declared)
	for _, key := range made {
		fmt.Fprintf(out, "API key of %s (%s), shown this once: %s\n", key.User, key.Description, key.Secret.Reveal())
	}
	return err
}
