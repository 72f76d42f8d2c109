package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"attestry/evidence"
)

// listing prints a list as a table or as one JSON object per line.
type listing struct {
	table   *tabwriter.Writer
	encoder *json.Encoder
}

// newListing begins a list. columns are those of the table.
func (c caller) newListing(columns ...string) *listing {
	if c.asJSON {
		return &listing{encoder: json.NewEncoder(c.out)}
	}
	l := &listing{table: tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)}
	fmt.Fprintln(l.table, strings.Join(columns, "\t"))
	return l
}

// add prints one item: shown as JSON, or cells in the table.
func (l *listing) add(shown any, cells ...any) error {
	if l.encoder != nil {
		return l.encoder.Encode(shown)
	}
	texts := evidence.Map(cells, func(cell any) string { return oneLine(fmt.Sprint(cell)) })
	_, err := fmt.Fprintln(l.table, strings.Join(texts, "\t"))
	return err
}

func (l *listing) end() error {
	if l.table == nil {
		return nil
	}
	return l.table.Flush()
}

// oneLine replaces control characters, such as line breaks, as the text may have input of clients.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

func isoTime(seconds float64) string {
	return time.UnixMilli(int64(seconds * 1e3)).UTC().Format(time.RFC3339)
}
