package pipelines

import (
	"context"
	"slices"

	"attestry/storage"
)

// Traces are the records that a search has found.
type Traces struct {
	// Fingerprints and Commits are the different ones found, sorted.
	Fingerprints, Commits []string
	// Records are the ids of the newest record of each fingerprint in each flow, newest first.
	Records []string
}

// Search finds the records of an organization whose fingerprint or commit begins with hex digits. ErrAmbiguous means
// that these are too many. Of what was reported over and over, it looks at the newest thousand reports.
func (a *Artifacts) Search(ctx context.Context, org, digits string) (Traces, error) {
	byFingerprint, err := storage.FindByPrefix(ctx, a.Collection, storage.Query{Index: "fingerprint", Equal: []any{org}}, "fingerprint", digits)
	if err != nil {
		return Traces{}, err
	}
	byCommit, err := storage.FindByPrefix(ctx, a.Collection, storage.Query{Index: "commit", Equal: []any{org}}, "commit", digits)
	if err != nil {
		return Traces{}, err
	}
	traces := Traces{Fingerprints: storage.DistinctValues(byFingerprint, "fingerprint"), Commits: storage.DistinctValues(byCommit, "commit")}
	if len(traces.Fingerprints)+len(traces.Commits) > storage.MaxPrefixMatches {
		return Traces{}, storage.ErrAmbiguous
	}
	entries := append(byFingerprint, byCommit...)
	slices.SortFunc(entries, func(a, b storage.Record) int { return compareCreated(b, a) })
	traces.Records = storage.RecordIDs(storage.FirstOfEach(entries, func(entry storage.Record) [2]any {
		return [2]any{entry.Fields["flow"], entry.Fields["fingerprint"]}
	}))
	return traces, nil
}
