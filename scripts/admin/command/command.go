// Package command implements the commands of scripts/admin. The standalone executes them on its own stores.
package command

import (
	"context"
	_ "embed" // help.txt
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"

	"attestry/process"
	"attestry/process/buildinfo"
	"attestry/process/cli"
)

// command is a command for operators.
type command struct {
	// name is one word or more.
	name string
	// arguments are shown in the help, with optional ones in brackets. The number of arguments is checked against them,
	// unless there are flags other than --json.
	arguments, summary string
	// parse reads the arguments, without --json, before any store is opened.
	parse parser
}

type parser func(args []string) (action, error)

// action is a command with parsed arguments.
type action func(ctx context.Context, c caller) error

// caller has the arguments, environment and outputs of a call of the program.
type caller struct {
	args, environ []string
	// folder is the working directory of the call.
	folder    string
	out, errs io.Writer
	asJSON    bool // lists are printed as JSON
	// running is the service, if the command runs in its process, with its open stores. Else it is nil.
	running *process.Process
}

func commands() []command {
	return []command{
		{"users list", "[--json]", "list all users", withTenancy(listUsers)},
		{"users create", "NAME [EMAIL]", "create a user with a personal organization, or bring a removed one back", parseCreateUser},
		{"users remove", "NAME", "remove a user: the keys stop working and the memberships end", withTenancy(removeUser)},
		{"organizations list", "[--json]", "list all organizations", withTenancy(listOrganizations)},
		{"organizations create", "NAME USER", "create a shared organization that a user administers", parseCreateOrganization},
		{"members list", "[--json] ORG", "list the users and service accounts of an organization with their roles", withTenancy(listMembers)},
		{"members set", "ORG USER ROLE", "make a user a member, or change the role: admin, member, snapshotter or reader", parseSetMember},
		{"members remove", "ORG USER", "remove a user from an organization", withTenancy(removeMember)},
		{"keys list", "[--json] OWNER", "list the keys that work", withTenancy(listKeys)},
		{"keys issue", "OWNER DESCRIPTION [EXPIRES]", "make a key and print it: nothing can show it again", parseIssueKey},
		{"keys revoke", "OWNER KEY_ID", "revoke a key: it stops working within a second", withTenancy(revokeKey)},
		{"jobs list", "[--json]", "list all work that waits, is leased, has failed or is parked, with the last error", withStores(listJobs)},
		{"jobs retry", "KIND KEY|all", "try parked work again, with all its attempts", func(args []string) (action, error) { return parseJob(args, false) }},
		{"jobs drop", "KIND KEY", "give parked work up for good", func(args []string) (action, error) { return parseJob(args, true) }},
		{"log key", "[--new]", "print the verifier keys of all transparency logs, by which their checkpoints are verified; or, with --new, a new private key for ATTESTRY_LOG_KEY_FILE", parseLogKey},
		{"log continue", "ORG", "begin another log for an organization whose database was restored from a backup, and print its verifier keys", withStores(continueLog)},
		{"copy", "--from URL --to URL", "copy a database or an object store to another one", parseCopy},
		{"backup", "DIR|URL", "copy a consistent state of all stores to a folder or an object store", parseBackup},
		{"restore", "[--continue-logs] DIR|URL [BACKUP]", "restore the last backup, or that of a time, into empty stores", parseRestore},
		{"verify", "[--json]", "read all that the stores have, and list what is damaged or missing", readOnly(verifyAll)},
		{"doctor", "[--json]", "examine stores, settings, clocks, keys, work, logs, memory and disk, and say what to do", parseDoctor},
	}
}

var errUsage = errors.New("wrong arguments")

// Run executes a command and returns the exit status.
func Run(ctx context.Context, args, environ []string, out, errs io.Writer) int {
	if len(args) == 0 {
		usage(errs, nil)
		return cli.Misuse
	}
	if args[0] == "help" || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		usage(out, args)
		return cli.Success
	}
	if args[0] == "--version" {
		fmt.Fprintln(out, "attestry-admin", buildinfo.Read())
		return cli.Success
	}
	act, err := parse(args)
	if err != nil {
		fmt.Fprintln(errs, err)
		usage(errs, args)
		return cli.Misuse
	}
	folder, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(errs, err)
		return cli.Failure
	}
	return caller{args: args, environ: environ, folder: folder, out: out, errs: errs}.run(ctx, act)
}

// run executes an action, prints its error and returns the exit status.
func (c caller) run(ctx context.Context, act action) int {
	err := act(ctx, c)
	var printed exitStatus
	switch {
	case err == nil:
		return cli.Success
	case errors.As(err, &printed):
		return int(printed)
	}
	fmt.Fprintln(c.errs, err)
	return cli.Failure
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

// actionOf checks the arguments of a command against its help, and parses them.
func (c command) actionOf(args []string) (action, error) {
	shown, lists := strings.CutPrefix(c.arguments, "[--json]")
	if strings.Contains(shown, "--") { // it has other flags, which parse checks
		return c.parse(args)
	}
	maxWords := len(strings.Fields(shown))
	minWords := maxWords - strings.Count(shown, "[")
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--json" })
	asJSON := len(words) < len(args)
	if asJSON && !lists || len(words) < minWords || len(words) > maxWords || slices.ContainsFunc(words, isFlag) {
		return nil, errUsage
	}
	act, err := c.parse(words)
	return func(ctx context.Context, c caller) error {
		c.asJSON = asJSON
		return act(ctx, c)
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

// calledAs returns the command that called the program. go run puts the executable into a temporary folder.
func calledAs(path string) string {
	if strings.Contains(path, "go-build") {
		return "go run ./scripts/admin"
	}
	return path
}

//go:embed help.txt
var helpText string

// help has the usage, and for some commands a text that follows the list of commands.
var help = template.Must(template.New("help").Parse(helpText))

// usage explains the commands that begin with the word args[0], or all.
func usage(out io.Writer, args []string) {
	_ = help.ExecuteTemplate(out, "usage", calledAs(os.Args[0])) // it fails only if out does
	chosen := slices.DeleteFunc(commands(), func(c command) bool { return len(args) == 0 || strings.Fields(c.name)[0] != args[0] })
	if len(chosen) == 0 {
		chosen = commands()
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range chosen {
		fmt.Fprintf(table, "  %s %s\t%s\n", c.name, c.arguments, c.summary)
	}
	table.Flush()
	for _, c := range chosen {
		if help.Lookup(c.name) != nil {
			_ = help.ExecuteTemplate(out, c.name, nil)
		}
	}
}
