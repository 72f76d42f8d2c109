// Package snapshot turns waiting reports into snapshots: Intake accepts a report
// in the api process, Processor drains an environment in a worker, Sweeper finds
// what was forgotten. The rules are in evidence/snapshot.
package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"attestry/app"
	"attestry/evidence"
	rules "attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/tasks/logical"
)

const (
	// leaseSpan is how long a worker may hold an environment without a sign of
	// life.
	leaseSpan = 10 * time.Second
	// renewInterval is how often it gives one while it processes a report.
	renewInterval = leaseSpan / 4
	// batchSize is how many reports are read with one command.
	batchSize = 16
	// commitAttempts bounds how often a head is written again that somebody
	// else has touched, at most once a second per reporter.
	commitAttempts = 10
)

// errLeaseLost ends a drain whose lease another worker has taken over.
var errLeaseLost = errors.New("the lease on the environment was lost")

// Publisher is told that an environment has settled something.
type Publisher interface {
	Settled(ctx context.Context, environment string)
}

// Processor drains environments: it makes snapshots of their waiting reports in
// the order of arrival.
type Processor struct {
	store     *app.Store
	announcer Publisher
	logical   *logical.Updater
	clock     evidence.Clock
	log       *slog.Logger
	refunds   refunds
	parked    parkedCounts
}

// NewProcessor makes a processor.
func NewProcessor(store *app.Store, announcer Publisher, clock evidence.Clock, log *slog.Logger) *Processor {
	return &Processor{store: store, announcer: announcer, logical: logical.NewUpdater(store, clock, log), clock: clock, log: log}
}

// lease is an environment whose lease this processor has. Each holding has a name
// of its own, so that one which has lost its lease never takes another's for it.
type lease struct {
	holder string
	// mu is held while the head is written, by the processing or by the renewal
	// of the lease beside it.
	mu       sync.Mutex
	head     rules.Head
	revision int64
}

// current is the head as this processor last wrote or read it.
func (h *lease) current() rules.Head {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.head
}

// Drain processes all reports that wait in an environment. It returns at once
// when another worker is at it: that one looks again before it is done.
func (p *Processor) Drain(ctx context.Context, environment string) error {
	for {
		more, err := p.drainOnce(ctx, environment)
		if errors.Is(err, errLeaseLost) {
			return nil
		}
		if err != nil || !more {
			return err
		}
	}
}

// drainOnce takes the lease, processes what waits, releases, and looks whether more
// has come.
func (p *Processor) drainOnce(ctx context.Context, environment string) (more bool, err error) {
	h, err := p.acquireLease(ctx, environment)
	if err != nil || h == nil {
		return false, err
	}
	if err := p.processAll(ctx, h); err != nil {
		p.releaseLease(ctx, h, err)
		return false, err
	}
	return p.store.Reports.Exists(ctx, environment, h.head.Processed+1)
}

// acquireLease takes the lease, or returns nil when it is taken. It counts the attempt
// on the next report, so that one which kills its worker is noticed too.
func (p *Processor) acquireLease(ctx context.Context, environment string) (*lease, error) {
	if err := p.refund(ctx, environment); err != nil {
		return nil, err
	}
	holder := evidence.NewID()
	for range commitAttempts {
		stored, err := p.store.Heads.GetVersioned(ctx, environment)
		if err != nil {
			return nil, err
		}
		head := stored.Value
		now := p.clock()
		if head.Lease.Holder != "" && head.Lease.Until > evidence.Seconds(now) {
			return nil, nil
		}
		next := head.Processed + 1
		if head.Attempt.Arrival != next {
			head.Attempt = rules.Attempt{Arrival: next}
		}
		head.Attempt.Count++
		head.Lease = newLease(holder, now)
		revision, err := p.store.Heads.Replace(ctx, head, stored.Revision)
		if errors.Is(err, storage.ErrMoved) {
			continue
		}
		if err != nil {
			p.refunds.add(environment, refund{arrival: next, holder: holder, uncertain: true})
			return nil, err
		}
		return &lease{holder: holder, head: head, revision: revision}, nil
	}
	return nil, contended()
}

