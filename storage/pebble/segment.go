package pebble

import (
	"bytes"
	"slices"

	"attestry/storage"
	"attestry/storage/pebble/ordered"
)

// keyRange is a range of keys, from lower up to but not including upper.
type keyRange struct{ lower, upper []byte }

// afterNull is the prefix of all values but null.
const afterNull = ordered.Null + 1

// rangeOf returns the keys of a segment. The prefix is that of the index with the encoded
// equalities of the query.
func rangeOf(scan *storage.Scan, prefix []byte, segment storage.Segment) keyRange {
	prefix = bytes.Clone(prefix)
	for _, value := range segment.Values {
		prefix = ordered.Append(prefix, value)
	}
	r := between(prefix, segment.From, segment.To)
	if segment.NotNull {
		r.lower = append(bytes.Clone(prefix), afterNull)
	}
	if segment.BeyondID == "" {
		return r
	}
	end := append(bytes.Clone(prefix), segment.BeyondID...)
	if scan.Descending {
		r.upper = end
	} else {
		r.lower = append(end, 0)
	}
	return r
}

// between returns the keys with a prefix whose next value is between two bounds. Null is
// outside of every bound.
func between(prefix []byte, from, to *storage.Bound) keyRange {
	r := keyRange{lower: slices.Clip(prefix), upper: ordered.After(prefix)}
	switch {
	case from != nil:
		r.lower = ordered.Append(r.lower, from.Value)
		if from.Exclusive {
			r.lower = ordered.After(r.lower)
		}
	case to != nil:
		r.lower = append(r.lower, afterNull)
	}
	if to != nil {
		r.upper = ordered.Append(slices.Clip(prefix), to.Value)
		if !to.Exclusive {
			r.upper = ordered.After(r.upper)
		}
	}
	return r
}

// prefixOf returns the prefix of the keys of an index with certain equalities.
func (i *index) prefixOf(equal []any) []byte {
	prefix := bytes.Clone(i.space[:])
	for _, value := range equal {
		prefix = ordered.Append(prefix, value)
	}
	return prefix
}
