package reports

import (
	"context"
	"slices"

	rules "attestry/evidence/snapshot"
	"attestry/storage/environments"
)

// withdraw takes back entries of what has exited since, or never ran. It looks after they were
// put. Whoever makes the snapshot with which something exits has found the entries that were
// there before, and removes them behind the snapshot: one of the two sees the other. Entries
// for a snapshot that is not there stay: whoever makes it puts the same.
func (p *Processor) withdraw(ctx context.Context, environment string, entries []environments.Running) error {
	if len(entries) == 0 {
		return nil
	}
	number, err := p.store.Snapshots.Latest(ctx, environment)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(entry environments.Running) bool { return entry.Since > number })
	if len(entries) == 0 {
		return nil
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