func newLease(holder string, now time.Time) rules.Lease {
	return rules.Lease{Holder: holder, Until: evidence.Seconds(now.Add(leaseSpan))}
}

// processAll works off batch after batch. The last write releases the lease.
func (p *Processor) processAll(ctx context.Context, h *lease) error {
	for {
		records, err := p.store.Reports.NextPending(ctx, h.head.Environment, h.head.Processed, batchSize)
		if errors.Is(err, storage.ErrDamaged) && h.head.Attempt.Count > maxAttempts {
			err = p.parkUnread(ctx, h)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return p.commit(ctx, h, clearLease)
		}
		last := len(records) < batchSize
		var done []environments.WaitingReport
		for i, record := range records {
			failed, err := p.processOne(ctx, h, record, last && i == len(records)-1)
			if err != nil {
				return err
			}
			if !failed {
				done = append(done, record)
			}
		}
		p.announcer.Settled(ctx, h.head.Environment)
		if err := p.remove(ctx, h.head.Environment, done); err != nil {
			return err
		}
		if last {
			return nil
		}
	}
}

// remove deletes processed reports. A failure that is not an outage is no reason to
// stop: it must not count as an attempt of the next report.
func (p *Processor) remove(ctx context.Context, environment string, done []environments.WaitingReport) error {
	err := p.store.Reports.Remove(ctx, done)
	if err == nil || blameless(err) || ctx.Err() != nil {
		return err
	}
	p.log.Warn("could not remove processed reports", "environment", environment, "error", err.Error())
	return nil
}

// processOne processes one report while the lease is kept, or parks it.
func (p *Processor) processOne(ctx context.Context, h *lease, record environments.WaitingReport, last bool) (failed bool, err error) {
	attempt := h.head.Attempt
	ctx, release := p.renewLease(ctx, h)
	defer release()
	if attempt.Arrival == record.Arrival && attempt.Count > maxAttempts {
		return true, p.park(ctx, h, record, attempt, last)
	}
	result, err := p.processRecovering(ctx, h, record)
	if err == nil {
		err = p.settle(ctx, h, record, result, last)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		// The lease could not be renewed, or the task has ended.
		return false, fmt.Errorf("%w: %w", cause, err)
	}
	return false, err
}

// renewLease renews the lease until it is released. The context ends when the lease
// cannot be kept, so that nothing is written without it.
func (p *Processor) renewLease(ctx context.Context, h *lease) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var renewal sync.WaitGroup
	renewal.Go(func() {
		ticker := time.NewTicker(renewInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if err := p.renewOnce(ctx, h); err != nil {
				cancel(err)
				return
			}
		}
	})
	return ctx, func() {
		cancel(context.Canceled)
		renewal.Wait()
	}
}

func (p *Processor) renewOnce(ctx context.Context, h *lease) error {
	return p.commit(ctx, h, func(head *rules.Head) { head.Lease = newLease(h.holder, p.clock()) })
}

// result is what processing one report came to.
type result struct {
	// snapshot is the snapshot that the report made, nil when nothing changed.
	snapshot *rules.Snapshot
	// token is the change token under which nothing had changed.
	token string
	// announced is what was said to start with a snapshot that was not made.
	announced []environments.Running
}

// processRecovering turns a panic into an error, so that a report which causes one is
// parked like any other that cannot be processed.
func (p *Processor) processRecovering(ctx context.Context, h *lease, record environments.WaitingReport) (r result, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			p.log.Error("processing a report panicked", "environment", record.Environment,
				"arrival", record.Arrival, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			err = &panicked{cause: cause}
		}
	}()
	return p.process(ctx, h, record)
}

