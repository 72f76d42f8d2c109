package timeline

import (
	"strings"
	"time"

	"attestry/evidence"
)

// Timeline resolves expressions to the snapshots that an environment has at one time.
type Timeline struct {
	// Org and Environment are names, for errors.
	Org, Environment string
	// Latest is the number of the last snapshot, 0 if there is none.
	Latest int64
	Now    time.Time
	// InForce returns the number of the snapshot at a time in Unix seconds; 0 before the first.
	InForce func(at float64) (int64, error)
}

// Resolve returns the number of the snapshot of an expression, or the API's NotFound.
func (t *Timeline) Resolve(e Expression) (int64, error) {
	number, err := t.locate(e)
	if err != nil {
		return 0, err
	}
	if number < 1 || number > t.Latest {
		return 0, evidence.Errorf(evidence.NotFound,
			"Org: '%s'. Snapshot '%s%s' resolves to '%s#%d'. len(snapshots) == %d. Indexes are 1-based",
			t.Org, t.Environment, e, t.Environment, number, t.Latest)
	}
	return number, nil
}

// locate returns the number of an expression, which may not exist; 0 for a time before the first snapshot.
func (t *Timeline) locate(e Expression) (int64, error) {
	at, timed := e.At(t.Now)
	switch {
	case timed && t.Latest == 0:
		return 0, nil
	case timed:
		number, err := t.InForce(at)
		// Snapshots that were made after Latest was read do not count.
		return min(number, t.Latest), err
	case e.Number < 0:
		return e.Number + t.Latest + 1, nil
	default:
		return e.Number, nil
	}
}

// Interval reads `a..b` and returns the numbers of the first and the last snapshot of the range; first > last if it is
// empty. The sides are expressions of the path form or NOW, in any order. A side that is left out has its default, so
// an empty text is `1..NOW`. An expression without `..` is the range of that snapshot.
//
// A missing snapshot is the API's NotFound, as in Resolve. But the default sides in an environment without snapshots
// are an empty range, and a range may begin at a time before the first snapshot.
func (t *Timeline) Interval(text string) (begin, end int64, err error) {
	from, to, ranged := strings.Cut(text, "..")
	if !ranged {
		to = from
	}
	a, knownFrom := parseSide(from, First)
	b, knownTo := parseSide(to, Latest)
	if !knownFrom || !knownTo {
		return 0, 0, invalidMoment(text)
	}
	begin, end, err = t.Ends(Moment{Snapshot: &a}, Moment{Snapshot: &b})
	return max(begin, 1), end, err
}

func parseSide(text string, absent Expression) (Expression, bool) {
	switch {
	case text == "":
		return absent, true
	case strings.EqualFold(text, "NOW"):
		return Latest, true
	default:
		return parseExpression(text)
	}
}

// side is Resolve for one side of a range; 0 is before the first snapshot.
func (t *Timeline) side(e Expression) (int64, error) {
	if t.Latest == 0 && (e.Number == First.Number || e.Number == Latest.Number) {
		return 0, nil
	}
	if _, timed := e.At(t.Now); timed {
		return t.locate(e)
	}
	return t.Resolve(e)
}
