package reports

import (
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	rules "attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

// process compares one report with the last snapshot, makes the next one if anything
// differs, and settles the report. It starts over when another worker made a snapshot first.
func (p *Processor) process(ctx context.Context, h *lease, record *pending) error {
	unchanged, token, err := p.sameAsLast(ctx, h, &record.WaitingReport)
	if err != nil {
		return err
	}
	if unchanged {
		return p.settle(ctx, h, &storage.Batch{}, record, result{token: token})
	}
	report, err := p.store.Reports.Unpack(ctx, &record.WaitingReport)
	if err != nil {
		return err
	}
	for {
		next, err := p.makeNext(ctx, h, record, &report)
		if err != nil {
			return err
		}
		if !next.significant {
			scaled, batch, err := p.scale(ctx, h, record, next)
			if err != nil {
				return err
			}
			return p.settle(ctx, h, batch, record, result{token: next.made.Token, scaled: scaled})
		}
		err = p.storeNext(ctx, h, record, next)
		if !errors.Is(err, storage.ErrExists) {
			return err
		}
		if err := p.withdraw(ctx, record.Environment, next.announced); err != nil {
			return err
		}
		adopted, err := p.adoptCommitted(ctx, h)
		if err != nil {
			return err
		}
		if adopted.Arrival == record.Arrival {
			return p.settle(ctx, h, &storage.Batch{}, record, result{snapshot: &adopted})
		}
	}
}

// sameAsLast reports whether the report is like the last one and no fact that it is
// evaluated by has changed since. It returns the generation under which that is so.
func (p *Processor) sameAsLast(ctx context.Context, h *lease, record *environments.WaitingReport) (bool, string, error) {
	head := h.current()
	if record.Repeat {
		return head.Last == 0, head.Token, nil
	}
	if head.Last == 0 || head.Digest != record.Digest {
		return false, "", nil
	}
	token, err := p.store.Generations.Get(ctx, record.Org, record.Environment)
	return token == head.Token, token, err
}

// makeNext makes the snapshot after the last one.
func (p *Processor) makeNext(ctx context.Context, h *lease, record *pending, report *rules.Report) (*nextSnapshot, error) {
	head := h.current()
	last, err := p.store.Snapshots.Tree(ctx, head.Root)
	if err != nil {
		return nil, err
	}
	before := last.Artifacts()
	next := &nextSnapshot{last: &last, made: rules.Snapshot{
		Org:          record.Org,
		Environment:  record.Environment,
		Number:       head.Last + 1,
		Timestamp:    evidence.TimeAfter(head.Timestamp, record.AcceptedAt),
		Type:         record.Type,
		EventsBefore: head.Events,
		Arrival:      record.Arrival,
		Report:       record.ID,
		Digest:       record.Digest,
		ReportedBy:   record.ReportedBy,
		ReportedAt:   record.AcceptedAt,
	}}
	next.before = rules.ByFingerprint(before)
	images := report.Resolve(next.before)
	if record.Repeat {
		images = rules.Repeat(before)
		next.made.Digest, next.made.ReportedAt = head.Digest, head.LastReportedAt
	}
	if err := p.evaluate(ctx, &head, next, images, next.before); err != nil {
		return nil, err
	}
	next.changes = rules.Diff(before, next.artifacts)
	samePolicies := slices.Equal(head.Policies, next.made.Policies)
	if head.Last > 0 && !samePolicies {
		next.changes = rules.WithOtherPolicies(next.changes, next.artifacts)
	}
	next.significant = head.Last == 0 || !samePolicies || rules.Significant(next.changes)
	return next, nil
}
