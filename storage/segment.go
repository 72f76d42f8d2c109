package storage

// Segment is a range of an index after a query's equalities. "After the entry (1, 2, x) of an index (a, b, id)" is
// three of them: a = 1, b = 2, id after x; then a = 1, b after 2; then a after 1. So engines need only simple
// conditions to seek, and nulls are in order.
type Segment struct {
	// Values are what the first fields of Scan.Order are equal to.
	Values []any
	// From and To bound the field that follows, if there is one. Null is outside of every bound.
	From, To *Bound
	// NotNull leaves out null in the field that follows.
	NotNull bool
	// BeyondID leaves out this id and those before it in the query's direction.
	BeyondID string
}

// Segments returns the ranges with the entries after a position, or all entries if it is nil, in the query's order.
func (s *Scan) Segments(after *Position) []Segment {
	if after == nil {
		return []Segment{{From: s.query.From, To: s.query.To}}
	}
	var segments []Segment
	values := after.Values
	if len(values) == 0 || within(values[0], s.query.From, s.query.To) {
		segments = append(segments, Segment{Values: values, BeyondID: after.ID})
		for depth := len(values) - 1; depth > 0; depth-- {
			segments = s.beyond(segments, values[:depth], values[depth], nil, nil)
		}
	}
	if len(values) > 0 {
		segments = s.beyond(segments, nil, values[0], s.query.From, s.query.To)
	}
	return segments
}

// beyond adds the ranges in which the field after the given values is beyond here, between from and to.
func (s *Scan) beyond(segments []Segment, values []any, here any, from, to *Bound) []Segment {
	open := from == nil && to == nil
	bound := &Bound{Value: here, Exclusive: true}
	switch {
	case here == nil && s.query.Descending:
		return segments // null is the last
	case here == nil:
		return append(segments, Segment{Values: values, From: from, To: to, NotNull: open})
	case !s.query.Descending:
		return append(segments, Segment{Values: values, From: nearer(from, bound, 1), To: to})
	}
	segments = append(segments, Segment{Values: values, From: from, To: nearer(to, bound, -1)})
	if open {
		nulls := append(values[:len(values):len(values)], nil)
		segments = append(segments, Segment{Values: nulls})
	}
	return segments
}

// within reports whether a value lies between two bounds.
func within(value any, from, to *Bound) bool {
	if value == nil {
		return from == nil && to == nil
	}
	return inside(value, from, 1) && inside(value, to, -1)
}

func inside(value any, bound *Bound, sign int) bool {
	if bound == nil {
		return true
	}
	order := sign * CompareValues(value, bound.Value)
	return order > 0 || (order == 0 && !bound.Exclusive)
}

// nearer returns the tighter of two bounds: the greater lower one (sign 1), or the lesser upper one (sign -1).
func nearer(bound, here *Bound, sign int) *Bound {
	if bound == nil || sign*CompareValues(here.Value, bound.Value) >= 0 {
		return here
	}
	return bound
}
