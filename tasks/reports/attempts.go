package reports

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/goroutine"
	"attestry/storage"
)

// maxAttempts is how often a report is tried. Then it is parked, so that the next reports are processed.
var maxAttempts = job.Report.Attempts

// RefundInterval is how often Refund is to be called: more often than the database can restart.
const RefundInterval = 2 * time.Second

// The classes of reasons for which reports are parked.
const (
	reasonDamaged  = "damaged"   // something that is needed is missing or cannot be decoded
	reasonTimeout  = "timeout"   // the task ran out of time
	reasonTooLarge = "too_large" // the database refuses the result of the report
	reasonInvalid  = "invalid"   // the database refuses the result as invalid
	reasonPanic    = "panic"
	reasonKilled   = "killed" // the worker ended without storing a reason
	reasonOther    = "other"
)

// ParkedReasons are all classes of reasons for which reports are parked.
var ParkedReasons = []string{reasonDamaged, reasonTimeout, reasonTooLarge, reasonInvalid, reasonPanic, reasonKilled, reasonOther}

// killedReason is the reason of a report whose last worker ended without storing one.
const killedReason = "the worker ended while processing it"

// isOutage reports whether an error is not caused by the report: a store was unavailable or busy, or the worker is
// stopping. Every other error counts as an attempt, so that no report blocks its environment for ever.
func isOutage(err error) bool {
	if errors.Is(err, errLeaseLost) {
		return false // processing the report may have taken longer than the lease
	}
	return errors.Is(err, storage.ErrOutage) || errors.Is(err, context.Canceled) || evidence.CodeOf(err) == evidence.Unavailable
}

// reasonOf gives the class of an error that counts as an attempt.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, goroutine.ErrPanicked):
		return reasonPanic
	case errors.Is(err, storage.ErrDamaged), errors.Is(err, storage.ErrNotFound):
		return reasonDamaged
	case errors.Is(err, context.DeadlineExceeded):
		return reasonTimeout
	case evidence.CodeOf(err) == evidence.TooLarge:
		return reasonTooLarge
	case evidence.CodeOf(err) == evidence.Invalid:
		return reasonInvalid
	}
	return reasonOther
}

// refund is an attempt that must not count, as an outage ended it. Attempts are counted when they begin.
type refund struct {
	arrival int64
	holder  string
	// uncertain means that the write which counted the attempt may have failed, too.
	uncertain bool
}

// apply uncounts the attempt, and releases its lease if the head still has it.
func (r *refund) apply(head *snapshot.Head) {
	held := head.Lease.Holder == r.holder
	if held {
		head.Lease = job.Lease{}
	}
	if head.Attempt.Arrival == r.arrival && head.Attempt.Count > 0 && (held || !r.uncertain) {
		head.Attempt.Count--
	}
}

// refunds are the refunds of a processor that are not written yet, by environment.
type refunds struct {
	mu      sync.Mutex
	pending map[string][]refund
}

func (r *refunds) add(environment string, refunds ...refund) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[environment] = append(r.pending[environment], refunds...)
}

func (r *refunds) take(environment string) []refund {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.pending[environment]
	delete(r.pending, environment)
	return taken
}

func (r *refunds) environments() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.pending))
}

// Refund uncounts attempts that outages ended. Otherwise five restarts of the database would park a report.
func (p *Processor) Refund(ctx context.Context) error {
	for _, environment := range p.refunds.environments() {
		if err := p.refund(ctx, environment); err != nil {
			return err
		}
	}
	return nil
}

// refund is Refund for one environment; without pending refunds it costs nothing.
func (p *Processor) refund(ctx context.Context, environment string) error {
	taken := p.refunds.take(environment)
	if len(taken) == 0 {
		return nil
	}
	_, err := p.store.Heads.Update(ctx, environment, func(head *snapshot.Head) error {
		for i := range taken {
			taken[i].apply(head)
		}
		return nil
	})
	if err != nil {
		p.refunds.add(environment, taken...)
	}
	return err
}
