package reports

import (
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/evidence/snapshot"
	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/environments"
)

// maxBatch is how many writes fit into one batch with the up to three writes of commitHead.
const maxBatch = storage.MaxMany - 3

// commitResult writes the result of a report, nearly always with one batch. storage.ErrExists means that the number of
// the snapshot is taken. Then no effect of the snapshot was written.
func (p *Processor) commitResult(ctx context.Context, h *lease, report *pending, result *snapshot.Result) error {
	if result.Snapshot == nil {
		batch, err := p.scaling(ctx, result)
		if err != nil {
			return err
		}
		return p.commitHead(ctx, h, batch, report, result)
	}
	made := result.Snapshot
	batch, included, err := p.snapshotBatch(ctx, result)
	if err != nil {
		return err
	}
	commitHead := func(batch *storage.Batch) error { return p.commitHead(ctx, h, batch, report, result) }
	if included || batch.Len() > maxBatch {
		err = p.writeInParts(ctx, batch, made, commitHead)
	} else if err = commitHead(batch); err == nil { // logical environments that now include the environment follow
		err = p.logical.Follow(ctx, made)
	}
	return p.withdrawIfLost(ctx, err, made.Environment, slices.Concat(report.announced, byRepo(&result.Effects)))
}

// snapshotBatch returns a snapshot with its effects as a batch, and whether logical environments may include its
// environment.
func (p *Processor) snapshotBatch(ctx context.Context, result *snapshot.Result) (batch *storage.Batch, included bool, err error) {
	made, effects := result.Snapshot, &storage.Batch{}
	var reads goroutine.Group
	reads.Go(func() error { return p.addEffects(ctx, effects, made, &result.Effects) })
	reads.Go(func() error {
		including, err := p.store.Environments.Including(ctx, made.Org, made.Environment)
		included = err != nil || len(including) > 0 // the update of logical environments gets the error again, and logs it
		return nil
	})
	// The worker that adopts a killed worker's snapshot cannot compute its scaling. So the scaling is stored first.
	batch, err = p.scaling(ctx, result)
	if err := errors.Join(err, reads.Wait()); err != nil {
		return nil, false, err
	}
	p.store.Snapshots.InsertIn(batch, made, result.Chunks)
	p.store.Snapshots.Forget(result.Superseded)
	batch.Append(effects)
	return batch, included, nil
}

// scaling returns the writes for the numbers of instances that the report changed.
func (p *Processor) scaling(ctx context.Context, result *snapshot.Result) (*storage.Batch, error) {
	batch, report := &storage.Batch{}, &result.Report
	var err error
	if len(result.Scaled.Artifacts) > 0 {
		err = p.store.Outbox.EnqueueIn(ctx, batch, notification.ScaledEvent(report.Org, report.ID, report.AcceptedAt, result.Scaled))
	}
	if result.Scaling != nil {
		p.store.Scalings.PutIn(batch, report.Environment, report.Arrival, result.Scaling)
	}
	return batch, err
}

func (p *Processor) addEffects(ctx context.Context, batch *storage.Batch, made *snapshot.Snapshot, effects *snapshot.Effects) error {
	var ended []string
	events := &storage.Batch{}
	var reads goroutine.Group
	reads.Go(func() (err error) {
		ended, err = p.store.Running.Ended(ctx, made.Environment, effects.Exited, made.Number)
		return err
	})
	reads.Go(func() error {
		return p.store.Outbox.EnqueueIn(ctx, events, notification.SnapshotEvent(made.Org, made.Environment, made.Number, made.Timestamp))
	})
	reads.Go(func() error {
		return p.store.Deployments.KeepStarts(ctx, made.Number, effects.Deployments, effects.Learned)
	})
	if err := reads.Wait(); err != nil {
		return err
	}
	p.store.Running.DeleteIn(batch, ended...)
	p.store.Running.AddIn(batch, byRepo(effects)...)
	p.store.Events.RecordIn(batch, effects.Events)
	p.store.Deployments.RecordIn(batch, effects.Deployments, effects.Learned)
	p.store.Successions.AddIn(batch, effects.Successions...)
	p.store.FirstSeen.AddIn(batch, effects.FirstSeen...)
	p.store.TrailEvents.AddIn(batch, effects.TrailEvents...)
	batch.Append(events)
	return nil
}

