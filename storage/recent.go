package storage

import (
	"container/list"
	"sync"
)

// recent keeps what was used last of things that never change, up to a number of
// bytes in all.
type recent[T any] struct {
	mu      sync.Mutex
	most    int        // bytes
	size    int        // bytes
	order   *list.List // of *recentEntry[T], used last in front
	entries map[string]*list.Element
}

type recentEntry[T any] struct {
	key   string
	value T
	size  int // bytes
}

func newRecent[T any](most int) *recent[T] {
	return &recent[T]{most: most, order: list.New(), entries: map[string]*list.Element{}}
}

func (r *recent[T]) get(key string) (T, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	element, ok := r.entries[key]
	if !ok {
		var none T
		return none, false
	}
	r.order.MoveToFront(element)
	return element.Value.(*recentEntry[T]).value, true
}

// put keeps a value of a size; one that is larger than all that may be kept is not.
func (r *recent[T]) put(key string, value T, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.entries[key]; ok || size > r.most {
		return
	}
	r.entries[key] = r.order.PushFront(&recentEntry[T]{key: key, value: value, size: size})
	r.size += size
	for r.size > r.most {
		oldest := r.order.Remove(r.order.Back()).(*recentEntry[T])
		delete(r.entries, oldest.key)
		r.size -= oldest.size
	}
}
