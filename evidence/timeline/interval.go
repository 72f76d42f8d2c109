package timeline

import "strings"

// Interval reads `a..b` and gives the numbers of the first and the last snapshot of the range, first > last when it is
// empty. Each side is an expression of the path form or NOW, in either order. One that is left out takes its default, and
// an empty text is `1..NOW`. One expression without `..` is the range of that snapshot.
//
// A number that no snapshot has is the contract's NotFound, as in Resolve. But the default sides in an environment without
// snapshots give an empty range, and a range may begin at a time before the first snapshot.
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
	if begin, err = t.side(a); err != nil {
		return 0, 0, err
	}
	if end, err = t.side(b); err != nil {
		return 0, 0, err
	}
	return max(min(begin, end), 1), max(begin, end), nil
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

// side is Resolve for one side of a range; 0 lies before the first snapshot.
func (t *Timeline) side(e Expression) (int64, error) {
	if t.Latest == 0 && (e.Number == First.Number || e.Number == Latest.Number) {
		return 0, nil
	}
	if _, timed := e.At(t.Now); timed {
		return t.locate(e)
	}
	return t.Resolve(e)
}
