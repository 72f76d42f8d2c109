package pipelines

import (
	"context"

	"attestry/storage"
)

// maxPatternNames bounds the names that a pattern is applied to. Finding each name takes one command.
const maxPatternNames = 100

// narrowed returns the query of List without its cursor and limit. If only the index of the time or of failures fits, a
// pattern becomes the set of names that match it, unless there are too many names. A cursor continues with its own
// index: earlier versions made those of these lists by time.
func (a *Attestations) narrowed(ctx context.Context, q AttestationQuery, after string) (storage.Query, error) {
	query := q.query()
	if query.Index != "time" && query.Index != "failed" {
		return query, nil
	}
	filters, bound := q.filters(), maxPatternNames
	switch index := storage.CursorIndex(after); {
	case index == "time":
		query.Index, query.Equal, query.Where = index, []any{q.Org}, conditionsOf(filters)
		return query, nil
	case q.NamePattern == "" || index == "failed":
		return query, nil
	case index == "name":
		bound = storage.MaxMany // the names have become more since
	}
	names, ok, err := a.namesMatching(ctx, q.Org, filters["pattern"], bound)
	if err != nil || !ok {
		return query, err
	}
	delete(filters, "pattern")
	query.Index, query.Equal, query.Where = "name", []any{q.Org, storage.TextSet(names)}, conditionsOf(filters)
	return query, nil
}

// namesMatching returns the names of attestations of an organization that meet a condition. It is false if there are
// more names than bound. Each name is the first of the index after the one before it, so that other attestations are
// not read.
func (a *Attestations) namesMatching(ctx context.Context, org string, condition storage.Condition, bound int) ([]string, bool, error) {
	matches, err := storage.NewFilter([]storage.Condition{condition})
	if err != nil {
		return nil, false, err
	}
	var names []string
	query := storage.Query{Index: "name", Equal: []any{org}, Limit: 1}
	for range bound {
		found, next, err := a.Collection.FindFields(ctx, query)
		if err != nil {
			return nil, false, err
		}
		if len(found) == 0 {
			return names, true, nil
		}
		name := found[0].Text("name")
		if matches(found[0].Fields) {
			names = append(names, name)
		}
		if next == "" {
			return names, true, nil
		}
		query.From = &storage.Bound{Value: name, Exclusive: true}
	}
	return nil, false, nil
}
