package notification

import (
	"context"
	"sync"
	"time"

	"attestry/storage/cache"
)

const (
	// slotWait is how long an attempt waits for a slot. Then it is left to the relay.
	slotWait = 500 * time.Millisecond
	// maxSpacing bounds, in seconds, how far attempts that found no slot are postponed.
	maxSpacing = 30.0
)

// slots bound the concurrent attempts of each name: an organization or a host.
type slots struct {
	pools cache.Shared[pool]
}

type pool struct {
	taken chan struct{}

	mu sync.Mutex
	// duration is that of the last attempt, in seconds.
	duration float64
	// next is when the last attempt that found no slot may expect one, in Unix seconds.
	next float64
}

func newSlots(most int) *slots {
	return &slots{pools: cache.NewShared(func() *pool { return &pool{taken: make(chan struct{}, most)} })}
}

// acquire waits for a slot, at most slotWait. It returns the function that releases the slot, given the duration of the
// attempt in seconds. Without a slot it returns when to try again, by the duration of attempts. Times are Unix seconds.
func (s *slots) acquire(ctx context.Context, name string, now float64) (release func(duration float64), due float64) {
	one, done := s.pools.Use(name)
	select {
	case one.taken <- struct{}{}:
		return func(duration float64) {
			<-one.taken
			one.mu.Lock()
			one.duration = duration
			one.mu.Unlock()
			done()
		}, 0
	case <-ctx.Done():
	case <-time.After(slotWait):
	}
	defer done()
	return nil, one.postpone(now)
}

func (p *pool) postpone(now float64) (due float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = min(max(p.next, now)+p.duration/float64(cap(p.taken)), now+maxSpacing)
	return p.next
}
