// Command standalone runs all of Attestry in one process, on Pebble, an in-memory Redis and files: for evaluation,
// demonstrations (scripts/demo) and development.
//
//	CGO_ENABLED=0 go run ./scripts/standalone
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"attestry/app/evaluation"
	"attestry/config"
	"attestry/evidence/identity"
	"attestry/evidence/signing"
	"attestry/evidence/translog"
	"attestry/process"
	"attestry/process/cli"
	"attestry/process/spans"
	admin "attestry/scripts/admin/command"
	"attestry/scripts/standalone/instance"
)

// gcPercent is less than the default of Go, as without cgo the cache and the newest tables of Pebble are in the heap.
const gcPercent = 50

func main() {
	evaluation.ServeChild()
	process.TuneGC(gcPercent)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := command{environ: os.Environ(), out: os.Stdout, errs: os.Stderr}
	os.Exit(c.main(ctx, os.Args[1:]))
}

// command is the program with its environment and outputs.
type command struct {
	environ   []string
	out, errs io.Writer
}

func (c *command) main(ctx context.Context, args []string) int {
	a, status, done := parse(args, c.out, c.errs)
	if done {
		return status
	}
	if err := c.run(ctx, a); err != nil {
		fmt.Fprintln(c.errs, err)
		return cli.Failure
	}
	return cli.Success
}

func (c *command) run(ctx context.Context, a arguments) error {
	data, cleanUp, err := dataDirectory(a)
	if err != nil {
		return err
	}
	defer cleanUp()
	sources := config.Sources{Environ: c.environ, Flags: a.settings, Defaults: defaults(data, instance.Database(data)), CheckFiles: true}
	settings, err := config.LoadFrom(sources)
	if err != nil {
		return fmt.Errorf("standalone cannot start:\n%w", err)
	}
	declared, err := process.ReadBootstrap(settings.Process.BootstrapFile)
	if err != nil {
		return fmt.Errorf("standalone cannot start:\n%w", err)
	}
	if err := refuseLostDatabase(settings.Stores, a.acceptLoss); err != nil {
		return fmt.Errorf("standalone cannot start: %w", err)
	}
	keys, err := keyFiles(data, &settings)
	if err != nil {
		return fmt.Errorf("standalone cannot start: make a key: %w", err)
	}
	log := process.StartLog(c.errs, settings.Process.LogLevel, "standalone")
	stopSpans, err := spans.Start(ctx, "standalone", log)
	if err != nil {
		return fmt.Errorf("standalone cannot start:\n%w", err)
	}
	defer stopSpans()
	var made []identity.MadeKey
	running, err := instance.Start(ctx, instance.Options{
		Listen:     string(settings.HTTP.Listen),
		Data:       data,
		Redis:      settings.Stores.Redis.URL.Reveal(),
		ReportWait: settings.HTTP.ReportWait,
		Environ:    append(sources.Environment(), keys...),
		Clock:      time.Now,
		AcceptLoss: a.acceptLoss,
		Prepare: func(ctx context.Context, p *process.Process) (err error) {
			if settings.Process.BootstrapFile == "" {
				made, err = applyFirstStart(ctx, p.Store.Tenancy)
			} else {
				made, err = p.Store.Tenancy.ApplyBootstrap(ctx, declared)
			}
			if err != nil {
				return err
			}
			return p.RecordAcceptedLoss(ctx)
		},
		Log: log,
	})
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // a signal stopped it during the start
	}
	if err != nil {
		c.printKeys(made)
		return fmt.Errorf("standalone cannot start: %w", err)
	}
	closeAdmin := listenForAdmin(running.Process)
	err = c.serve(ctx, made, running)
	return errors.Join(err, closeAdmin(), running.Close())
}

// listenForAdmin accepts commands of scripts/admin until stop is called, as no other process can open the embedded
// database meanwhile. If it cannot listen, it logs a warning and the service runs.
func listenForAdmin(p *process.Process) (stop func() error) {
	if p.Settings.Stores.Database.Engine == config.Pebble {
		socket, err := admin.Listen(p)
		if err == nil {
			return socket.Close
		}
		p.Log.Warn("scripts/admin cannot be used while this process runs", "error", err.Error())
	}
	return func() error { return nil }
}

// keyFiles returns settings for the keys that are not set. It creates missing ones in the data folder.
func keyFiles(data string, settings *config.Settings) (environ []string, err error) {
	for _, key := range []struct {
		set, variable, name string
		newKey              func() ([]byte, error)
	}{
		{settings.HTTP.SigningKeyFile, "ATTESTRY_SIGNING_KEY_FILE", "signing-key.pem", signing.NewKey},
		{settings.Log.KeyFile, "ATTESTRY_LOG_KEY_FILE", "log.key", translog.NewKeyFile},
	} {
		if key.set != "" {
			continue
		}
		file, err := instance.KeyFile(data, key.name, key.newKey)
		if err != nil {
			return nil, err
		}
		environ = append(environ, key.variable+"="+file)
	}
	return environ, nil
}

// serve prints the introduction and waits until the service stops.
func (c *command) serve(ctx context.Context, made []identity.MadeKey, running *instance.Instance) error {
	c.introduce(running, made)
	fmt.Fprintln(c.out, "Serving. Ctrl-C ends it.")
	select {
	case <-ctx.Done():
		return nil
	case err := <-running.Faults:
		return err
	}
}

// dataDirectory returns the absolute path of the data, and a function that removes it at the end if it is ephemeral.
func dataDirectory(a arguments) (string, func(), error) {
	if a.ephemeral {
		data, err := os.MkdirTemp("", "attestry-")
		return data, func() { os.RemoveAll(data) }, err
	}
	data := a.data
	if data == "" {
		folder, err := userData()
		if err != nil {
			return "", nil, err
		}
		data = filepath.Join(folder, "attestry")
	}
	data, err := filepath.Abs(data)
	return data, func() {}, err
}

