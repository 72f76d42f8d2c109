package yamlfile

import (
	"fmt"
	"strings"
)

const (
	// maxFindings bounds the findings in the text; the count is of all.
	maxFindings = 50
	// MaxShown is how many characters of a wrong value a finding repeats.
	MaxShown = 100
)

// Error says what is wrong with a file, for whoever wrote it.
type Error struct {
	Format Format
	// Findings are the first of them, in the order of their lines.
	Findings []Finding
	// Count is how many there are in all, at least one.
	Count int
}

// Finding is one fault of a file.
type Finding struct {
	// Location is a path such as trail.artifacts.0.name, "" for the whole file.
	Location string
	Line     int // from 1
	Column   int // from 1; 0 when it is unknown
	Text     string
}

// Error words the findings as clients know them (docs/semantics.md 1.8): a count, then each finding with its location.
// The count is in the plural, as clients look for "validation errors for Template". Some formats name columns.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d validation errors for %s", e.Count, e.Format.Name)
	for _, finding := range e.Findings {
		b.WriteString("\n")
		if finding.Location != "" {
			b.WriteString(finding.Location + " ")
		}
		fmt.Fprintf(&b, "(line %d", finding.Line)
		if e.Format.Columns && finding.Column > 0 {
			fmt.Fprintf(&b, ", column %d", finding.Column)
		}
		b.WriteString(")\n  " + finding.Text)
	}
	if more := e.Count - len(e.Findings); more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// unreadable is the error of a file that is not one YAML document within bounds.
func (f Format) unreadable(line int, text string) *Error {
	return &Error{Format: f, Count: 1, Findings: []Finding{{Line: line, Text: text}}}
}

// member is the location of a member of a mapping, or of an item of a list by its index.
func member(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

// Shown repeats the beginning of a value, so that it can be found.
func Shown(value string) string { return " [input: " + cut(value) + "]" }

func cut(value string) string {
	if runes := []rune(value); len(runes) > MaxShown {
		return string(runes[:MaxShown]) + "..."
	}
	return value
}
