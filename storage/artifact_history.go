package storage

import (
	"context"

	"attestry/evidence/snapshot"
)

// Receipt says that an attestation of an artifact came in.
type Receipt struct {
	ID, Name string
	Trail    string // key
	// Fingerprint is that of the artifact.
	Fingerprint string
	Time        float64 // Unix seconds
}

// Received returns what was attested of fingerprints in a flow, at most MaxMany
// attestations, in no certain order: one command. What was attested by an
// artifact's name is not among it.
func (a *Attestations) Received(ctx context.Context, org, flow string, fingerprints []string) ([]Receipt, error) {
	if len(fingerprints) == 0 {
		return nil, nil
	}
	entries, _, err := a.collection.FindFields(ctx, Query{
		Index: "flow_fingerprint", Equal: []any{org, flow, in(fingerprints)}, Limit: MaxMany,
	})
	if err != nil {
		return nil, err
	}
	receipts := make([]Receipt, 0, len(entries))
	for _, entry := range entries {
		receipt := Receipt{ID: entry.ID}
		receipt.Name, _ = entry.Fields["name"].(string)
		receipt.Trail, _ = entry.Fields["trail"].(string)
		receipt.Fingerprint, _ = entry.Fields["fingerprint"].(string)
		receipt.Time, _ = entry.Fields["time"].(float64)
		receipts = append(receipts, receipt)
	}
	return receipts, nil
}

// FindMany returns where fingerprints run in an organization, at most MaxMany
// places: one command.
func (r *RunningSet) FindMany(ctx context.Context, org string, fingerprints []string) ([]Running, error) {
	if len(fingerprints) == 0 {
		return nil, nil
	}
	found, _, err := r.collection.Find(ctx, Query{
		Index: "fingerprint", Equal: []any{org, in(fingerprints)}, Limit: MaxMany,
	})
	return found, err
}

// Beginning returns the fingerprints that run in an organization and begin with
// hex digits. ErrAmbiguous tells that these are too many.
func (r *RunningSet) Beginning(ctx context.Context, org, digits string) ([]string, error) {
	found, err := alike(ctx, r.collection, Query{Index: "fingerprint", Equal: []any{org}}, "fingerprint", digits)
	return valuesOf(found, "fingerprint"), err
}

// Starts returns the snapshots in which what runs began to run, by environment and
// number: one command for a thousand. Those that are not there yet are left out.
func (s *Snapshots) Starts(ctx context.Context, runs []Running) (map[SnapshotRef]snapshot.Snapshot, error) {
	ids := make([]string, 0, len(runs))
	seen := make(map[SnapshotRef]bool, len(runs))
	for _, run := range runs {
		if ref := run.Start(); !seen[ref] {
			seen[ref] = true
			ids = append(ids, snapshotID(ref.Environment, ref.Number))
		}
	}
	found, err := s.collection.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	starts := make(map[SnapshotRef]snapshot.Snapshot, len(found))
	for _, made := range found {
		starts[SnapshotRef{Environment: made.Environment, Number: made.Number}] = made
	}
	return starts, nil
}

// SnapshotRef names a snapshot.
type SnapshotRef struct {
	Environment string // id
	Number      int64
}

// Start names the snapshot in which the artifact began to run.
func (r *Running) Start() SnapshotRef {
	return SnapshotRef{Environment: r.Environment, Number: r.Since}
}