// settle writes the outcome of one report into the head, renews the lease or, at
// the last report, releases it.
func (p *Processor) settle(ctx context.Context, h *lease, record environments.WaitingReport, r result, last bool) error {
	return p.commit(ctx, h, func(head *rules.Head) {
		outcome := rules.Outcome{Report: record.ID}
		if r.snapshot != nil {
			head.Advance(r.snapshot)
			outcome.Snapshot = r.snapshot.Number
		} else {
			head.Digest, head.Token = record.Digest, r.token
			head.LastReportedAt = max(head.LastReportedAt, record.AcceptedAt)
		}
		head.Settle(record.Arrival, outcome)
		if last {
			clearLease(head)
			return
		}
		head.Lease = newLease(h.holder, p.clock())
		head.Attempt = rules.Attempt{Arrival: record.Arrival + 1, Count: 1}
	})
}

// park sets a report aside that was begun too often, and keeps it with the reason.
func (p *Processor) park(ctx context.Context, h *lease, record environments.WaitingReport, attempt rules.Attempt, last bool) error {
	// Versions before the classes have stored reasons without one.
	reason, class := attempt.Reason, cmp.Or(attempt.Class, reasonOther)
	if reason == "" {
		reason, class = killedReason, reasonKilled
	}
	p.log.Error("gave up a report", "org", record.Org, "environment", record.Environment,
		"arrival", record.Arrival, "attempts", maxAttempts, "class", class, "reason", reason)
	record.Failure, record.Attempts, record.ParkedAt = reason, maxAttempts, evidence.Seconds(p.clock())
	if err := p.store.Reports.Park(ctx, record); err != nil {
		return err
	}
	p.parked.add(class)
	return p.commit(ctx, h, func(head *rules.Head) {
		head.Settle(record.Arrival, rules.Outcome{Report: record.ID, Failed: true})
		if last {
			clearLease(head)
			return
		}
		head.Attempt = rules.Attempt{Arrival: record.Arrival + 1, Count: 1}
	})
}

// parkUnread parks the next report, whose document cannot be read at all.
func (p *Processor) parkUnread(ctx context.Context, h *lease) error {
	head := h.current()
	record := environments.WaitingReport{Org: head.Org, Environment: head.Environment, Arrival: head.Processed + 1}
	return p.park(ctx, h, record, head.Attempt, false)
}

func clearLease(head *rules.Head) {
	head.Lease = rules.Lease{}
	head.Attempt = rules.Attempt{}
}

// releaseLease releases the lease after an error. What is not the report's fault does not
// count as an attempt.
func (p *Processor) releaseLease(ctx context.Context, h *lease, cause error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseSpan)
	defer cancel()
	begun := h.current()
	err := p.commit(ctx, h, func(head *rules.Head) {
		head.Lease = rules.Lease{}
		if blameless(cause) {
			head.Attempt.Count--
			return
		}
		head.Attempt.Reason, head.Attempt.Class = cause.Error(), reasonOf(cause)
	})
	if err == nil {
		return
	}
	if blameless(cause) && begun.Attempt.Arrival > 0 {
		p.refunds.add(begun.Environment, refund{arrival: begun.Attempt.Arrival, holder: h.holder})
	}
	if !errors.Is(err, errLeaseLost) {
		p.log.Warn("could not release an environment", "environment", begun.Environment, "error", err.Error())
	}
}

// commit changes the head that this processor holds: one command, unless somebody
// else has touched it meanwhile. The change must bear repetition. Once the lease
// is released there is nothing more to change: a renewal that had to wait for the
// release would take it again, for nobody.
func (p *Processor) commit(ctx context.Context, h *lease, change func(*rules.Head)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.head.Lease.Holder != h.holder {
		return errLeaseLost
	}
	for range commitAttempts {
		next := h.head
		change(&next)
		revision, err := p.store.Heads.Replace(ctx, next, h.revision)
		if err == nil {
			h.head, h.revision = next, revision
			return nil
		}
		if !errors.Is(err, storage.ErrMoved) {
			return err
		}
		stored, err := p.store.Heads.GetVersioned(ctx, h.head.Environment)
		if err != nil {
			return err
		}
		if stored.Value.Lease.Holder != h.holder {
			return errLeaseLost
		}
		h.head, h.revision = stored.Value, stored.Revision
	}
	return contended()
}

func contended() error {
	return evidence.NewError(evidence.Unavailable, "The environment is being changed by many requests at once.")
}
