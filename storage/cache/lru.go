// Package cache keeps values in memory.
package cache

import (
	"container/list"
	"sync"
)

// LRU keeps what was used last of things that never change, up to a number of
// bytes in all.
type LRU[T any] struct {
	mu      sync.Mutex
	Most    int        // bytes
	Size    int        // bytes
	Order   *list.List // of *recentEntry[T], used last in front
	Entries map[string]*list.Element
}

type recentEntry[T any] struct {
	key   string
	value T
	size  int // bytes
}

// NewLRU makes a cache of at most that many bytes.
func NewLRU[T any](most int) *LRU[T] {
	return &LRU[T]{Most: most, Order: list.New(), Entries: map[string]*list.Element{}}
}

// Get returns the value of a key and makes it the one used last.
func (r *LRU[T]) Get(key string) (T, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	element, ok := r.Entries[key]
	if !ok {
		var none T
		return none, false
	}
	r.Order.MoveToFront(element)
	return element.Value.(*recentEntry[T]).value, true
}

// Put keeps a value of a size; one that is larger than all that may be kept is not.
func (r *LRU[T]) Put(key string, value T, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.Entries[key]; ok || size > r.Most {
		return
	}
	r.Entries[key] = r.Order.PushFront(&recentEntry[T]{key: key, value: value, size: size})
	r.Size += size
	for r.Size > r.Most {
		oldest := r.Order.Remove(r.Order.Back()).(*recentEntry[T])
		delete(r.Entries, oldest.key)
		r.Size -= oldest.size
	}
}
