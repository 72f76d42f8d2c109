package notification

import (
	"context"
	"sync"
	"time"
)

const (
	// maxAtHost is how many attempts this process has under way at one host at once.
	maxAtHost = 4
	// maxSpacing is how far, in seconds, attempts that found no slot at a host are put off.
	maxSpacing = 30.0
)

// hosts are the receivers that attempts are under way at, by their names.
type hosts struct {
	mu     sync.Mutex
	byName map[string]*host
}

type host struct {
	slots chan struct{}
	// users are those who are at the host or wait for a slot.
	users int
	// took is how long the last attempt has taken, in seconds.
	took float64
	// next is when the last one that found no slot may expect one, in Unix seconds.
	next float64
}

// enter waits for a slot at a host, at most slotWait. It returns the function that leaves the slot, which takes the
// seconds that the attempt took; or else when to come again, by what attempts take there. Times are Unix seconds.
func (h *hosts) enter(ctx context.Context, name string, now float64) (leave func(took float64), due float64) {
	one := h.join(name)
	timer := time.NewTimer(slotWait)
	defer timer.Stop()
	select {
	case one.slots <- struct{}{}:
		return func(took float64) {
			<-one.slots
			h.leave(name, one, took)
		}, 0
	case <-ctx.Done():
	case <-timer.C:
	}
	return nil, h.putOff(name, one, now)
}

func (h *hosts) join(name string) *host {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.byName[name]
	if one == nil {
		one = &host{slots: make(chan struct{}, maxAtHost)}
		h.byName[name] = one
	}
	one.users++
	return one
}

func (h *hosts) leave(name string, one *host, took float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one.took = took
	h.quit(name, one)
}

func (h *hosts) putOff(name string, one *host, now float64) (due float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one.next = min(max(one.next, now)+one.took/maxAtHost, now+maxSpacing)
	h.quit(name, one)
	return one.next
}

// quit forgets a host that nobody is at. The mutex is held.
func (h *hosts) quit(name string, one *host) {
	if one.users--; one.users == 0 {
		delete(h.byName, name)
	}
}
