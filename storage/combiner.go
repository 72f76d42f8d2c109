package storage

import (
	"attestry/evidence"
	"attestry/goroutine"

	"context"
	"sync"
	"time"
)

// combinedTimeout bounds each run. A run does not end with the request of a caller, as it serves several.
const combinedTimeout = 15 * time.Second

// Combiner handles concurrent items of one key together, in one goroutine.
type Combiner[T any] struct {
	run     func(ctx context.Context, key string, items []T)
	mu      sync.Mutex
	waiting map[string][]*combined[T]
}

type combined[T any] struct {
	item T
	done chan struct{}
	err  error
}

// NewCombiner makes a combiner that lets run handle the items of a key. Of one key, one call runs at a time.
func NewCombiner[T any](run func(ctx context.Context, key string, items []T)) *Combiner[T] {
	return &Combiner[T]{run: run, waiting: map[string][]*combined[T]{}}
}

// Do waits until an item was handled, or the context ends. After an error of the context, or goroutine.ErrPanicked,
// the item may still be in use, so the caller must not read it.
func (c *Combiner[T]) Do(ctx context.Context, key string, item T) error {
	waiter := &combined[T]{item: item, done: make(chan struct{})}
	c.mu.Lock()
	queue, busy := c.waiting[key]
	c.waiting[key] = append(queue, waiter)
	c.mu.Unlock()
	if !busy {
		// Reads for several callers are charged to none of them.
		ctx := WithCharge(context.WithoutCancel(ctx), nil)
		goroutine.Start(func() error { c.drain(ctx, key); return nil }, func(error) {})
	}
	select {
	case <-waiter.done:
		return waiter.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Waiting returns how many items wait for a running group.
func (c *Combiner[T]) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, queue := range c.waiting {
		n += len(queue)
	}
	return n
}

// drain handles one group after the other until no item of the key waits.
func (c *Combiner[T]) drain(ctx context.Context, key string) {
	for {
		c.mu.Lock()
		group := c.waiting[key]
		if len(group) == 0 {
			delete(c.waiting, key)
			c.mu.Unlock()
			return
		}
		c.waiting[key] = []*combined[T]{}
		c.mu.Unlock()
		c.do(ctx, key, group)
	}
}

func (c *Combiner[T]) do(ctx context.Context, key string, group []*combined[T]) {
	ctx, cancel := context.WithTimeout(ctx, combinedTimeout)
	defer cancel()
	items := evidence.Map(group, func(one *combined[T]) T { return one.item })
	err := goroutine.Recovered(func() error { c.run(ctx, key, items); return nil })
	for _, one := range group {
		one.err = err
		close(one.done)
	}
}
