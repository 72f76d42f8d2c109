// Package transfer reads two stores side by side, and copies objects only if their content has the right SHA-256.
package transfer

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"attestry/storage"
)

// BatchBytes bounds the bodies that are read at a time.
const BatchBytes = 8 << 20

// Stream reads documents or objects in the order of their ids, page by page.
type Stream[T any] struct {
	// list returns the page after an id. Only the page after the last id is empty.
	list func(ctx context.Context, after string) ([]T, error)
	id   func(*T) string

	page  []T
	last  string
	ended bool
}

// Peek returns the next entry, or nil at the end. After the end it does not list again, as each entry that is copied to
// the end of a store would then take a list of its own.
func (s *Stream[T]) Peek(ctx context.Context) (*T, error) {
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

// skip moves past the entry that Peek returned.
func (s *Stream[T]) skip() { s.page = s.page[1:] }

// All reads the entries whose ids begin with a prefix.
func (s *Stream[T]) All(ctx context.Context, prefix string) iter.Seq2[*T, error] {
	s.last = prefix
	return func(yield func(*T, error) bool) {
		for {
			one, err := s.Peek(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			if one == nil || !strings.HasPrefix(s.id(one), prefix) {
				return
			}
			if s.skip(); !yield(one, nil) {
				return
			}
		}
	}
}

// Pair has the entries of one id in two streams, nil for none.
type Pair[T any] struct{ Source, Target *T }

// Merge pairs the entries of two streams, in the order of their ids.
func Merge[T any](ctx context.Context, source, target *Stream[T]) iter.Seq2[Pair[T], error] {
	return func(yield func(Pair[T], error) bool) {
		for {
			s, err := source.Peek(ctx)
			if err != nil {
				yield(Pair[T]{}, err)
				return
			}
			t, err := target.Peek(ctx)
			if err != nil {
				yield(Pair[T]{}, err)
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
			if !yield(Pair[T]{s, t}, nil) {
				return
			}
		}
	}
}

// DocumentsIn reads the documents of a collection.
func DocumentsIn(docs storage.Documents, schema *storage.Schema) *Stream[storage.Record] {
	return &Stream[storage.Record]{
		list: func(ctx context.Context, after string) ([]storage.Record, error) {
			return ListDocuments(ctx, docs, schema, after)
		},
		id: func(record *storage.Record) string { return record.ID },
	}
}

// ListDocuments returns a page of a collection without fields that are no longer declared: documents of earlier
// versions may have some, and no engine accepts them.
func ListDocuments(ctx context.Context, docs storage.Documents, schema *storage.Schema, after string) ([]storage.Record, error) {
	records, err := docs.List(ctx, schema, after, storage.MaxMany, BatchBytes)
	for i := range records {
		maps.DeleteFunc(records[i].Fields, func(name string, value any) bool {
			return value == nil || !slices.Contains(schema.Fields, name)
		})
	}
	return records, err
}

// ObjectsIn reads the descriptions of objects.
func ObjectsIn(objects storage.Objects) *Stream[storage.Object] {
	return &Stream[storage.Object]{
		list: func(ctx context.Context, after string) ([]storage.Object, error) {
			return objects.List(ctx, after, storage.MaxMany)
		},
		id: func(object *storage.Object) string { return object.Key },
	}
}
