package reports

import (
	"context"
	"errors"
	"strings"
	"sync"

	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/goroutine"
	"attestry/storage"
)

var (
	// errLeaseLost ends a drain whose lease another worker has taken over.
	errLeaseLost = errors.New("the lease on the environment was lost")
	errContended = evidence.NewError(evidence.Unavailable, "The environment is being changed by many requests at once.")
)

// lease is the lease of an environment that this processor holds. Each lease has a new holder id.
type lease struct {
	holder string
	// mu is held while the head is written, by the processing or by the renewal of the lease.
	mu       sync.Mutex
	head     snapshot.Head
	revision int64
}

// current is the head as this processor last wrote or read it.
func (h *lease) current() snapshot.Head {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.head
}

// acquireLease takes the lease, or returns nil if it is taken. It counts the attempt before it may kill the worker.
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
		now := evidence.Seconds(p.clock())
		if head.Lease.Taken(job.Report.Lease.Seconds(), now) {
			return nil, nil
		}
		next := head.Processed + 1
		if head.Attempt.Arrival != next {
			head.Attempt = snapshot.Attempt{Arrival: next}
		}
		head.Attempt.Count++
		head.Lease = job.Report.NewLease(holder, now)
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
	return nil, errContended
}

// renewLease renews the lease until release is called. The context ends when a renewal fails, with its error as cause.
func (p *Processor) renewLease(ctx context.Context, h *lease) (context.Context, func()) {
	return goroutine.Every(ctx, job.Report.RenewEvery(), func(ctx context.Context) error { return p.renewOnce(ctx, h) })
}

func (p *Processor) renewOnce(ctx context.Context, h *lease) error {
	return p.commit(ctx, h, func(head *snapshot.Head) { head.Lease = job.Report.NewLease(h.holder, evidence.Seconds(p.clock())) })
}

func clearLease(head *snapshot.Head) {
	head.Lease = job.Lease{}
	head.Attempt = snapshot.Attempt{}
}

// releaseLease releases the lease after an error. An outage does not count as an attempt.
func (p *Processor) releaseLease(ctx context.Context, h *lease, cause error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), job.Report.Lease)
	defer cancel()
	begun := h.current()
	err := p.commit(ctx, h, func(head *snapshot.Head) {
		head.Lease = job.Lease{}
		if isOutage(cause) {
			head.Attempt.Count--
			return
		}
		head.Attempt.Reason, _, _ = strings.Cut(cause.Error(), "\n") // without the stack of a panic
		head.Attempt.Class = reasonOf(cause)
	})
	if err == nil {
		return
	}
	if isOutage(cause) && begun.Attempt.Arrival > 0 {
		p.refunds.add(begun.Environment, refund{arrival: begun.Attempt.Arrival, holder: h.holder})
	}
	if !errors.Is(err, errLeaseLost) {
		p.log.WarnContext(ctx, "could not release an environment", "environment", begun.Environment, "error", err.Error())
	}
}

// commit changes the head under the lease.
func (p *Processor) commit(ctx context.Context, h *lease, change func(*snapshot.Head)) error {
	return p.commitWith(ctx, h, &storage.Batch{}, change, &storage.Batch{})
}

// commitWith changes the head under the lease, with one batch that writes before, the head, and after. If the head was
// changed meanwhile, it repeats the change on the new head. It returns errLeaseLost after the lease was lost or
// released: otherwise a renewal that waited for the release would take the lease again.
func (p *Processor) commitWith(ctx context.Context, h *lease, before *storage.Batch, change func(*snapshot.Head), after *storage.Batch) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.head.Lease.Holder != h.holder {
		return errLeaseLost
	}
	for range commitAttempts {
		next := h.head
		change(&next)
		batch := &storage.Batch{}
		batch.Append(before)
		revision := p.store.Heads.ReplaceIn(batch, &next, h.revision)
		batch.Append(after)
		err := batch.Write(ctx, p.store.Documents)
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
	return errContended
}
