package limits

import (
	"log/slog"
	"sync"
	"time"

	"attestry/evidence"
)

// probePause is how long Redis is left alone after it did not answer.
const probePause = time.Second

// outage knows whether Redis is away, so that only the first requests wait for it. It logs
// when that changes.
type outage struct {
	clock evidence.Clock
	log   *slog.Logger

	mu      sync.Mutex
	away    bool
	probeAt time.Time
}

// state reports whether Redis is away, and whether it is due to be asked if it is back. It
// is due for one caller in a probePause.
func (o *outage) state() (away, due bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away {
		return false, false
	}
	now := o.clock()
	if now.Before(o.probeAt) {
		return true, false
	}
	o.probeAt = now.Add(probePause)
	return true, true
}

// begin records that Redis did not answer.
func (o *outage) begin(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away {
		return
	}
	o.away, o.probeAt = true, o.clock().Add(probePause)
	o.log.Warn("Redis is away, rates are not limited", "error", err.Error())
}

// end records that Redis answers again.
func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away {
		o.away = false
		o.log.Info("Redis is back, rates are limited")
	}
}
