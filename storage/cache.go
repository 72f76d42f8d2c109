package storage

import (
	"sync"
	"time"
)

// cache remembers look-ups for a while. It is bounded in size and in age, and a
// look-up that was under way when something was forgotten is not remembered, so
// that forgetting acts at once in this process.
type cache[V any] struct {
	age  time.Duration
	size int

	mu      sync.Mutex
	version uint64
	entries map[string]cached[V]
}

type cached[V any] struct {
	value V
	read  time.Time
}

func newCache[V any](age time.Duration, size int) *cache[V] {
	return &cache[V]{age: age, size: size, entries: map[string]cached[V]{}}
}

// get returns what is remembered under key, and the version to hand to put when
// there is nothing.
func (c *cache[V]) get(key string, now time.Time) (value V, version uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.entries[key]
	if !ok {
		return value, c.version, false
	}
	// An age below zero means that the clock was set back.
	if age := now.Sub(entry.read); age < 0 || age >= c.age {
		delete(c.entries, key)
		return value, c.version, false
	}
	return entry.value, c.version, true
}

// put remembers a value read at a moment, unless something was forgotten since
// version. When the cache is full an arbitrary entry makes room.
func (c *cache[V]) put(key string, value V, read time.Time, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version != c.version {
		return
	}
	if _, known := c.entries[key]; !known && len(c.entries) >= c.size {
		for other := range c.entries {
			delete(c.entries, other)
			break
		}
	}
	c.entries[key] = cached[V]{value: value, read: read}
}

// forget drops one entry.
func (c *cache[V]) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	delete(c.entries, key)
}

// clear drops all entries.
func (c *cache[V]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	clear(c.entries)
}
