// Package evidencetest has a clock, a context, and checks of errors and texts, for tests of all packages.
package evidencetest

import (
	"sync"
	"time"
)

// Clock is a clock that tests set.
type Clock struct {
	mu   sync.Mutex
	now  time.Time
	step time.Duration
}

// NewClock returns a clock that stands still at a time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// NewSteppingClock returns a clock that moves forward by a step whenever it is read.
func NewSteppingClock(now time.Time, step time.Duration) *Clock { return &Clock{now: now, step: step} }

// Now reads the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(c.step)
	return c.now
}

// Advance moves the clock forward, or back.
func (c *Clock) Advance(span time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(span)
}

// Set sets the clock.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}
