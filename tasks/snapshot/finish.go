package snapshot

import (
	"context"

	rules "attestry/evidence/snapshot"
	"attestry/storage/environments"
)

// finish writes what follows from a snapshot. It can be repeated, and it can come
// late: nothing of it takes back what a later snapshot has written.
func (p *Processor) finish(ctx context.Context, made *rules.Snapshot, changes []rules.Change, artifacts []rules.Artifact) error {
	running := rules.ByFingerprint(artifacts)
	if err := p.updateRunning(ctx, made, changes, running); err != nil {
		return err
	}
	if err := p.store.Events.Record(ctx, made.EventsOf(changes, running)); err != nil {
		return err
	}
	if err := p.recordDeployments(ctx, made, changes, running); err != nil {
		return err
	}
	if err := p.addTrailEvents(ctx, made, changes, running); err != nil {
		return err
	}
	return p.logical.Follow(ctx, made)
}

// updateRunning ends what has exited, and lists what runs by its repositories.
func (p *Processor) updateRunning(ctx context.Context, made *rules.Snapshot, changes []rules.Change, running map[string]rules.Artifact) error {
	var exited []string
	var entries []environments.Running
	for _, change := range changes {
		if change.Type == rules.Exited {
			exited = append(exited, change.Fingerprint)
			continue
		}
		artifact := running[change.Fingerprint]
		for _, repo := range artifact.Repos() {
			entries = append(entries, environments.Running{
				Org: made.Org, Environment: made.Environment, Fingerprint: artifact.Fingerprint, Since: artifact.Since,
				Repo: repo, Name: artifact.Name, StartedAt: artifact.StartedAt,
			})
		}
	}
	if err := p.store.Running.Stop(ctx, made.Environment, exited, made.Number); err != nil {
		return err
	}
	if err := p.store.Running.Start(ctx, entries); err != nil {
		return err
	}
	return p.withdraw(ctx, made.Environment, made.Number, entries)
}

// withdraw takes back entries of what has exited since, or never ran: a worker that
// was halted may put them long after others have made later snapshots. It looks after
// they were put, as the exit is written after its snapshot: one of the two sees the
// other. All of them run by the snapshot of the given number, if there is one.
func (p *Processor) withdraw(ctx context.Context, environment string, by int64, entries []environments.Running) error {
	if len(entries) == 0 {
		return nil
	}
	number, err := p.store.Snapshots.Latest(ctx, environment)
	if err != nil || number == by {
		return err
	}
	latest, err := p.store.Snapshots.Get(ctx, environment, number)
	if err != nil {
		return err
	}
	artifacts, err := p.store.Snapshots.Artifacts(ctx, &latest)
	if err != nil {
		return err
	}
	running := rules.ByFingerprint(artifacts)
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

// recordDeployments records what newly runs, and of what runs on, what flows have
// learned of it since.
func (p *Processor) recordDeployments(ctx context.Context, made *rules.Snapshot, changes []rules.Change, running map[string]rules.Artifact) error {
	var fresh, learned []rules.Deployment
	var places []rules.Succession
	var sightings []rules.FirstSeen
	for _, change := range changes {
		artifact := running[change.Fingerprint]
		switch {
		case change.Type == rules.Exited || change.Type == rules.Unchanged:
			continue
		case change.Type.Started():
			sightings = append(sightings, rules.FirstSeen{
				Environment: made.Environment, Fingerprint: artifact.Fingerprint, At: made.Timestamp,
			})
		}
		all := made.Deployments(&artifact)
		if change.Learned {
			learned = append(learned, all[0])
		}
		fresh = append(fresh, all...)
		places = append(places, made.Successions(&artifact)...)
	}
	if err := p.store.Deployments.Record(ctx, fresh); err != nil {
		return err
	}
	if err := p.store.Deployments.Put(ctx, learned); err != nil {
		return err
	}
	if err := p.store.Successions.Record(ctx, places); err != nil {
		return err
	}
	return p.store.FirstSeen.Record(ctx, sightings)
}

// addTrailEvents adds to the trails of what began and ceased to run that it did.
func (p *Processor) addTrailEvents(ctx context.Context, made *rules.Snapshot, changes []rules.Change, running map[string]rules.Artifact) error {
	if !rules.ConcernTrails(changes, running) {
		return nil
	}
	found, err := p.store.Environments.GetMany(ctx, []string{made.Environment})
	if err != nil || len(found) == 0 {
		return err
	}
	return p.store.TrailEvents.Add(ctx, made.TrailEventsOf(changes, running, found[0].Name)...)
}
