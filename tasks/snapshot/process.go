package snapshot

import (
	"context"
	"errors"

	rules "attestry/evidence/snapshot"
	"attestry/storage"
)

// process judges one report against the last snapshot and makes the next one if
// anything differs. It starts over when another worker made a snapshot first.
func (p *Processor) process(ctx context.Context, h *held, record storage.WaitingReport) (result, error) {
	if unchanged, token, err := p.sameAsLast(ctx, h, record); err != nil || unchanged {
		return result{token: token}, err
	}
	report, err := p.store.Reports.Unpack(ctx, &record)
	if errors.Is(err, storage.ErrDamaged) {
		return result{}, &poisoned{cause: err}
	}
	if err != nil {
		return result{}, err
	}
	artifacts := rules.Evaluate(&report)
	tree := rules.NewArtifactTree(artifacts)
	for {
		r, err := p.makeNext(ctx, h, record, artifacts, &tree)
		if !errors.Is(err, storage.ErrExists) {
			return r, err
		}
		adopted, err := p.adopt(ctx, h)
		if err != nil {
			return result{}, err
		}
		if adopted.Arrival == record.Arrival {
			return result{snapshot: &adopted}, nil
		}
	}
}

// sameAsLast tells whether the report is like the last one and no fact that it is
// judged by has changed since.
func (p *Processor) sameAsLast(ctx context.Context, h *held, record storage.WaitingReport) (bool, string, error) {
	head := h.current()
	if head.Last == 0 || head.Digest != record.Digest {
		return false, "", nil
	}
	token, err := p.store.Tokens.Get(ctx, record.Org)
	return token == head.Token, token, err
}

// makeNext makes the snapshot after the last one, unless nothing has changed.
// storage.ErrExists tells that its number is taken.
func (p *Processor) makeNext(ctx context.Context, h *held, record storage.WaitingReport, artifacts []rules.Artifact, tree *rules.Tree) (result, error) {
	head := h.current()
	difference, err := p.store.Snapshots.Compare(ctx, head.Root, tree)
	if err != nil {
		return result{}, err
	}
	changes := rules.Diff(difference.Before, difference.After)
	// What newly runs is announced before the token is read: whoever changes a
	// fact about it from now on moves the token.
	if err := p.announceStarting(ctx, &head, changes); err != nil {
		return result{}, err
	}
	token, err := p.store.Tokens.Get(ctx, record.Org)
	if err != nil {
		return result{}, err
	}
	if head.Last > 0 && !rules.Significant(changes) {
		return result{token: token}, nil
	}
	made := assemble(&head, record, artifacts, tree, changes, token)
	chunks := difference.Chunks
	if !rules.Inline(changes) {
		hung := rules.NewChangeTree(changes)
		made.Changes, made.ChangesRoot = nil, hung.Root
		for id, chunk := range hung.Chunks {
			chunks[id] = chunk
		}
	}
	if err := p.store.Snapshots.StoreChunks(ctx, chunks); err != nil {
		return result{}, err
	}
	if err := p.store.Snapshots.Insert(ctx, made); err != nil {
		return result{}, err
	}
	return result{snapshot: &made}, p.finish(ctx, &made, changes)
}

// assemble makes the snapshot that follows the one the head stands at.
func assemble(head *rules.Head, record storage.WaitingReport, artifacts []rules.Artifact, tree *rules.Tree, changes []rules.Change, token string) rules.Snapshot {
	made := rules.Snapshot{
		Org:          record.Org,
		Environment:  record.Environment,
		Number:       head.Last + 1,
		Timestamp:    max(record.AcceptedAt, head.Timestamp+tick),
		Type:         record.Type,
		Root:         tree.Root,
		Counts:       rules.Count(artifacts),
		Changes:      changes,
		EventsBefore: head.Events,
		Arrival:      record.Arrival,
		Report:       record.ID,
		Digest:       record.Digest,
		Token:        token,
		ReportedBy:   record.ReportedBy,
		ReportedAt:   record.AcceptedAt,
	}
	made.Events = int64(len(made.EventsOf(changes)))
	return made
}

// adopt finishes the snapshot that was made behind the head's back, by another
// worker or by one that was killed, and brings the head to it.
func (p *Processor) adopt(ctx context.Context, h *held) (rules.Snapshot, error) {
	head := h.current()
	found, err := p.store.Snapshots.Get(ctx, head.Environment, head.Last+1)
	if err != nil {
		return found, err
	}
	changes, err := p.store.Snapshots.Changes(ctx, &found)
	if err != nil {
		return found, err
	}
	if err := p.finish(ctx, &found, changes); err != nil {
		return found, err
	}
	return found, p.commit(ctx, h, func(head *rules.Head) {
		head.Advance(&found)
		head.Settle(found.Arrival, rules.Outcome{Report: found.Report, Snapshot: found.Number})
	})
}

// finish writes what follows from a snapshot. It can be repeated.
func (p *Processor) finish(ctx context.Context, made *rules.Snapshot, changes []rules.Change) error {
	var exited []string
	for _, change := range changes {
		if change.Type == rules.Exited {
			exited = append(exited, change.Fingerprint)
		}
	}
	if err := p.store.Running.Stop(ctx, made.Environment, exited); err != nil {
		return err
	}
	return p.store.Events.Record(ctx, made.EventsOf(changes))
}

func (p *Processor) announceStarting(ctx context.Context, head *rules.Head, changes []rules.Change) error {
	var starting []storage.Running
	for _, change := range changes {
		if !change.Type.Started() {
			continue
		}
		starting = append(starting, storage.Running{
			Org:         head.Org,
			Environment: head.Environment,
			Fingerprint: change.Fingerprint,
			Since:       head.Last + 1,
		})
	}
	return p.store.Running.Start(ctx, starting)
}
