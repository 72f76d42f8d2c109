package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// listOptions splits the arguments of a command that lists something: those that say what, and
// whether JSON is wanted. An unknown flag is an error.
func listOptions(args []string) (chosen []string, asJSON bool, err error) {
	for _, arg := range args {
		switch {
		case arg == "--json":
			asJSON = true
		case isFlag(arg):
			return nil, false, errUsage
		default:
			chosen = append(chosen, arg)
		}
	}
	return chosen, asJSON, nil
}

// listing prints what a command lists: a table, or a JSON object per line.
type listing struct {
	table   *tabwriter.Writer
	encoder *json.Encoder
}

// newListing begins a list. columns are those of the table.
func newListing(out io.Writer, asJSON bool, columns ...string) *listing {
	if asJSON {
		return &listing{encoder: json.NewEncoder(out)}
	}
	l := &listing{table: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	fmt.Fprintln(l.table, strings.Join(columns, "\t"))
	return l
}

// add lists one thing: shown as JSON, cells in the table.
func (l *listing) add(shown any, cells ...any) error {
	if l.encoder != nil {
		return l.encoder.Encode(shown)
	}
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = oneLine(fmt.Sprint(cell))
	}
	_, err := fmt.Fprintln(l.table, strings.Join(texts, "\t"))
	return err
}

// end prints what is left of the list.
func (l *listing) end() error {
	if l.table == nil {
		return nil
	}
	return l.table.Flush()
}

// words checks the number of arguments of a command without flags.
func words(args []string, least, most int) error {
	if len(args) < least || len(args) > most || slices.ContainsFunc(args, isFlag) {
		return errUsage
	}
	return nil
}