// byRepo returns the entries of the running set for the repositories of changed artifacts.
func byRepo(effects *snapshot.Effects) []environments.Running {
	return evidence.Map(effects.ByRepo, func(d snapshot.Deployment) environments.Running {
		return environments.Running{
			Org: d.Org, Environment: d.Environment, Fingerprint: d.Fingerprint, Since: d.Snapshot,
			Repo: d.Repo, Name: d.Name, StartedAt: d.Timestamp,
		}
	})
}

// writeInParts writes a batch, then updates logical environments, then writes the head.
func (p *Processor) writeInParts(ctx context.Context, batch *storage.Batch, made *snapshot.Snapshot, commitHead func(*storage.Batch) error) error {
	if err := batch.Write(ctx, p.store.Documents); err != nil {
		return err
	}
	if err := p.logical.Follow(ctx, made); err != nil {
		return err
	}
	return commitHead(&storage.Batch{})
}

// commitHead writes the result of a report into the head, and removes the report after that. It
// renews the lease or, at the last report, releases it. before is written before the head.
func (p *Processor) commitHead(ctx context.Context, h *lease, before *storage.Batch, report *pending, result *snapshot.Result) error {
	removal := &storage.Batch{}
	p.store.Reports.RemoveIn(removal, &report.WaitingReport)
	if head := h.current(); result.ScaledAt != nil && *result.ScaledAt != head.Scaled {
		p.store.Scalings.RemoveIn(removal, &head)
	}
	return p.commitWith(ctx, h, before, func(head *snapshot.Head) {
		result.ApplyTo(head)
		if report.last {
			clearLease(head)
			return
		}
		head.Lease = job.Report.NewLease(h.holder, evidence.Seconds(p.clock()))
		head.Attempt = snapshot.Attempt{Arrival: report.Arrival + 1, Count: 1}
	}, removal)
}

// adoptCommitted completes a snapshot that another worker stored without advancing the head, and advances the head.
func (p *Processor) adoptCommitted(ctx context.Context, h *lease) (snapshot.Snapshot, error) {
	found, effects, err := p.loadCommitted(ctx, h.current())
	if err != nil {
		return found, err
	}
	batch := &storage.Batch{}
	if err := p.addEffects(ctx, batch, &found, &effects); err != nil {
		return found, err
	}
	err = p.writeInParts(ctx, batch, &found, func(*storage.Batch) error {
		return p.commit(ctx, h, func(head *snapshot.Head) { head.Adopt(&found) })
	})
	return found, p.withdrawIfLost(ctx, err, found.Environment, byRepo(&effects))
}

// withdrawIfLost withdraws entries of the running set if the lease was lost before the head was written. A paused
// worker may have written them after others made later snapshots. If its write of the head succeeds, there are no later
// ones: before another worker makes one, it advances the head to this snapshot, and then this write is refused.
func (p *Processor) withdrawIfLost(ctx context.Context, cause error, environment string, entries []environments.Running) error {
	if cause == nil || !errors.Is(cause, errLeaseLost) && !errors.Is(context.Cause(ctx), errLeaseLost) {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), job.Report.Lease)
	defer cancel()
	return errors.Join(cause, p.withdraw(ctx, environment, entries))
}

// withdraw removes the entries of the running set whose artifacts have exited or never ran. It reads the latest
// snapshot after the entries were written: the snapshot of an exit either removed them, or was made before and is read
// here. Entries for a later snapshot stay, as its worker writes the same.
func (p *Processor) withdraw(ctx context.Context, environment string, entries []environments.Running) error {
	if len(entries) == 0 {
		return nil
	}
	latest, err := p.store.Snapshots.Last(ctx, environment)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(entry environments.Running) bool { return entry.Since > latest.Number })
	if len(entries) == 0 {
		return nil
	}
	artifacts, err := p.store.Snapshots.Artifacts(ctx, &latest)
	if err != nil {
		return err
	}
	running := snapshot.ByFingerprint(artifacts)
	ended := map[int64][]string{}
	for _, entry := range entries {
		if running[entry.Fingerprint].Since != entry.Since {
			ended[entry.Since] = append(ended[entry.Since], entry.Fingerprint)
		}
	}
	for since, fingerprints := range ended {
		if err := p.store.Running.Stop(ctx, environment, fingerprints, since+1); err != nil {
			return err
		}
	}
	return nil
}
