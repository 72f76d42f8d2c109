// Package command has what scripts/admin does for operators. The standalone runs the same commands on its own stores.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"attestry/process"
)

// The exit statuses.
const (
	succeeded = 0
	failed    = 1
	misused   = 2
)

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

// caller is who called the program: their arguments and environment, and where output goes.
type caller struct {
	args, environ []string
	// folder is the one in which the program was called.
	folder    string
	out, errs io.Writer
	asJSON    bool // lists are printed as JSON
	// running has the stores open already if the command runs within the service. Else it is nil.
	running *process.Process
}

// commands lists all there are.
func commands() []command {
	return slices.Concat(userCommands(), organizationCommands(), keyCommands(), jobCommands(), logCommands(), []command{copyCommand()}, backupCommands(), verifyCommands(), []command{doctorCommand()})
}

// errUsage reports arguments that do not fit the command.
var errUsage = errors.New("wrong arguments")

// Run does what the arguments say and returns the exit status.
func Run(ctx context.Context, args, environ []string, out, errs io.Writer) int {
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
	folder, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(errs, err)
		return failed
	}
	return caller{args: args, environ: environ, folder: folder, out: out, errs: errs}.run(ctx, act)
}

// run does an action, prints its error and returns the exit status.
func (c caller) run(ctx context.Context, act action) int {
	err := act(ctx, c)
	var printed exitStatus
	switch {
	case err == nil:
		return succeeded
	case errors.As(err, &printed):
		return int(printed)
	}
	fmt.Fprintln(c.errs, err)
	return failed
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

// calledAs is how the program was called. go run puts what it has compiled into folders of its own.
func calledAs(path string) string {
	if strings.Contains(path, "go-build") {
		return "go run ./scripts/admin"
	}
	return path
}

// usage explains the commands that begin with the same word, or all.
func usage(out io.Writer, args []string) {
	fmt.Fprintf(out, "Usage: %s COMMAND\n", calledAs(os.Args[0]))
	fmt.Fprintln(out, "\nThe stores are those of the ATTESTRY_ environment variables of the service; copy has its own. If ATTESTRY_DATABASE_URL names")
	fmt.Fprintln(out, "the folder of a running standalone, that process executes the command, with its stores and settings.\n\nCommands:")
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
