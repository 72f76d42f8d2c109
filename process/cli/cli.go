// Package cli has the common parts of all command lines: flags, help with the table of settings, and the version.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"attestry/config"
	"attestry/process/buildinfo"
)

// Exit statuses.
const (
	Success = 0
	Failure = 1
	// Misuse reports wrong arguments.
	Misuse = 2
)

// Program is the command line of a program.
type Program struct {
	name, summary string
	commands      []Command
	flags         *flag.FlagSet
	settings      map[string]string // variables by the flags that override them
	defaults      map[string]string
	help, version *bool
}

// Command is another function of a program, chosen by the first argument.
type Command struct{ Name, Summary string }

// NewProgram makes a command line with the flags --help and --version. The summary is one sentence.
func NewProgram(name, summary string, commands ...Command) *Program {
	p := &Program{
		name: name, summary: summary, commands: commands,
		flags:    flag.NewFlagSet(name, flag.ContinueOnError),
		settings: map[string]string{},
		defaults: map[string]string{},
	}
	p.flags.SetOutput(io.Discard)
	p.help = p.flags.Bool("help", false, "print this text")
	p.version = p.flags.Bool("version", false, "print version and commit")
	return p
}

// Bool adds a boolean flag.
func (p *Program) Bool(name, usage string) *bool { return p.flags.Bool(name, false, usage) }

// String adds a flag with a value, which the usage names between back quotes.
func (p *Program) String(name, usage string) *string { return p.flags.String(name, "", usage) }

// Setting adds a flag that overrides a variable of the environment. The usage names the value between back quotes.
func (p *Program) Setting(name, variable, usage string) {
	p.flags.String(name, "", usage)
	p.settings[name] = variable
}

// Default sets the text that help shows as a variable's default, if it is not that of config.Table.
func (p *Program) Default(variable, description string) { p.defaults[variable] = description }

// Given returns the settings that flags of the command line set.
func (p *Program) Given() []config.Flag {
	var given []config.Flag
	p.flags.Visit(func(f *flag.Flag) {
		if variable, ok := p.settings[f.Name]; ok {
			given = append(given, config.Flag{Name: "--" + f.Name, Variable: variable, Value: f.Value.String()})
		}
	})
	return given
}

// Parse parses the arguments and returns the command among them, "" for none. If done is true, it has printed help, the
// version or an error, and the program must end with the status.
func (p *Program) Parse(args []string, out, errs io.Writer) (command string, status int, done bool) {
	err := p.flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp) || err == nil && *p.help:
		p.printHelp(out)
		return "", Success, true
	case err != nil:
		return "", p.Misuse(errs, err), true
	case *p.version:
		fmt.Fprintln(out, p.name, buildinfo.Read())
		return "", Success, true
	}
	rest := p.flags.Args()
	if len(rest) > 0 && slices.ContainsFunc(p.commands, func(c Command) bool { return c.Name == rest[0] }) {
		command, rest = rest[0], rest[1:]
	}
	if len(rest) > 0 {
		return "", p.Misuse(errs, fmt.Errorf("unknown argument %q", rest[0])), true
	}
	return command, Success, false
}

// Misuse reports a wrong command line and returns the exit status.
func (p *Program) Misuse(errs io.Writer, err error) int {
	fmt.Fprintf(errs, "%s: %v\nTry '%s --help'.\n", p.name, err, p.name)
	return Misuse
}

func (p *Program) printHelp(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s\n\nUsage:\n  %s [FLAGS]\n", p.summary, p.name)
	for _, command := range p.commands {
		fmt.Fprintf(table, "  %s %s\t%s\n", p.name, command.Name, command.Summary)
	}
	fmt.Fprint(table, "\nFlags:\n")
	p.flags.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		if variable, ok := p.settings[f.Name]; ok {
			usage += " (overrides " + variable + ")"
		}
		fmt.Fprintf(table, "  --%s %s\t%s\n", f.Name, value, usage)
	})
	fmt.Fprint(table, "\nSettings, from environment variables:\n")
	for _, variable := range config.Table() {
		standard := variable.Default
		if variable.Required {
			standard = "required"
		}
		if description, ok := p.defaults[variable.Name]; ok {
			standard = description
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\n", variable.Name, standard, variable.Meaning)
	}
	_ = table.Flush() // nothing can be done if help cannot be written
}
