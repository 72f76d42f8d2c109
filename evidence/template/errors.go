package template

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxFindings bounds the text about a file that is wrong throughout; the count
	// in its first line is the whole one.
	maxFindings = 50
	// maxShown is how many characters of a wrong value a finding repeats.
	maxShown = 100
)

// Error says what is wrong with a template, for whoever wrote it.
type Error struct {
	// Findings are the first of them, in the order of their lines.
	Findings []Finding
	// Count is how many there are in all, at least one.
	Count int
}

// Finding is one fault of a template.
type Finding struct {
	// Location is a path such as trail.artifacts.0.name, "" for the whole file.
	Location string
	Line     int // from 1
	Text     string
}

// Error words the findings as clients know them (docs/semantics.md 1.8): a count,
// then each finding with its place. A single one is counted in the plural too,
// because clients look for "validation errors for Template".
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d validation errors for Template", e.Count)
	for _, finding := range e.Findings {
		b.WriteString("\n")
		if finding.Location != "" {
			b.WriteString(finding.Location + " ")
		}
		fmt.Fprintf(&b, "(line %d)\n  %s", finding.Line, finding.Text)
	}
	if more := e.Count - len(e.Findings); more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

func (e *Error) add(finding Finding) {
	e.Count++
	if len(e.Findings) < maxFindings {
		e.Findings = append(e.Findings, finding)
	}
}

// orNil is the error, or nil when nothing was found.
func (e *Error) orNil() error {
	if e.Count == 0 {
		return nil
	}
	slices.SortStableFunc(e.Findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return e
}

// unreadable is the error of a file that is not one YAML document within bounds.
func unreadable(line int, text string) *Error {
	return &Error{Count: 1, Findings: []Finding{{Line: line, Text: text}}}
}

func member(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

func item(at string, index int) string { return member(at, strconv.Itoa(index)) }

// shown repeats the beginning of a value, so that it can be found.
func shown(value string) string {
	if runes := []rune(value); len(runes) > maxShown {
		value = string(runes[:maxShown]) + "..."
	}
	return " [input: " + value + "]"
}
