package command

import (
	"context"
	"iter"
	"maps"
	"slices"

	"attestry/storage"
)

// batchBytes bounds the bodies that are read and written at a time.
const batchBytes = 8 << 20

// stream reads documents or objects in the order of their ids, page by page.
type stream[T any] struct {
	// list returns a page behind an id; the end is one without entries.
	list func(ctx context.Context, after string) ([]T, error)
	id   func(*T) string

	page  []T
	last  string
	ended bool
}

// peek returns the next entry, or nil at the end. What is added behind the end later is not
// read: else each entry that is copied would take a list of its own.
func (s *stream[T]) peek(ctx context.Context) (*T, error) {
	if len(s.page) == 0 && !s.ended {
		page, err := s.list(ctx, s.last)
		if err != nil {
			return nil, err
		}
		if s.page, s.ended = page, len(page) == 0; !s.ended {
			s.last = s.id(&page[len(page)-1])
		}
	}
	if s.ended {
		return nil, nil
	}
	return &s.page[0], nil
}

// skip leaves the entry that peek returned.
func (s *stream[T]) skip() { s.page = s.page[1:] }

// pair is what two streams have of one id; nil is absent.
type pair[T any] struct{ source, target *T }

// merge pairs the entries of two streams, in the order of their ids.
func merge[T any](ctx context.Context, source, target *stream[T]) iter.Seq2[pair[T], error] {
	return func(yield func(pair[T], error) bool) {
		for {
			s, err := source.peek(ctx)
			if err != nil {
				yield(pair[T]{}, err)
				return
			}
			t, err := target.peek(ctx)
			if err != nil {
				yield(pair[T]{}, err)
				return
			}
			switch {
			case s == nil && t == nil:
				return
			case s != nil && t != nil && source.id(s) < target.id(t):
				t = nil
			case s != nil && t != nil && source.id(s) > target.id(t):
				s = nil
			}
			if s != nil {
				source.skip()
			}
			if t != nil {
				target.skip()
			}
			if !yield(pair[T]{s, t}, nil) {
				return
			}
		}
	}
}

// documentsIn reads the documents of a collection.
func documentsIn(docs storage.Documents, schema *storage.Schema) *stream[storage.Record] {
	return &stream[storage.Record]{
		list: func(ctx context.Context, after string) ([]storage.Record, error) {
			return listDocuments(ctx, docs, schema, after)
		},
		id: func(record *storage.Record) string { return record.ID },
	}
}

// listDocuments returns a page of a collection. Fields that are declared no more are left
// out: documents of earlier versions may have some, and no engine takes them any more.
func listDocuments(ctx context.Context, docs storage.Documents, schema *storage.Schema, after string) ([]storage.Record, error) {
	records, err := docs.List(ctx, schema, after, storage.MaxMany, batchBytes)
	for i := range records {
		maps.DeleteFunc(records[i].Fields, func(name string, value any) bool {
			return value == nil || !slices.Contains(schema.Fields, name)
		})
	}
	return records, err
}

// objectsIn reads the descriptions of objects.
func objectsIn(objects storage.Objects) *stream[storage.Object] {
	return &stream[storage.Object]{
		list: func(ctx context.Context, after string) ([]storage.Object, error) {
			return objects.List(ctx, after, storage.MaxMany)
		},
		id: func(object *storage.Object) string { return object.Key },
	}
}
