package storage

import (
	"container/heap"
	"context"
)

// Source is what Merge reads: entries in the order of a query.
type Source[E any] interface {
	// Read appends the next entries to the empty list some, or none at the end, after which it is not called again.
	Read(ctx context.Context, some []E) ([]E, error)
}

// Merge calls take with the entries of all sources, in the order of before, until take returns wantsMore false.
func Merge[S Source[E], E any](ctx context.Context, sources []S, before func(a, b *E) bool, take func(*E) (wantsMore bool, err error)) error {
	m := &merged[E]{before: before, readers: make([]reader[E], 0, len(sources))}
	for _, source := range sources {
		r := reader[E]{source: source}
		if err := r.read(ctx); err != nil {
			return err
		}
		if len(r.rest) > 0 {
			m.readers = append(m.readers, r)
		}
	}
	heap.Init(m)
	for len(m.readers) > 0 {
		first := &m.readers[0]
		if wantsMore, err := take(&first.rest[0]); err != nil || !wantsMore {
			return err
		}
		if first.rest = first.rest[1:]; len(first.rest) == 0 {
			if err := first.read(ctx); err != nil {
				return err
			}
		}
		if len(first.rest) > 0 {
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
	}
	return nil
}

// reader holds the entries that were read from a source and not taken yet.
type reader[E any] struct {
	source Source[E]
	buffer []E
	rest   []E // the end of buffer
}

func (r *reader[E]) read(ctx context.Context) (err error) {
	r.buffer, err = r.source.Read(ctx, r.buffer[:0])
	r.rest = r.buffer
	return err
}

// merged is a heap of the readers that have an entry. The next entry is at its top.
type merged[E any] struct {
	readers []reader[E]
	before  func(a, b *E) bool
}

func (m *merged[E]) Len() int { return len(m.readers) }

func (m *merged[E]) Less(i, j int) bool {
	return m.before(&m.readers[i].rest[0], &m.readers[j].rest[0])
}

func (m *merged[E]) Swap(i, j int) { m.readers[i], m.readers[j] = m.readers[j], m.readers[i] }

// Push is required by heap.Interface. Merge adds no reader later.
func (m *merged[E]) Push(any) {}

func (m *merged[E]) Pop() any {
	m.readers = m.readers[:len(m.readers)-1]
	return nil
}
