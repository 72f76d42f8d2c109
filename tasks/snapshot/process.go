package snapshot

import (
	"context"
	"errors"
	"maps"
	"slices"

	"attestry/evidence"
	rules "attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

// process compares one report with the last snapshot and makes the next one if
// anything differs. It starts over when another worker made a snapshot first.
func (p *Processor) process(ctx context.Context, h *lease, record environments.WaitingReport) (result, error) {
	if unchanged, token, err := p.sameAsLast(ctx, h, record); err != nil || unchanged {
		return result{token: token}, err
	}
	report, err := p.store.Reports.Unpack(ctx, &record)
	if err != nil {
		return result{}, err
	}
	for {
		r, err := p.makeNext(ctx, h, record, &report)
		if !errors.Is(err, storage.ErrExists) {
			return r, err
		}
		if err := p.withdraw(ctx, record.Environment, 0, r.announced); err != nil {
			return result{}, err
		}
		adopted, err := p.adoptCommitted(ctx, h)
		if err != nil {
			return result{}, err
		}
		if adopted.Arrival == record.Arrival {
			return result{snapshot: &adopted}, nil
		}
	}
}

// sameAsLast reports whether the report is like the last one and no fact that it is
// evaluated by has changed since. It returns the generation under which that is so.
func (p *Processor) sameAsLast(ctx context.Context, h *lease, record environments.WaitingReport) (bool, string, error) {
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

// makeNext makes the snapshot after the last one, unless nothing has changed.
// storage.ErrExists tells that its number is taken; the result then has what was
// announced in vain.
func (p *Processor) makeNext(ctx context.Context, h *lease, record environments.WaitingReport, report *rules.Report) (result, error) {
	head := h.current()
	last, err := p.store.Snapshots.Tree(ctx, head.Root)
	if err != nil {
		return result{}, err
	}
	before := last.Artifacts()
	next := rules.Snapshot{
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
	}
	running := rules.ByFingerprint(before)
	images := report.Resolve(running)
	if record.Repeat {
		images = rules.Repeat(before)
		next.Digest, next.ReportedAt = head.Digest, head.LastReportedAt
	}
	artifacts, announced, err := p.evaluate(ctx, &head, &next, images, running)
	if err != nil {
		return result{}, err
	}
	changes := rules.Diff(before, artifacts)
	samePolicies := slices.Equal(head.Policies, next.Policies)
	if head.Last > 0 && !samePolicies {
		changes = rules.WithOtherPolicies(changes, artifacts)
	}
	if head.Last > 0 && samePolicies && !rules.Significant(changes) {
		return result{token: next.Token}, nil
	}
	if err := p.write(ctx, &next, &last, artifacts, changes); err != nil {
		return result{announced: announced}, err
	}
	return result{snapshot: &next}, p.finish(ctx, &next, changes, artifacts)
}

// write stores a snapshot: what of its tree the last one does not share first, then
// the snapshot itself, which commits it.
func (p *Processor) write(ctx context.Context, next *rules.Snapshot, last *rules.Tree, artifacts []rules.Artifact, changes []rules.Change) error {
	tree := rules.NewArtifactTree(artifacts)
	difference, err := tree.Compare(last.Root, last.Fetch)
	if err != nil {
		return err
	}
	next.Root, next.Changes = tree.Root, changes
	next.Sum(artifacts)
	next.Events = rules.CountEvents(changes)
	chunks := difference.Chunks
	if !rules.Inline(changes) {
		hung := rules.NewChangeTree(changes)
		next.Changes, next.ChangesRoot = nil, hung.Root
		maps.Copy(chunks, hung.Chunks)
	}
	if err := p.store.Snapshots.StoreChunks(ctx, chunks); err != nil {
		return err
	}
	return p.store.Snapshots.Insert(ctx, *next)
}

// adoptCommitted finishes the snapshot that was made behind the head's back, by another
// worker or by one that was killed, and brings the head to it.
func (p *Processor) adoptCommitted(ctx context.Context, h *lease) (rules.Snapshot, error) {
	head := h.current()
	found, err := p.store.Snapshots.Get(ctx, head.Environment, head.Last+1)
	if err != nil {
		return found, err
	}
	changes, err := p.store.Snapshots.Changes(ctx, &found)
	if err != nil {
		return found, err
	}
	artifacts, err := p.store.Snapshots.Artifacts(ctx, &found)
	if err != nil {
		return found, err
	}
	if err := p.finish(ctx, &found, changes, artifacts); err != nil {
		return found, err
	}
	return found, p.commit(ctx, h, func(head *rules.Head) {
		head.Advance(&found)
		head.Settle(found.Arrival, rules.Outcome{Report: found.Report, Snapshot: found.Number})
	})
}
