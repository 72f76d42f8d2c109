package timeline

import (
	"math"
	"strconv"
	"strings"
	"time"

	"attestry/evidence"
)

// Expression names a snapshot, by number or by a time (docs/semantics.md 11.4).
type Expression struct {
	// Number counts from 1, or if negative from the latest. It is 0 with a time.
	Number int64
	// moment returns the time in Unix seconds, relative to now; nil with a number.
	moment func(now time.Time) float64
	text   string
}

// The default expressions.
var (
	First  = Expression{Number: 1, text: "#1"}
	Latest = Expression{Number: -1}
)

// String is the expression as it was sent, such as `#5`, `~3` or `@{now}`; "" for the latest.
func (e Expression) String() string { return e.text }

// At is the time of the expression in Unix seconds; false if it has a number.
func (e Expression) At(now time.Time) (float64, bool) {
	if e.moment == nil {
		return 0, false
	}
	return e.moment(now), true
}

// ParseExpression reads the path form: `N`, `-N`, `#N`, `~N` and `@{…}`. The error is that of the API.
func ParseExpression(text string) (Expression, error) {
	parsed, ok := parseExpression(text)
	if !ok {
		return Expression{}, badSnappish(text)
	}
	return parsed, nil
}

// ParseSnappish reads an environment's name that is followed by at most one of `#N`, `~N` and `@{…}`.
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
	if digits, ok := strings.CutPrefix(text, "~"); ok {
		n, err := strconv.ParseUint(digits, 10, 63)
		return Expression{Number: -1 - int64(n), text: text}, err == nil && n < math.MaxInt64
	}
	digits := strings.TrimPrefix(text, "#")
	n, err := strconv.ParseInt(digits, 10, 64)
	return Expression{Number: n, text: "#" + digits}, err == nil && digits[0] != '+'
}

// parseMoment reads the text between `@{` and `}`. `now` is the latest snapshot, even if its time is later.
func parseMoment(text string) (Expression, bool) {
	if strings.EqualFold(text, "now") {
		return Latest, true
	}
	// A timestamp is in UTC, with or without a Z, in whole seconds.
	const layout = "2006-01-02T15:04:05"
	timestamp := strings.TrimSuffix(text, "Z")
	if at, err := time.Parse(layout, timestamp); err == nil && len(timestamp) == len(layout) {
		return Expression{moment: func(time.Time) float64 { return float64(at.Unix()) }}, true
	}
	count, unit, ok := parseAgo(text)
	return Expression{moment: func(now time.Time) float64 { return unit(now, count) }}, ok
}

// span subtracts a number of units from now and returns Unix seconds.
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

// secondsBack makes a span of seconds. It uses floats, which do not overflow.
func secondsBack(length float64) span {
	return func(now time.Time, count uint64) float64 { return evidence.Seconds(now) - float64(count)*length }
}

// maxMonths bounds monthsBack. So long ago there were no snapshots.
const maxMonths = 12 * 10_000

// monthsBack subtracts calendar months. If the month has no such day, it uses the last day.
func monthsBack(now time.Time, count uint64) float64 {
	now = now.UTC()
	at := now.AddDate(0, -int(min(count, maxMonths)), 0)
	if at.Day() != now.Day() {
		at = at.AddDate(0, 0, -at.Day())
	}
	return evidence.Seconds(at)
}
