package storage

import (
	"container/heap"
	"context"
)

// Source is what Merge reads: entries in the order of a query. S is the source itself.
type Source[S any] interface {
	// Next goes to the next entry, first to the first one. It reports false at the end.
	Next(ctx context.Context) (bool, error)
	// Before reports whether the source's entry comes before that of another source, both
	// of which have one.
	Before(other S) bool
}

// Merge goes through the entries of sources in the order that they have together. It calls
// take with the source whose entry is the next one, until take wants no more.
func Merge[S Source[S]](ctx context.Context, sources []S, take func(S) (wantsMore bool, err error)) error {
	m := make(merged[S], 0, len(sources))
	for _, source := range sources {
		ok, err := source.Next(ctx)
		if err != nil {
			return err
		}
		if ok {
			m = append(m, source)
		}
	}
	heap.Init(&m)
	for len(m) > 0 {
		if wantsMore, err := take(m[0]); err != nil || !wantsMore {
			return err
		}
		ok, err := m[0].Next(ctx)
		if err != nil {
			return err
		}
		if ok {
			heap.Fix(&m, 0)
		} else {
			heap.Pop(&m)
		}
	}
	return nil
}

// merged is a heap of the sources that have an entry, with the next entry at its top.
type merged[S Source[S]] []S

func (m merged[S]) Len() int { return len(m) }

func (m merged[S]) Less(i, j int) bool { return m[i].Before(m[j]) }

func (m merged[S]) Swap(i, j int) { m[i], m[j] = m[j], m[i] }

func (m *merged[S]) Push(source any) { *m = append(*m, source.(S)) }

func (m *merged[S]) Pop() any {
	end := len(*m) - 1
	last := (*m)[end]
	*m = (*m)[:end]
	return last
}
