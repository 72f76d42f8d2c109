// Package cache keeps values in memory.
package cache

import (
	"container/list"
	"sync"
)

// LRU caches the most recently used values, up to a total size. It is safe for concurrent use. It is an interface, so
// that its methods are compiled once, and not again in each package that uses it.
type LRU[V any] interface {
	// Get returns the value of a key and makes it the most recently used one.
	Get(key string) (value V, ok bool)
	// Put adds a value of a size and evicts the least recently used ones. One larger than the limit is not cached.
	Put(key string, value V, size int)
	// Remove drops the value of a key.
	Remove(key string)
}

type lru[V any] struct {
	maxSize int

	mu       sync.Mutex
	size     int
	order    *list.List // of *entry[V], the most recently used in front
	elements map[string]*list.Element
}

type entry[V any] struct {
	key   string
	value V
	size  int
}

// NewLRU makes a cache of values of a total size, in the unit of Put.
func NewLRU[V any](maxSize int) LRU[V] {
	return &lru[V]{maxSize: maxSize, order: list.New(), elements: map[string]*list.Element{}}
}

func (c *lru[V]) Get(key string) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.elements[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(element)
	return element.Value.(*entry[V]).value, true
}

func (c *lru[V]) Put(key string, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
	if size > c.maxSize {
		return
	}
	c.elements[key] = c.order.PushFront(&entry[V]{key: key, value: value, size: size})
	for c.size += size; c.size > c.maxSize; {
		c.remove(c.order.Back().Value.(*entry[V]).key)
	}
}

func (c *lru[V]) Remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
}

func (c *lru[V]) remove(key string) {
	if known, ok := c.elements[key]; ok {
		c.size -= c.order.Remove(known).(*entry[V]).size
		delete(c.elements, key)
	}
}
