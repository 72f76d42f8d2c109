package yamlfile

import (
	"fmt"
	"strings"
)

const (
	// maxFindings bounds Error.Findings.
	maxFindings = 50
	// MaxShown bounds the invalid value in a finding, in characters.
	MaxShown = 100
)

// Error has the faults of a file, for its author.
type Error struct {
	Format Format
	// Findings are the first ones, in the order of their lines.
	Findings []Finding
	// Count is the number of all findings, at least one.
	Count int
}

// Finding is one fault of a file.
type Finding struct {
	// Location is a path such as trail.artifacts.0.name, "" for the whole file.
	Location string
	Line     int // from 1
	Column   int // from 1; 0 if unknown
	Text     string
}

// Error lists the findings in the API's form (docs/semantics.md 1.8): a count, then each finding with its location. The
// count is always in the plural, as clients search for "validation errors for Template".
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

// unreadable is the error of a file that is not a single YAML document within the bounds.
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

// Shown is the end of a finding: the beginning of the invalid value.
func Shown(value string) string { return " [input: " + cut(value) + "]" }

func cut(value string) string {
	if runes := []rune(value); len(runes) > MaxShown {
		return string(runes[:MaxShown]) + "..."
	}
	return value
}
