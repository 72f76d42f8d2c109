package cache

import (
	"sync"
	"time"
)

// TTL caches look-ups, bounded in number and age. A look-up during which the cache was cleared is not cached, so that
// clearing takes effect at once in this process. It is safe for concurrent use, and an interface like LRU.
type TTL[V any] interface {
	// Get returns the value of a key, or the version for Put.
	Get(key string, now time.Time) (value V, version uint64, ok bool)
	// Put caches a value that was read at a moment, unless the cache was cleared since version.
	Put(key string, value V, read time.Time, version uint64)
	// Load returns the value of a key, or the result of read, which is cached unless it is an error.
	Load(key string, now time.Time, read func() (V, error)) (V, error)
	// Clear drops all values.
	Clear()
}

type ttl[V any] struct {
	age   time.Duration
	limit int // values

	mu      sync.Mutex
	version uint64
	values  LRU[timed[V]]
}

type timed[V any] struct {
	value V
	read  time.Time
}

// NewTTL makes a cache of at most limit values, which are valid for an age.
func NewTTL[V any](age time.Duration, limit int) TTL[V] {
	return &ttl[V]{age: age, limit: limit, values: NewLRU[timed[V]](limit)}
}

func (c *ttl[V]) Get(key string, now time.Time) (value V, version uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.values.Get(key)
	// An age below zero means that the clock was set back.
	if age := now.Sub(found.read); !ok || age < 0 || age >= c.age {
		return value, c.version, false
	}
	return found.value, c.version, true
}

func (c *ttl[V]) Put(key string, value V, read time.Time, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version == c.version {
		c.values.Put(key, timed[V]{value: value, read: read}, 1)
	}
}

func (c *ttl[V]) Load(key string, now time.Time, read func() (V, error)) (V, error) {
	known, version, ok := c.Get(key, now)
	if ok {
		return known, nil
	}
	value, err := read()
	if err == nil {
		c.Put(key, value, now, version)
	}
	return value, err
}

func (c *ttl[V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.values = NewLRU[timed[V]](c.limit)
}
