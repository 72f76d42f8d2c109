package apptest

import (
	"sync"
	"time"
)

// FakeClock is a clock that tests turn.
type FakeClock struct {
	mu  sync.Mutex
	now time.Time
}

// NewFakeClock returns a clock that stands still at a fixed time.
func NewFakeClock() *FakeClock { return &FakeClock{now: time.Unix(1_800_000_000, 0)} }

// Now returns the time of the clock.
func (h *FakeClock) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// Advance moves the clock forward.
func (h *FakeClock) Advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}
