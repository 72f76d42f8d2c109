package pdf

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"attestry/evidence"
)

// timeOf returns a time in UTC. ok is false for one that no calendar has.
func timeOf(seconds float64) (at time.Time, ok bool) {
	const year9999 = 253402300799
	if math.IsNaN(seconds) || math.Abs(seconds) > year9999 {
		return time.Unix(0, 0).UTC(), false
	}
	return time.Unix(int64(math.Floor(seconds)), 0).UTC(), true
}

// moment formats a time in Unix seconds, 0 for unknown.
func moment(seconds float64) string {
	at, ok := timeOf(seconds)
	if seconds == 0 || !ok {
		return "unknown"
	}
	return at.Format("2006-01-02 15:04:05 UTC")
}

func decimal[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// size formats a number of bytes. No line is broken within it.
func size(bytes int64) string {
	switch {
	case bytes < 1_000:
		return strings.ReplaceAll(evidence.Count(bytes, "byte"), " ", "\u00a0")
	case bytes < 1_000_000:
		return fmt.Sprintf("%.1f\u00a0kB", float64(bytes)/1e3)
	default:
		return fmt.Sprintf("%.1f\u00a0MB", float64(bytes)/1e6)
	}
}

// labelled puts a label before a text, unless that is "".
func labelled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + " " + text
}

// some lists the first names and says how many more there are.
func some(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + " and " + decimal(more) + " more"
	}
	return strings.Join(names, ", ")
}

func first[T any](items []T, most int) (shown []T, more int) {
	shown = items[:min(len(items), most)]
	return shown, len(items) - len(shown)
}

func orDash(text string) string { return cmp.Or(text, "–") }
