package cache

import (
	"sync"
	"time"
)

// TTL remembers look-ups for a while. It is bounded in size and in age, and a
// look-up that was under way when something was forgotten is not remembered, so
// that forgetting acts at once in this process.
type TTL[V any] struct {
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

// NewTTL makes a cache of at most size values that are remembered for an age.
func NewTTL[V any](age time.Duration, size int) *TTL[V] {
	return &TTL[V]{age: age, size: size, entries: map[string]cached[V]{}}
}

// Get returns what is remembered under key, and the version to hand to put when
// there is nothing.
func (c *TTL[V]) Get(key string, now time.Time) (value V, version uint64, ok bool) {
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

// Put remembers a value read at a moment, unless something was forgotten since
// version. When the cache is full an arbitrary entry makes room.
func (c *TTL[V]) Put(key string, value V, read time.Time, version uint64) {
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

// Forget drops one entry.
func (c *TTL[V]) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	delete(c.entries, key)
}

// Clear drops all entries.
func (c *TTL[V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	clear(c.entries)
}
