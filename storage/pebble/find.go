package pebble

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"attestry/storage"
	"attestry/storage/pebble/ordered"
)

const (
	// maxChunk is how many entries are read from an index at a time.
	maxChunk = 512
	// checkEvery is how many entries are skipped between two checks of the context.
	checkEvery = 1024
)

// Find answers a query.
func (db *DB) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	c, err := db.collection(schema)
	if err != nil {
		return storage.Page{}, err
	}
	scan, err := storage.NewScan(schema, query)
	if err != nil {
		return storage.Page{}, err
	}
	var page storage.Page
	err = db.read(ctx, func(v *view) error {
		err := v.iterate(func(iterator *pebble.Iterator) error {
			f := newFinder(c, v, iterator, scan, query)
			return storage.Merge(ctx, f.sources, f.before, func(key *[]byte) (bool, error) { return f.add(ctx, *key) })
		})
		if err != nil {
			return err
		}
		page, err = scan.Page()
		return err
	})
	return page, err
}

// Count counts what a query finds, at most storage.MaxCount.
func (db *DB) Count(ctx context.Context, schema *storage.Schema, query storage.Query) (int64, error) {
	c, err := db.collection(schema)
	if err != nil {
		return 0, err
	}
	if err := storage.CheckCount(schema, query); err != nil {
		return 0, err
	}
	declared, _ := schema.IndexNamed(query.Index)
	one := c.indexOf(declared)
	total := 0
	err = db.read(ctx, func(v *view) error {
		return v.iterate(func(iterator *pebble.Iterator) error {
			for _, equal := range query.EqualLists() {
				r := between(one.prefixOf(equal), query.From, query.To)
				iterator.SetBounds(r.lower, r.upper)
				for ok := iterator.First(); ok && total < storage.MaxCount; ok = iterator.Next() {
					if total++; total%checkEvery == 0 && ctx.Err() != nil {
						return ctx.Err()
					}
				}
			}
			return ctx.Err()
		})
	})
	return int64(total), err
}

// iterate calls f with an iterator. An error of the iterator takes precedence over that of f.
func (v *view) iterate(f func(*pebble.Iterator) error) error {
	iterator, err := v.source.NewIter(nil)
	if err != nil {
		return explain(v.folder, err)
	}
	err = f(iterator)
	if failure := errors.Join(iterator.Error(), iterator.Close()); failure != nil {
		return explain(v.folder, failure)
	}
	return err
}

// finder reads the entries of a query from an index, with a source for each member of the query's set.
type finder struct {
	collection *collection
	view       *view
	iterator   *pebble.Iterator
	scan       *storage.Scan
	fieldsOnly bool
	chunk      int
	sources    []*source
}

// source reads the entries of one member of the set, chunk by chunk.
type source struct {
	finder *finder
	// prefix is the length of the common prefix of its keys. Without it, the keys of all sources have one order.
	prefix int
	// rest is the range not read yet, unless ended.
	rest  keyRange
	ended bool
	skip  int
}

func newFinder(c *collection, v *view, iterator *pebble.Iterator, scan *storage.Scan, query storage.Query) *finder {
	f := &finder{collection: c, view: v, iterator: iterator, scan: scan, fieldsOnly: query.FieldsOnly}
	one := c.indexOf(scan.Index)
	for _, equal := range query.EqualLists() {
		prefix := one.prefixOf(equal)
		rest := between(prefix, query.From, query.To)
		if scan.After != nil {
			rest.cut(positionOf(prefix, scan.After), scan.Descending)
		}
		f.sources = append(f.sources, &source{finder: f, prefix: len(prefix), rest: rest})
	}
	if len(f.sources) == 1 {
		f.sources[0].skip = scan.Skip()
	}
	// With less than 2, a source would seek for every entry.
	f.chunk = min(max(scan.Need()/max(len(f.sources), 1), 2), maxChunk)
	return f
}

// before compares keys without their prefixes.
func (f *finder) before(a, b *[]byte) bool {
	order := bytes.Compare(*a, *b)
	if f.scan.Descending {
		return order > 0
	}
	return order < 0
}

// Read appends the next keys, without their prefix.
func (s *source) Read(ctx context.Context, keys [][]byte) ([][]byte, error) {
	if s.ended {
		return keys, nil
	}
	f := s.finder
	f.iterator.SetBounds(s.rest.lower, s.rest.upper)
	begin, next := f.iterator.First, f.iterator.Next
	if f.scan.Descending {
		begin, next = f.iterator.Last, f.iterator.Prev
	}
	ok := begin()
	for passed := 0; ok && s.skip > 0; ok = next() {
		s.skip--
		if passed++; passed%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	var last []byte
	for ; ok && len(keys) < f.chunk; ok = next() {
		last = bytes.Clone(f.iterator.Key())
		keys = append(keys, last[s.prefix:])
	}
	if s.ended = !ok; ok {
		s.rest.cut(last, f.scan.Descending)
	}
	return keys, errors.Join(ctx.Err(), f.iterator.Error())
}

// add adds the entry of a key to the page, with its body, and reports whether the page needs more.
func (f *finder) add(ctx context.Context, key []byte) (more bool, err error) {
	id, err := ordered.Skip(key, len(f.scan.Order))
	if err != nil {
		return false, err
	}
	record := storage.Record{ID: string(id)}
	found, err := f.view.get(f.collection.records.key(record.ID), func(value []byte) error {
		body, err := decodeRecord(value, &record)
		if err != nil {
			return err
		}
		count := len(f.scan.Records())
		more = f.scan.Add(record, body.size)
		if f.fieldsOnly || len(f.scan.Records()) == count {
			return nil
		}
		return f.collection.loadBody(ctx, f.view, &f.scan.Records()[count], body)
	})
	if err == nil && !found {
		err = errNoRecord
	}
	return more, err
}

// keyRange is a range of keys, from lower up to but not including upper.
type keyRange struct{ lower, upper []byte }

// cut removes a key and all before it, in the direction of reading, from the range.
func (r *keyRange) cut(key []byte, descending bool) {
	switch {
	case descending && bytes.Compare(key, r.upper) < 0:
		r.upper = key
	case !descending && bytes.Compare(key, r.lower) >= 0:
		r.lower = append(bytes.Clone(key), 0)
	}
}

// positionOf returns the key of a position. prefix is that of the index with the encoded equalities of the query.
func positionOf(prefix []byte, position *storage.Position) []byte {
	key := bytes.Clone(prefix)
	for _, value := range position.Values {
		key = ordered.Append(key, value)
	}
	return append(key, position.ID...)
}

// afterNull is the prefix of all values but null.
const afterNull = ordered.Null + 1

// between returns the range of keys with a prefix and a next value between two bounds. Null is never between them.
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

func (i *index) prefixOf(equal []any) []byte {
	prefix := bytes.Clone(i.space[:])
	for _, value := range equal {
		prefix = ordered.Append(prefix, value)
	}
	return prefix
}
