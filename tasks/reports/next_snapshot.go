package reports

import (
	"context"
	"errors"
	"maps"

	"attestry/evidence/job"
	rules "attestry/evidence/snapshot"
	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/environments"
)

// nextSnapshot is a snapshot that is about to be stored.
type nextSnapshot struct {
	made rules.Snapshot
	// last is the tree of the snapshot before.
	last *rules.Tree
	// environment is the name of the environment.
	environment string
	artifacts   []rules.Artifact
	changes     []rules.Change
	// before are the artifacts of the snapshot before, by fingerprint.
	before map[string]rules.Artifact
	// significant tells that the changes call for a snapshot.
	significant bool
	// announced are the entries for what starts with the snapshot.
	announced []environments.Running
}

// complete sums the artifacts and the changes up in the snapshot. It returns the chunks that
// the snapshot does not share with the last one, and the ids of those that only the last one has.
func (n *nextSnapshot) complete() (chunks map[string]rules.Chunk, superseded []string, err error) {
	tree := n.last.Next(n.artifacts)
	difference, err := tree.Compare(n.last.Root, n.last.Fetch)
	if err != nil {
		return nil, nil, err
	}
	n.made.Root, n.made.Changes = tree.Root, n.changes
	n.made.Sum(n.artifacts)
	n.made.Events = rules.CountEvents(n.changes)
	chunks = difference.Chunks
	if !rules.Inline(n.changes) {
		hung := rules.NewChangeTree(n.changes)
		n.made.Changes, n.made.ChangesRoot = nil, hung.Root
		maps.Copy(chunks, hung.Chunks)
	}
	return chunks, difference.Superseded, nil
}

// storeNext stores a snapshot, what follows from it and the outcome of its report. Nearly always
// that is one batch. storage.ErrExists tells that the number of the snapshot is taken; then
// nothing behind it was written.
func (p *Processor) storeNext(ctx context.Context, h *lease, record *pending, next *nextSnapshot) error {
	chunks, superseded, err := next.complete()
	if err != nil {
		return err
	}
	made := &next.made
	e := effectsOf(made, next.changes, next.artifacts, next.environment)
	included := false
	var reads goroutine.Group
	reads.Go(func() (err error) {
		e.ended, err = p.store.Running.Ended(ctx, made.Environment, e.exited, made.Number)
		return err
	})
	reads.Go(func() error {
		including, err := p.store.Environments.Including(ctx, made.Org, made.Environment)
		included = err != nil || len(including) > 0 // Follow meets the error again, and logs it
		return nil
	})
	told := &storage.Batch{}
	reads.Go(func() error { return p.store.Outbox.AddSnapshotIn(ctx, told, made) })
	scaled, scaling, err := p.scale(ctx, h, record, next)
	if err := errors.Join(err, reads.Wait()); err != nil {
		return err
	}
	batch := &storage.Batch{}
	// Whoever finishes a snapshot cannot tell what was scaled: that is stored before it.
	batch.Append(scaling)
	p.store.Snapshots.InsertIn(batch, made, chunks)
	p.store.Snapshots.Forget(superseded)
	e.addTo(batch, p.store)
	batch.Append(told)
	settle := func(batch *storage.Batch) error {
		return p.settle(ctx, h, batch, record, result{snapshot: made, scaled: scaled})
	}
	if included || batch.Len() > maxBatch {
		err = p.writeInParts(ctx, batch, made, settle)
	} else {
		err = p.writeAtOnce(ctx, batch, made, settle)
	}
	return p.withdrawIfLost(ctx, err, made.Environment, append(next.announced, e.running...))
}

// maxBatch is how many writes are made together with that of the head, which takes up to two
// more. The lease is not renewed meanwhile.
const maxBatch = storage.MaxMany - 2

// writeAtOnce writes a batch together with the head. Logical environments that begin to include
// the environment at this moment are found behind that.
func (p *Processor) writeAtOnce(ctx context.Context, batch *storage.Batch, made *rules.Snapshot, settle func(*storage.Batch) error) error {
	if err := settle(batch); err != nil {
		return err
	}
	return p.logical.Follow(ctx, made)
}

// writeInParts writes a batch, then what logical environments make of it, then the head.
func (p *Processor) writeInParts(ctx context.Context, batch *storage.Batch, made *rules.Snapshot, settle func(*storage.Batch) error) error {
	if err := batch.Write(ctx, p.store.Documents); err != nil {
		return err
	}
	if err := p.logical.Follow(ctx, made); err != nil {
		return err
	}
	return settle(&storage.Batch{})
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
	environment, err := p.environment(ctx, head.Environment)
	if err != nil {
		return found, err
	}
	e := effectsOf(&found, changes, artifacts, environment.Name)
	if e.ended, err = p.store.Running.Ended(ctx, found.Environment, e.exited, found.Number); err != nil {
		return found, err
	}
	batch := &storage.Batch{}
	e.addTo(batch, p.store)
	if err := p.store.Outbox.AddSnapshotIn(ctx, batch, &found); err != nil {
		return found, err
	}
	err = p.writeInParts(ctx, batch, &found, func(*storage.Batch) error {
		return p.commit(ctx, h, func(head *rules.Head) {
			// The digest of an evaluation without a report is that of the report before.
			if head.Digest != found.Digest {
				head.Scaled = 0
			}
			head.Advance(&found)
			head.Settle(found.Arrival, rules.Outcome{Report: found.Report, Snapshot: found.Number})
		})
	})
	return found, p.withdrawIfLost(ctx, err, found.Environment, e.running)
}

// withdrawIfLost withdraws entries if an error tells that the lease was lost before the head was
// written: a worker that was halted may put them long after others have made later snapshots.
// Whoever makes a later snapshot brings the head to this one first. So if the head was written
// at the revision of the lease, nobody had made one before the entries were put.
func (p *Processor) withdrawIfLost(ctx context.Context, cause error, environment string, entries []environments.Running) error {
	if cause == nil || !errors.Is(cause, errLeaseLost) && !errors.Is(context.Cause(ctx), errLeaseLost) {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), job.Report.Lease)
	defer cancel()
	return errors.Join(cause, p.withdraw(ctx, environment, entries))
}
