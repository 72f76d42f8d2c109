package cli

import (
	"flag"
	"fmt"
	"io"
	"text/tabwriter"

	"attestry/config"
)

// printHelp writes what can be given on the command line and by the environment.
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
		fmt.Fprintf(table, "  %s\t%s\t%s\n", variable.Name, p.defaultOf(variable), variable.Meaning)
	}
	// Writing help to somewhere that is gone needs no better answer than silence.
	_ = table.Flush()
}

func (p *Program) defaultOf(variable config.Variable) string {
	if description, ok := p.defaults[variable.Name]; ok {
		return description
	}
	if variable.Required {
		return "required"
	}
	return variable.Default
}
