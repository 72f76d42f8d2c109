package notification

import "testing"

// TestAttemptsWithoutASlotAreSpreadOverTheNextHalfMinute has a host with two slots, whose attempts take a while.
func TestAttemptsWithoutASlotAreSpreadOverTheNextHalfMinute(t *testing.T) {
	p := &pool{taken: make(chan struct{}, 2), duration: 20}
	for i, c := range []struct{ now, due float64 }{
		{100, 110}, {100, 120}, {100, 130}, {100, 130}, // the second is due after the first, none after half a minute
		{105, 135}, {200, 210}, // what was postponed before is over
	} {
		if due := p.postpone(c.now); due != c.due {
			t.Errorf("attempt %d at %v is due at %v, want %v", i+1, c.now, due, c.due)
		}
	}
}