// userData returns the user's data folder of the XDG Base Directory Specification.
func userData() (string, error) {
	if folder := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(folder) {
		return folder, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the user's data folder, name one with --data: %w", err)
	}
	return filepath.Join(home, ".local", "share"), nil
}

func (c *command) introduce(running *instance.Instance, made []identity.MadeKey) {
	settings := running.Process.Settings
	fmt.Fprintf(c.out, "Attestry answers on %s, its data is in %s\n", running.URL, dataLocations(settings.Stores))
	if base := string(settings.HTTP.BaseURL); base != running.URL {
		fmt.Fprintf(c.out, "  base URL       %s\n", base)
	}
	fmt.Fprintf(c.out, "  documentation  %s/api/v2/docs\n", running.URL)
	if running.MonitorAddr != "" {
		fmt.Fprintf(c.out, "  monitoring     http://%s/metrics\n", running.MonitorAddr)
	}
	if settings.Process.LogLevel > slog.LevelInfo {
		fmt.Fprintln(c.out, "  request log    off, --log-level info writes it to standard error")
	}
	c.printKeys(made)
	if settings.Process.BootstrapFile != "" {
		return
	}
	if len(made) == 0 {
		fmt.Fprintln(c.out, "  users, organizations and API keys are those of earlier starts; scripts/admin keys issue makes another key")
		return
	}
	fmt.Fprintf(c.out, "  organization   %s\n\n", firstOrganization)
	fmt.Fprintf(c.out, "Try it:\n  curl -H 'Authorization: Bearer %s' %s/api/v2/environments/%s\n\n",
		made[0].Secret.Reveal(), running.URL, firstOrganization)
}

// dataLocations names the folders or engines of the data, without addresses, which have passwords.
func dataLocations(stores config.Stores) string {
	documents, files, engine := "MongoDB", "S3", ""
	if stores.Database.Engine == config.Pebble {
		documents, engine = filepath.Dir(stores.Database.Path), " (documents in Pebble)"
	}
	if stores.Objects.Engine == config.Filesystem {
		files = filepath.Dir(stores.Objects.Path)
	}
	if documents == files {
		return documents + engine
	}
	return documents + " and " + files + engine
}

// printKeys prints new keys. Their secrets are never shown again.
func (c *command) printKeys(made []identity.MadeKey) {
	for _, key := range made {
		fmt.Fprintf(c.out, "  API key of %s (%s), shown this once: %s\n", key.User, key.Description, key.Secret.Reveal())
	}
}

type arguments struct {
	data      string
	ephemeral bool
	// acceptLoss opens a damaged database with the data that can be read.
	acceptLoss bool
	// settings override the environment.
	settings []config.Flag
}

// parse parses the command line. If done is true, the program ends with the status.
func parse(args []string, out, errs io.Writer) (a arguments, status int, done bool) {
	program := cli.NewProgram("standalone", "All of Attestry in one process, on Pebble, a Redis in memory and files.")
	data := program.String("data", "keep the data in `DIRECTORY`, else in attestry of the user's data folder")
	ephemeral := program.Bool("ephemeral", "keep the data in a temporary directory and remove it at the end")
	acceptLoss := program.Bool("accept-loss", "start although files of the database are damaged or missing, with what is left")
	program.Setting("listen", "ATTESTRY_LISTEN", "answer the API on `HOST:PORT`")
	program.Setting("base-url", "ATTESTRY_BASE_URL", "build links from `URL`, a scheme and a host")
	program.Setting("monitor", "ATTESTRY_MONITOR_LISTEN", "answer /metrics, /healthz and /readyz on `HOST:PORT`")
	program.Setting("log-level", "ATTESTRY_LOG_LEVEL", "log to standard error from `LEVEL` up; info has a line for every request")
	program.Setting("bootstrap", "ATTESTRY_BOOTSTRAP_FILE", "apply a YAML `FILE` of users, organizations and keys instead of making some at the first start")
	program.Setting("mongodb", "ATTESTRY_DATABASE_URL", "use the MongoDB at `URI` instead of Pebble")
	program.Setting("s3", "ATTESTRY_OBJECTS_URL", "use the bucket at `URL`, http(s)://ACCESS:SECRET@host:port/bucket, instead of files")
	program.Setting("redis", "ATTESTRY_REDIS_URL", "use the Redis at `URL` instead of the one in memory")
	for variable, value := range defaults("", "") {
		program.Default(variable, value)
	}
	program.Default("ATTESTRY_DATABASE_URL", "Pebble in the data")
	program.Default("ATTESTRY_OBJECTS_URL", "files in the data")
	program.Default("ATTESTRY_REDIS_URL", "in memory")
	if _, status, done := program.Parse(args, out, errs); done {
		return arguments{}, status, true
	}
	if *ephemeral && *data != "" {
		return arguments{}, program.Misuse(errs, errors.New("--ephemeral and --data exclude each other")), true
	}
	return arguments{data: *data, ephemeral: *ephemeral, acceptLoss: *acceptLoss, settings: program.Given()}, cli.Success, false
}

// defaults are embedded stores in the directory, no monitoring port, as it may be in use, and a log from warnings up.
func defaults(directory, database string) map[string]string {
	return map[string]string{
		"ATTESTRY_DATABASE_URL":   database,
		"ATTESTRY_OBJECTS_URL":    instance.Files(directory),
		"ATTESTRY_REDIS_URL":      "",
		"ATTESTRY_MONITOR_LISTEN": "off",
		"ATTESTRY_LOG_LEVEL":      "warn",
	}
}
