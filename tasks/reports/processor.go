// Package reports turns waiting reports into snapshots: Intake accepts a report in the api
// process, Processor processes those of an environment in a worker, and Sweeper enqueues waiting
// reports again. Package evidence/snapshot decides the result of a report.
package reports

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/tasks/logical"
)

const (
	// batchSize is how many reports are read with one command.
	batchSize = 16
	// commitAttempts bounds how often a write of the head is retried. Reporters write the head about once a second.
	commitAttempts = 10
)

// Publisher is called when reports of an environment were processed.
type Publisher interface {
	PublishChange(ctx context.Context, environment string)
}

// Processor drains environments: it makes snapshots of their waiting reports in the order of arrival.
type Processor struct {
	store     *app.Store
	publisher Publisher
	logical   *logical.Updater
	clock     evidence.Clock
	log       *slog.Logger
	refunds   refunds
	// countParked is called with the class of the reason, one of ParkedReasons, for each report that is parked.
	countParked func(reason string)
	stopping    atomic.Bool
}

// NewProcessor makes a processor, which calls countParked for each report that it parks.
func NewProcessor(store *app.Store, publisher Publisher, clock evidence.Clock, log *slog.Logger, countParked func(reason string)) *Processor {
	return &Processor{
		store: store, publisher: publisher, logical: logical.NewUpdater(store, clock, log), clock: clock, log: log,
		refunds: refunds{pending: map[string][]refund{}}, countParked: countParked,
	}
}

// Stop makes Drain end after at most one further batch of reports. Another worker processes the others.
func (p *Processor) Stop() { p.stopping.Store(true) }

// Drain processes all reports that wait in an environment. It returns at once if another worker
// has the lease: that worker looks for further reports after it has released the lease.
func (p *Processor) Drain(ctx context.Context, environment string) error {
	for {
		more, err := p.drainOnce(ctx, environment)
		if errors.Is(err, errLeaseLost) {
			return nil
		}
		if err != nil || !more || p.stopping.Load() {
			return err
		}
	}
}

// drainOnce takes the lease, processes the waiting reports, releases the lease, and reports whether others have come.
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

// processAll processes the waiting reports in batches. The last write releases the lease.
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
		if len(records) == 0 || p.stopping.Load() {
			return p.commit(ctx, h, clearLease)
		}
		if err := p.processBatch(ctx, h, records); err != nil || len(records) < batchSize {
			return err
		}
	}
}

// processBatch processes reports in the order of arrival. Even after a failure it deletes objects of processed ones.
func (p *Processor) processBatch(ctx context.Context, h *lease, records []environments.WaitingReport) error {
	last := len(records) < batchSize
	var done []environments.WaitingReport
	for i, record := range records {
		failed, err := p.processOne(ctx, h, record, last && i == len(records)-1)
		if err != nil {
			if i > 0 {
				p.publisher.PublishChange(ctx, h.head.Environment)
			}
			// tasks/orphans deletes objects that remain. The first error is returned.
			_ = p.removeObjects(ctx, h.head.Environment, done)
			return err
		}
		if !failed {
			done = append(done, record)
		}
	}
	p.publisher.PublishChange(ctx, h.head.Environment)
	return p.removeObjects(ctx, h.head.Environment, done)
}

// removeObjects deletes the objects of processed reports. A failure that is not an outage is only
// logged: it must not count as an attempt of the next report.
func (p *Processor) removeObjects(ctx context.Context, environment string, done []environments.WaitingReport) error {
	err := p.store.Reports.RemoveObjects(ctx, done)
	if err == nil || isOutage(err) || ctx.Err() != nil {
		return err
	}
	p.log.WarnContext(ctx, "could not remove the objects of processed reports", "environment", environment, "error", err.Error())
	return nil
}

// processOne processes one report, or parks it after too many attempts. It renews the lease meanwhile.
func (p *Processor) processOne(ctx context.Context, h *lease, record environments.WaitingReport, last bool) (failed bool, err error) {
	attempt := h.head.Attempt
	ctx, release := p.renewLease(ctx, h)
	defer release()
	if attempt.Arrival == record.Arrival && attempt.Count > maxAttempts {
		return true, p.park(ctx, h, record, attempt, last)
	}
	// A panic becomes an error, so that a report which causes one is parked in the end.
	err = goroutine.Recovered(func() error { return p.process(ctx, h, &pending{WaitingReport: record, last: last}) })
	if errors.Is(err, goroutine.ErrPanicked) {
		p.log.ErrorContext(ctx, "processing a report panicked", "environment", record.Environment,
			"arrival", record.Arrival, "error", err.Error())
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		// The lease could not be renewed, or the task has ended.
		return false, fmt.Errorf("%w: %w", cause, err)
	}
	return false, err
}

// park ends the processing of a report that failed too often, and keeps it with the reason.
func (p *Processor) park(ctx context.Context, h *lease, record environments.WaitingReport, attempt snapshot.Attempt, last bool) error {
	reason, class := attempt.Reason, attempt.Class
	if reason == "" {
		reason, class = killedReason, reasonKilled
	}
	p.log.ErrorContext(ctx, "gave up a report", "org", record.Org, "environment", record.Environment,
		"arrival", record.Arrival, "attempts", maxAttempts, "class", class, "reason", reason)
	record.Failure, record.Attempts, record.ParkedAt = reason, maxAttempts, evidence.Seconds(p.clock())
	if err := p.store.Reports.Put(ctx, record); err != nil {
		return err
	}
	err := p.commit(ctx, h, func(head *snapshot.Head) {
		head.MarkProcessed(record.Arrival, snapshot.Outcome{Report: record.ID, Failed: true})
		if last {
			clearLease(head)
			return
		}
		head.Attempt = snapshot.Attempt{Arrival: record.Arrival + 1, Count: 1}
	})
	if err == nil {
		p.countParked(class)
	}
	return err
}

// parkUnread parks the next report, whose document cannot be read at all.
func (p *Processor) parkUnread(ctx context.Context, h *lease) error {
	head := h.current()
	record := snapshot.ReportRecord{Org: head.Org, Environment: head.Environment, Arrival: head.Processed + 1}
	return p.park(ctx, h, environments.WaitingReport{ReportRecord: record}, head.Attempt, false)
}
