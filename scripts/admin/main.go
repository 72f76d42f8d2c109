// Command admin is for operators. It works on the stores that the ATTESTRY_ environment
// variables of the api and the worker name, beside them or while they are stopped.
//
//	go run ./scripts/admin --help
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"attestry/config"
	"attestry/process"
)

// The exit statuses.
const (
	succeeded = 0
	failed    = 1
	misused   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// command is one thing that an operator can do.
type command struct {
	// name is what is written to call it: one word or more.
	name, arguments, summary string
	// parse reads the arguments, before any store is opened.
	parse func(args []string) (action, error)
}

// action is a command with its arguments.
type action func(ctx context.Context, s *session) error

// session is what actions work with.
type session struct {
	*process.Process
	out, errs io.Writer
}

// commands lists all there are.
func commands() []command {
	return reportCommands()
}

// errUsage reports arguments that do not fit the command.
var errUsage = errors.New("wrong arguments")

// run does what the arguments say and returns the exit status.
func run(ctx context.Context, args, environ []string, out, errs io.Writer) int {
	if len(args) == 0 {
		usage(errs, nil)
		return misused
	}
	if wantsHelp(args) {
		usage(out, args)
		return succeeded
	}
	act, err := parse(args)
	if err != nil {
		fmt.Fprintln(errs, err)
		usage(errs, args)
		return misused
	}
	if err := perform(ctx, act, environ, out, errs); err != nil {
		fmt.Fprintln(errs, err)
		return failed
	}
	return succeeded
}

func wantsHelp(args []string) bool {
	return args[0] == "help" || slices.Contains(args, "--help") || slices.Contains(args, "-h")
}

func parse(args []string) (action, error) {
	for _, c := range commands() {
		if words := strings.Fields(c.name); len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			act, err := c.parse(args[len(words):])
			if err != nil {
				err = fmt.Errorf("%s: %w", c.name, err)
			}
			return act, err
		}
	}
	return nil, fmt.Errorf("unknown command %q", strings.Join(args, " "))
}

// usage explains the commands that begin with the same word, or all.
func usage(out io.Writer, args []string) {
	fmt.Fprintln(out, "Usage: go run ./scripts/admin COMMAND")
	fmt.Fprintln(out, "\nThe stores are those of the ATTESTRY_ environment variables of the service.\n\nCommands:")
	var chosen []command
	for _, c := range commands() {
		if len(args) > 0 && strings.Fields(c.name)[0] == args[0] {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		chosen = commands()
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range chosen {
		fmt.Fprintf(table, "  %s %s\t%s\n", c.name, c.arguments, c.summary)
	}
	table.Flush()
}

// perform opens the stores for an action.
func perform(ctx context.Context, act action, environ []string, out, errs io.Writer) error {
	settings, err := config.Load(environ)
	if err != nil {
		return err
	}
	p, err := process.Open(ctx, settings, process.NewLog(errs, slog.LevelWarn))
	if err != nil {
		return err
	}
	return errors.Join(act(ctx, &session{Process: p, out: out, errs: errs}), p.Close())
}
