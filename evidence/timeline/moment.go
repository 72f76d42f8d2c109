package timeline

import (
	"math"
	"strconv"
	"strings"
	"time"

	"attestry/evidence"
)

// Moment is one end of an interval of an event log (docs/semantics.md 13.1): a snapshot, whose events are included, or
// a bound of the events' times.
type Moment struct {
	// Snapshot is nil for a time.
	Snapshot *Expression
	// At is the time in Unix seconds, 0 with Snapshot.
	At float64
}

// Beginning is the default start of an interval.
func Beginning() Moment { return Moment{Snapshot: new(First)} }

// End is the default end of an interval.
func End() Moment { return Moment{Snapshot: new(Latest)} }

// At is a time in Unix seconds.
func At(seconds float64) Moment { return Moment{At: seconds} }

// ParseMoment reads an end: a snapshot expression of the path form, NOW, a time before now (`1hour`, `2days`,
// `30mins`), or a time in Unix seconds or ISO 8601 (docs/semantics.md 11.5). NOW is the latest snapshot. The error is
// that of the API.
func ParseMoment(text string, now time.Time) (Moment, error) {
	if at, ok := parseSeconds(text); ok {
		return At(at), nil
	}
	if at, ok := evidence.ParseTime(text); ok {
		return At(evidence.Seconds(at)), nil
	}
	if at, ok := parseBack(text, now); ok {
		return At(at), nil
	}
	if strings.EqualFold(text, "NOW") {
		return End(), nil
	}
	expression, ok := parseExpression(text)
	if !ok {
		return Moment{}, invalidMoment(text)
	}
	if at, timed := expression.At(now); timed {
		return Moment{At: at}, nil
	}
	return Moment{Snapshot: &expression}, nil
}

// ParseMoments reads two ends with `..` between them; an end that is left out has its default. A snapshot expression or
// NOW without `..` is both ends: the events of that snapshot.
func ParseMoments(text string, now time.Time) (start, end Moment, err error) {
	start, end = Beginning(), End()
	from, to, ranged := strings.Cut(text, "..")
	if !ranged {
		picked, ok := parseSide(text, Expression{})
		if !ok || text == "" {
			return start, end, invalidMoment(text)
		}
		return Moment{Snapshot: &picked}, Moment{Snapshot: &picked}, nil
	}
	if from != "" {
		start, err = ParseMoment(from, now)
	}
	if err == nil && to != "" {
		end, err = ParseMoment(to, now)
	}
	if err != nil {
		return start, end, invalidMoment(text)
	}
	return start, end, nil
}

// IsBeginning reports whether the moment is the beginning of the log, by its number.
func (m Moment) IsBeginning() bool { return m.Snapshot != nil && m.Snapshot.Number == First.Number }

// IsEnd reports whether the moment is the end of the log.
func (m Moment) IsEnd() bool { return m.Snapshot != nil && m.Snapshot.Number == Latest.Number }

func invalidMoment(text string) error {
	return evidence.NewError(evidence.Invalid, "Invalid interval value: "+text)
}

// Ends returns the numbers of the snapshots of two ends in ascending order, 0 for a time. A missing one is NotFound.
func (t *Timeline) Ends(start, end Moment) (first, last int64, err error) {
	if start.Snapshot != nil {
		first, err = t.side(*start.Snapshot)
	}
	if err == nil && end.Snapshot != nil {
		last, err = t.side(*end.Snapshot)
	}
	if start.Snapshot != nil && end.Snapshot != nil {
		first, last = min(first, last), max(first, last)
	}
	return first, last, err
}

// leastSeconds is the least time in Unix seconds. Smaller numbers are those of snapshots.
const leastSeconds = 1e9

func parseSeconds(text string) (float64, bool) {
	if strings.Trim(text, "0123456789.") != "" {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(text, 64)
	return seconds, err == nil && seconds >= leastSeconds && !math.IsInf(seconds, 0)
}

// backUnits are the units of times before now, in the singular, with abbreviations.
var backUnits = map[string]span{
	"s": secondsBack(1), "sec": secondsBack(1), "second": secondsBack(1),
	"m": secondsBack(60), "min": secondsBack(60), "minute": secondsBack(60),
	"h": spans["hour"], "hr": spans["hour"], "hour": spans["hour"],
	"d": spans["day"], "day": spans["day"],
	"w": spans["week"], "week": spans["week"],
	"month": spans["month"],
}

// parseBack reads a number and a unit, with an optional blank between them, and subtracts them from now.
func parseBack(text string, now time.Time) (float64, bool) {
	name := strings.TrimLeft(text, "0123456789")
	count, err := strconv.ParseUint(text[:len(text)-len(name)], 10, 64)
	name = strings.ToLower(strings.TrimSpace(name))
	back, known := backUnits[name]
	if !known && len(name) > 2 { // `ms` is no plural
		back, known = backUnits[strings.TrimSuffix(name, "s")]
	}
	if err != nil || !known {
		return 0, false
	}
	return back(now, count), true
}
