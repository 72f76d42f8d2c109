// Command standalone runs all of Attestry in one process, on SQLite, a Redis in
// memory and files: for evaluation, demonstrations and development.
//
//	go run ./scripts/standalone
//	go run ./scripts/standalone --ephemeral --demo
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"attestry/config"
	"attestry/evidence"
	"attestry/process"
	"attestry/scripts/standalone/instance"
	"attestry/tasks/snapshot"
)

// The user and the organization of the first start.
const (
	firstUser         = "first-user"
	firstOrganization = "acme"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// arguments are those of the command line.
type arguments struct {
	listen, data, bootstrap string
	redis, mongodb, s3      string
	ephemeral, demo         bool
}

func parse(args []string) (arguments, error) {
	var a arguments
	flags := flag.NewFlagSet("standalone", flag.ContinueOnError)
	flags.StringVar(&a.listen, "listen", "127.0.0.1:8001", "`HOST:PORT` of the API")
	flags.StringVar(&a.data, "data", "", "`DIRECTORY` of the data (default: attestry in the user's data folder)")
	flags.BoolVar(&a.ephemeral, "ephemeral", false, "keep the data in a temporary directory and remove it at the end")
	flags.StringVar(&a.bootstrap, "bootstrap", "", "YAML `FILE` of users, organizations and keys, instead of the ones made at the first start")
	flags.StringVar(&a.redis, "redis", "", "`URL` of a Redis to use instead of the one in memory")
	flags.StringVar(&a.mongodb, "mongodb", "", "`URI` of a MongoDB to use instead of SQLite")
	flags.StringVar(&a.s3, "s3", "", "`URL` of a bucket, http(s)://ACCESS:SECRET@host:port/bucket, to use instead of files")
	flags.BoolVar(&a.demo, "demo", false, "play a delivery through the API, tell every step, and go on serving")
	if err := flags.Parse(args); err != nil {
		return a, err
	}
	if flags.NArg() > 0 {
		return a, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if a.ephemeral && a.data != "" {
		return a, errors.New("--ephemeral and --data exclude each other")
	}
	return a, nil
}

func run(ctx context.Context, args []string) error {
	a, err := parse(args)
	if err != nil {
		return err
	}
	data, cleanUp, err := dataDirectory(a)
	if err != nil {
		return err
	}
	defer cleanUp()
	log := process.NewLog(os.Stderr, slog.LevelWarn)
	slog.SetDefault(log)
	running, err := instance.Start(ctx, instance.Options{
		Listen: a.listen, Data: data,
		Redis: a.redis, MongoDB: a.mongodb, S3: a.s3,
		ReportWait: snapshot.MaxWait,
		Clock:      time.Now,
		Log:        log,
	})
	if err != nil {
		return fmt.Errorf("standalone cannot start: %w", err)
	}
	err = serve(ctx, a, data, running)
	return errors.Join(err, running.Close())
}

// serve introduces the service, plays the demonstration if asked to, and waits
// for the end.
func serve(ctx context.Context, a arguments, data string, running *instance.Instance) error {
	made, err := bootstrap(ctx, a, running)
	if err != nil {
		return err
	}
	introduce(a, data, running.URL, made)
	if a.demo {
		if err := demonstrate(ctx, running); err != nil {
			return fmt.Errorf("the demonstration failed: %w", err)
		}
	}
	fmt.Println("Serving. Ctrl-C ends it.")
	select {
	case <-ctx.Done():
		return nil
	case err := <-running.Faults():
		return err
	}
}

// dataDirectory returns where the data lies, as an absolute path, and what
// removes it at the end if it is ephemeral.
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

// userData is the user's data folder of the XDG base directory specification.
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

// bootstrap applies the file that is named or, at the first start, makes a user,
// an organization and a key.
func bootstrap(ctx context.Context, a arguments, running *instance.Instance) ([]evidence.MadeKey, error) {
	declared := evidence.Bootstrap{
		Users: []evidence.DeclaredUser{{
			Name: firstUser,
			Keys: []evidence.DeclaredKey{{Description: "first start"}},
		}},
		Organizations: []evidence.DeclaredOrganization{{
			Name:    firstOrganization,
			Members: map[string]evidence.Role{firstUser: evidence.Admin},
		}},
	}
	if a.bootstrap != "" {
		data, err := os.ReadFile(a.bootstrap)
		if err != nil {
			return nil, err
		}
		if declared, err = config.ParseBootstrap(a.bootstrap, data); err != nil {
			return nil, err
		}
	}
	return running.Process.Store.Tenancy.ApplyBootstrap(ctx, declared)
}

func introduce(a arguments, data, url string, made []evidence.MadeKey) {
	fmt.Printf("Attestry answers on %s, its data is in %s\n", url, data)
	fmt.Printf("  documentation  %s/api/v2/docs\n", url)
	for _, key := range made {
		fmt.Printf("  API key of %s (%s), shown this once: %s\n", key.User, key.Description, key.Secret.Reveal())
	}
	if a.bootstrap != "" {
		return
	}
	if len(made) == 0 {
		fmt.Printf("  user %s, organization %s: the API key was shown at the first start\n", firstUser, firstOrganization)
		return
	}
	fmt.Printf("  organization   %s\n\n", firstOrganization)
	fmt.Printf("Try it:\n  curl -H 'Authorization: Bearer %s' %s/api/v2/environments/%s\n\n",
		made[0].Secret.Reveal(), url, firstOrganization)
}
