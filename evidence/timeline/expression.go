package timeline

import (
	"math"
	"strconv"
	"strings"
	"time"

	"attestry/evidence"
)

// Expression picks a snapshot, by number or by a point in time (docs/semantics.md 11.4).
type Expression struct {
	// Number counts from 1, or if negative from the latest. It is 0 where a time picks.
	Number int64
	// moment gives the point in time, in Unix seconds, by the time now; nil picks by number.
	moment func(now time.Time) float64
	text   string
}

// The expressions that are meant where none is given.
var (
	First  = Expression{Number: 1, text: "#1"}
	Latest = Expression{Number: -1}
)

// String is the expression as it was sent, such as `#5`, `~3` or `@{now}`; "" for the latest.
func (e Expression) String() string { return e.text }

// At is the point in time that picks the snapshot, in Unix seconds; false when it is picked by number.
func (e Expression) At(now time.Time) (float64, bool) {
	if e.moment == nil {
		return 0, false
	}
	return e.moment(now), true
}

// ParseExpression reads the path form: `N`, `-N`, `#N`, `~N` and `@{…}`. The error is the contract's.
func ParseExpression(text string) (Expression, error) {
	parsed, ok := parseExpression(text)
	if !ok {
		return Expression{}, badSnappish(text)
	}
	return parsed, nil
}

// ParseSnappish reads an environment's name with at most one of `#N`, `~N` and `@{…}` behind it.
func ParseSnappish(text string) (environment string, e Expression, err error) {
	start := strings.IndexAny(text, "#~@")
	if start < 0 {
		start = len(text)
	}
	environment, rest := text[:start], text[start:]
	e, ok := Latest, true
	if rest != "" {
		e, ok = parseExpression(rest)
	}
	if !ok || environment == "" || strings.Count(rest, "#")+strings.Count(rest, "~")+strings.Count(rest, "@") > 1 {
		return "", Expression{}, badSnappish(text)
	}
	return environment, e, nil
}

func badSnappish(text string) error { return evidence.NewError(evidence.Invalid, "Bad snappish "+text) }

func parseExpression(text string) (Expression, bool) {
	if inner, ok := strings.CutPrefix(text, "@{"); ok {
		inner, closed := strings.CutSuffix(inner, "}")
		parsed, known := parseMoment(inner)
		parsed.text = text
		return parsed, closed && known
	}
	if behind, ok := strings.CutPrefix(text, "~"); ok {
		n, err := strconv.ParseUint(behind, 10, 63)
		return Expression{Number: -1 - int64(n), text: text}, err == nil && n < math.MaxInt64
	}
	digits := strings.TrimPrefix(text, "#")
	n, err := strconv.ParseInt(digits, 10, 64)
	return Expression{Number: n, text: "#" + digits}, err == nil && digits[0] != '+'
}

// parseMoment reads what is between `@{` and `}`. `now` is the latest snapshot, even with a later time.
func parseMoment(text string) (Expression, bool) {
	if strings.EqualFold(text, "now") {
		return Latest, true
	}
	// A timestamp is in UTC, with or without a Z, and has no longer form.
	const layout = "2006-01-02T15:04:05"
	timestamp := strings.TrimSuffix(text, "Z")
	if at, err := time.Parse(layout, timestamp); err == nil && len(timestamp) == len(layout) {
		return Expression{moment: func(time.Time) float64 { return float64(at.Unix()) }}, true
	}
	count, unit, ok := parseAgo(text)
	return Expression{moment: func(now time.Time) float64 { return unit(now, count) }}, ok
}

// span goes back from now by a number of units; it gives Unix seconds.
type span func(now time.Time, count uint64) float64

// spans are the units by name, in the singular.
var spans = map[string]span{
	"hour":  secondsBack(60 * 60),
	"day":   secondsBack(24 * 60 * 60),
	"week":  secondsBack(7 * 24 * 60 * 60),
	"month": monthsBack,
}

// parseAgo reads `N.<unit>.ago`.
func parseAgo(text string) (count uint64, unit span, ok bool) {
	digits, rest, _ := strings.Cut(text, ".")
	name, ago := strings.CutSuffix(rest, ".ago")
	unit, known := spans[strings.TrimSuffix(name, "s")]
	count, err := strconv.ParseUint(digits, 10, 64)
	return count, unit, ago && known && err == nil && count > 0
}

// secondsBack counts in floats, which do not overflow.
func secondsBack(length float64) span {
	return func(now time.Time, count uint64) float64 { return evidence.Seconds(now) - float64(count)*length }
}

// longAgo is how many months back lie before any snapshot.
const longAgo = 12 * 10_000

// monthsBack goes back by the calendar. Where the month has no such day it takes its last one.
func monthsBack(now time.Time, count uint64) float64 {
	now = now.UTC()
	at := now.AddDate(0, -int(min(count, longAgo)), 0)
	if at.Day() != now.Day() {
		at = at.AddDate(0, 0, -at.Day())
	}
	return evidence.Seconds(at)
}
