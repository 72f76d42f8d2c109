package cache

import "sync"

// Shared keeps the value of a key while it is in use. It is safe for concurrent use, and an interface like LRU.
type Shared[V any] interface {
	// Use returns the value of a key, the same one for all concurrent users. It is in use until leave is called.
	Use(key string) (value *V, leave func())
}

type shared[V any] struct {
	fresh func() *V

	mu     sync.Mutex
	values map[string]*used[V]
}

type used[V any] struct {
	value *V
	users int
}

// NewShared makes a Shared in which fresh makes the value of a key that is not in use.
func NewShared[V any](fresh func() *V) Shared[V] {
	return &shared[V]{fresh: fresh, values: map[string]*used[V]{}}
}

func (s *shared[V]) Use(key string) (value *V, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.values[key]
	if one == nil {
		one = &used[V]{value: s.fresh()}
		s.values[key] = one
	}
	one.users++
	return one.value, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(s.values, key)
		}
	}
}
