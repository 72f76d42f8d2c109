package storage

import (
	"context"
	"errors"
	"maps"
	"slices"

	"attestry/evidence"
)

// maxFoundAtOnce bounds, in bytes, each page of a long read, so that a refused charge ends it early.
const maxFoundAtOnce = 8 << 20

// FindFirst returns the first document that a query finds, on any page, or ErrNotFound.
func FindFirst[T any](ctx context.Context, collection Collection[T], query Query) (first T, err error) {
	for {
		found, next, err := collection.Find(ctx, query)
		switch {
		case err != nil:
			return first, err
		case len(found) > 0:
			return found[0], nil
		case next == "":
			return first, ErrNotFound
		}
		query.After = next
	}
}

// NewestTime returns the time, in timeField, of the last entry of a query that orders by time; 0 if there is none.
func NewestTime[T any](ctx context.Context, collection Collection[T], query Query, timeField string) (float64, error) {
	query.Descending, query.Limit = true, 1
	found, _, err := collection.FindFields(ctx, query)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].Float(timeField), nil
}

// FindAll returns what a query finds up to its limit, which may be Unlimited, on all pages.
func FindAll[T any](ctx context.Context, collection Collection[T], query Query) ([]T, error) {
	query.MaxBytes = maxFoundAtOnce
	return findAll(query, func(query Query) ([]T, string, error) { return collection.Find(ctx, query) })
}

// FindPage returns a page of what a query finds, and how many entries all pages have, at most MaxCount.
func FindPage[T any](ctx context.Context, collection Collection[T], query Query, offset, limit int) ([]T, int64, error) {
	total, err := countMatching(ctx, collection, query)
	if err != nil || int64(offset) >= total {
		return nil, total, err
	}
	query.Offset, query.Limit = offset, limit
	found, err := FindAll(ctx, collection, query)
	return found, total, err
}

// FindAllFields is FindAll for the declared fields alone.
func FindAllFields[T any](ctx context.Context, collection Collection[T], query Query) ([]Record, error) {
	return findAll(query, func(query Query) ([]Record, string, error) { return collection.FindFields(ctx, query) })
}

func findAll[E any](query Query, find func(Query) ([]E, string, error)) ([]E, error) {
	var taken []E
	wanted := query.Limit
	for {
		query.Limit = min(wanted-len(taken), MaxMany)
		found, next, err := find(query)
		taken = append(taken, found...)
		if err != nil || next == "" || len(taken) == wanted {
			return taken, err
		}
		query.After, query.Offset = next, 0
	}
}

// countMatching returns how many entries a query without a limit finds, at most MaxCount. If it has conditions, it
// reads the fields of all entries, with one command per MaxMany.
func countMatching[T any](ctx context.Context, collection Collection[T], query Query) (int64, error) {
	if len(query.Where) == 0 {
		return collection.Count(ctx, query)
	}
	query.Limit = MaxMany
	total := int64(0)
	for {
		found, next, err := collection.FindFields(ctx, query)
		total = min(total+int64(len(found)), MaxCount)
		if err != nil || next == "" || total == MaxCount {
			return total, err
		}
		query.After = next
	}
}

// ForEach calls yield for everything that a query finds.
func ForEach[T any](ctx context.Context, collection Collection[T], query Query, yield func(*T) error) error {
	query.MaxBytes = maxFoundAtOnce
	return forEachPage(query, func(query Query) ([]T, string, error) { return collection.Find(ctx, query) }, yield)
}

// ForEachFields is ForEach for the declared fields alone.
func ForEachFields[T any](ctx context.Context, collection Collection[T], query Query, yield func(*Record) error) error {
	return forEachPage(query, func(query Query) ([]Record, string, error) { return collection.FindFields(ctx, query) }, yield)
}

func forEachPage[E any](query Query, find func(Query) ([]E, string, error), yield func(*E) error) error {
	for {
		found, next, err := find(query)
		if err != nil {
			return err
		}
		for i := range found {
			if err := yield(&found[i]); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		query.After, query.Offset = next, 0
	}
}

// DeleteFound deletes the first documents that a query finds, up to its limit, and returns how many.
func DeleteFound[T any](ctx context.Context, collection Collection[T], query Query) (int, error) {
	found, _, err := collection.FindFields(ctx, query)
	if err != nil {
		return 0, err
	}
	return len(found), collection.Delete(ctx, RecordIDs(found)...)
}

// TextSet makes the set of an In of texts.
func TextSet(texts []string) In { return evidence.Map(texts, func(text string) any { return text }) }

// BoundOf is an inclusive bound at a number; nil is open.
func BoundOf(number *float64) *Bound {
	if number == nil {
		return nil
	}
	return &Bound{Value: *number}
}

// OneOrSet is the text itself if there is only one, else the set of the texts.
func OneOrSet(texts []string) any {
	if len(texts) == 1 {
		return texts[0]
	}
	return TextSet(texts)
}

// EachSet calls read with texts as an operand of a query: sets of at most MaxMany.
func EachSet(texts []string, read func(set any) error) error {
	for some := range slices.Chunk(texts, MaxMany) {
		if err := read(OneOrSet(some)); err != nil {
			return err
		}
	}
	return nil
}

// Narrow adds a condition if it is wanted.
func (q *Query) Narrow(wanted bool, field string, operator Operator, value any) {
	if wanted {
		q.Where = append(q.Where, Condition{Field: field, Operator: operator, Value: value})
	}
}

// EqualLists expands the set in Equal: one list of single values for each member.
func (q *Query) EqualLists() [][]any {
	position := slices.IndexFunc(q.Equal, func(value any) bool { _, ok := value.(In); return ok })
	if position < 0 {
		return [][]any{q.Equal}
	}
	members := slices.SortedFunc(slices.Values(q.Equal[position].(In)), CompareValues)
	members = slices.CompactFunc(members, func(a, b any) bool { return CompareValues(a, b) == 0 })
	return evidence.Map(members, func(member any) []any {
		list := slices.Clone(q.Equal)
		list[position] = member
		return list
	})
}

// RecordIDs are the ids of records, in their order.
func RecordIDs(records []Record) []string {
	return evidence.Map(records, func(record Record) string { return record.ID })
}

// MaxPrefixMatches is how many values may share a prefix. The shortest prefix, of twenty bits, has about as many in
// a collection of fifty million.
const MaxPrefixMatches = 50

// ErrAmbiguous reports that too many values have a prefix.
var ErrAmbiguous = errors.New("too many values begin with this")

// FindByPrefix returns the index entries whose field, the one after the query's equalities, begins with hex digits.
// Values descend, and the entries of one value are newest first. Of a value with more than MaxMany entries, the newest
// are returned, so each value takes at most two commands. More than MaxPrefixMatches values are ErrAmbiguous.
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
			// Entries of the last value may continue on the next page. They are read again, unless they fill this one.
			alone := len(values) == 1
			if !alone {
				found = slices.DeleteFunc(found, func(entry Record) bool { return entry.Text(field) == values[0] })
			}
			query.To, query.After = &Bound{Value: values[0], Exclusive: alone}, ""
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
