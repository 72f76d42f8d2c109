package notification

import (
	"context"
	"sync"
	"time"
)

const (
	// slotWait is how long an attempt waits for a slot. Then it is left to the relay.
	slotWait = 500 * time.Millisecond
	// maxSpacing is how far, in seconds, attempts that found no slot are put off.
	maxSpacing = 30.0
)

// slots bound how many attempts are under way at once of each name: an organization or a host.
type slots struct {
	most   int
	mu     sync.Mutex
	byName map[string]*place
}

func newSlots(most int) *slots { return &slots{most: most, byName: map[string]*place{}} }

// place has the slots of a name.
type place struct {
	taken chan struct{}
	// users are those who have a slot or wait for one.
	users int
	// took is how long the last attempt has taken, in seconds.
	took float64
	// next is when the last one that found no slot may expect one, in Unix seconds.
	next float64
}

// enter waits for a slot, at most slotWait. It returns the function that leaves the slot, which takes the seconds that the
// attempt took; or else when to come again, by what attempts take there. Times are Unix seconds.
func (s *slots) enter(ctx context.Context, name string, now float64) (leave func(took float64), due float64) {
	one := s.join(name)
	select {
	case one.taken <- struct{}{}:
		return func(took float64) {
			<-one.taken
			s.leave(name, one, took)
		}, 0
	case <-ctx.Done():
	case <-time.After(slotWait):
	}
	return nil, s.putOff(name, one, now)
}

func (s *slots) join(name string) *place {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byName[name]
	if one == nil {
		one = &place{taken: make(chan struct{}, s.most)}
		s.byName[name] = one
	}
	one.users++
	return one
}

func (s *slots) leave(name string, one *place, took float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.took = took
	s.quit(name, one)
}

func (s *slots) putOff(name string, one *place, now float64) (due float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.next = min(max(one.next, now)+one.took/float64(s.most), now+maxSpacing)
	s.quit(name, one)
	return one.next
}

// quit forgets a place that nobody uses. The mutex is held.
func (s *slots) quit(name string, one *place) {
	if one.users--; one.users == 0 {
		delete(s.byName, name)
	}
}
