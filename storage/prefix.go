package storage

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// MaxPrefixMatches is how many values may share a prefix. The shortest prefix, of twenty bits, has about as many in
// a collection of fifty million.
const MaxPrefixMatches = 50

// ErrAmbiguous reports that too many values have a prefix.
var ErrAmbiguous = errors.New("too many values begin with this")

// FindByPrefix finds the index entries whose field, the one after the query's equalities, begins with hex digits:
// the greatest value first, and of one value the newest first. Of a value with more entries than a page, only the
// newest are taken, so there is at most one command for each value. More than MaxPrefixMatches values are
// ErrAmbiguous.
func FindByPrefix[T any](ctx context.Context, collection Collection[T], query Query, field, digits string) ([]Record, error) {
	query.From, query.To = &Bound{Value: digits}, &Bound{Value: digits + "g", Exclusive: true}
	query.Descending, query.Limit = true, MaxMany
	var found []Record
	for {
		entries, next, err := collection.FindFields(ctx, query)
		if err != nil {
			return nil, err
		}
		found = append(found, entries...)
		values := DistinctValues(entries, field)
		switch {
		case len(DistinctValues(found, field)) > MaxPrefixMatches:
			return nil, ErrAmbiguous
		case next == "":
			return found, nil
		case len(entries) < query.Limit:
			query.After = next
		default:
			query.To, query.After = &Bound{Value: values[0], Exclusive: true}, ""
		}
	}
}

// DistinctValues returns the different values of a field of texts, sorted.
func DistinctValues(entries []Record, field string) []string {
	values := map[string]bool{}
	for _, entry := range entries {
		if value, ok := entry.Fields[field].(string); ok {
			values[value] = true
		}
	}
	return slices.Sorted(maps.Keys(values))
}
