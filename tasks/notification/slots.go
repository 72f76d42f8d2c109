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
	// maxSpacing is how far, in seconds, attempts that found no slot are put off.
	maxSpacing = 30.0
)

// slots bound how many attempts are under way at once of each name: an organization or a host.
type slots struct {
	places cache.Shared[place]
}

// place has the slots of a name.
type place struct {
	taken chan struct{}

	mu sync.Mutex
	// took is how long the last attempt has taken, in seconds.
	took float64
	// next is when the last one that found no slot may expect one, in Unix seconds.
	next float64
}

func newSlots(most int) *slots {
	return &slots{places: cache.NewShared(func() *place { return &place{taken: make(chan struct{}, most)} })}
}

// enter waits for a slot, at most slotWait. It returns the function that leaves the slot, which takes the seconds that the
// attempt took; or else when to come again, by what attempts take there. Times are Unix seconds.
func (s *slots) enter(ctx context.Context, name string, now float64) (leave func(took float64), due float64) {
	one, quit := s.places.Use(name)
	select {
	case one.taken <- struct{}{}:
		return func(took float64) {
			<-one.taken
			one.mu.Lock()
			one.took = took
			one.mu.Unlock()
			quit()
		}, 0
	case <-ctx.Done():
	case <-time.After(slotWait):
	}
	defer quit()
	return nil, one.putOff(now)
}

func (p *place) putOff(now float64) (due float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = min(max(p.next, now)+p.took/float64(cap(p.taken)), now+maxSpacing)
	return p.next
}
