// Command admin is for operators. It works on the stores that the ATTESTRY_ environment
// variables of the api and the worker name, beside them or while they are stopped; copy works
// on the two stores that its arguments name.
//
//	go run ./scripts/admin --help
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
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
	name string
	// arguments are shown in the help. Brackets stand around what may be left out. What is written is checked by them,
	// unless there are flags other than --json.
	arguments, summary string
	// parse reads the arguments, without --json, before any store is opened.
	parse func(args []string) (action, error)
	// details follow the list of commands, unless they are "".
	details string
}

// action is a command with its arguments.
type action func(ctx context.Context, c caller) error

// caller is who called the program: their environment, and where output goes.
type caller struct {
	environ   []string
	out, errs io.Writer
	asJSON    bool // lists are printed as JSON
}

// commands lists all there are.
func commands() []command {
	return slices.Concat(userCommands(), organizationCommands(), keyCommands(), reportCommands(), jobCommands(), logCommands(), []command{copyCommand()}, backupCommands(), verifyCommands())
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
	if err := act(ctx, caller{environ: environ, out: out, errs: errs}); err != nil {
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
			act, err := c.actionOf(args[len(words):])
			if err != nil {
				err = fmt.Errorf("%s: %w", c.name, err)
			}
			return act, err
		}
	}
	return nil, fmt.Errorf("unknown command %q", strings.Join(wordsOf(args), " "))
}

// actionOf checks the arguments of a command by what its help shows, and parses them.
func (c command) actionOf(args []string) (action, error) {
	shown, lists := strings.CutPrefix(c.arguments, "[--json]")
	if strings.Contains(shown, "--") { // it has flags of its own, which parse checks
		return c.parse(args)
	}
	most := len(strings.Fields(shown))
	least := most - strings.Count(shown, "[")
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--json" })
	asJSON := len(words) < len(args)
	if asJSON && !lists || len(words) < least || len(words) > most || slices.ContainsFunc(words, isFlag) {
		return nil, errUsage
	}
	act, err := c.parse(words)
	return func(ctx context.Context, by caller) error {
		by.asJSON = asJSON
		return act(ctx, by)
	}, err
}

func isFlag(arg string) bool { return strings.HasPrefix(arg, "-") }

// wordsOf returns the arguments before the first flag or URL: a URL may have a password.
func wordsOf(args []string) []string {
	end := slices.IndexFunc(args, func(arg string) bool { return isFlag(arg) || strings.Contains(arg, "://") })
	if end < 0 {
		return args
	}
	return args[:end]
}

// usage explains the commands that begin with the same word, or all.
func usage(out io.Writer, args []string) {
	fmt.Fprintln(out, "Usage: go run ./scripts/admin COMMAND")
	fmt.Fprintln(out, "\nThe stores are those of the ATTESTRY_ environment variables of the service; copy has its own.\n\nCommands:")
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
	for _, c := range chosen {
		if c.details != "" {
			fmt.Fprintf(out, "\n%s\n", c.details)
		}
	}
}
