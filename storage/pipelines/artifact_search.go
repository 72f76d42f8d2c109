package pipelines

import (
	"context"
	"slices"

	"attestry/storage"
)

// Traces are the records that a search has found, as the index tells of them.
type Traces struct {
	// Fingerprints and Commits are the different ones that were found, sorted.
	Fingerprints, Commits []string
	// Records are the ids of the newest record of each fingerprint in each flow,
	// newest first.
	Records []string
}

// Search finds what an organization knows of a fingerprint or commit that is, or
// begins with, the given hex digits. ErrAmbiguous tells that these are too many.
// Of what was reported over and over, the newest thousand reports are looked at.
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
	traces.Records = newestOfEach(append(byFingerprint, byCommit...))
	return traces, nil
}

// newestOfEach returns the ids of the newest entry of each fingerprint in each
// flow, newest first.
func newestOfEach(entries []storage.Record) []string {
	slices.SortFunc(entries, func(a, b storage.Record) int { return compareCreated(b, a) })
	type place struct{ flow, fingerprint any }
	seen := map[place]bool{}
	var ids []string
	for _, entry := range entries {
		at := place{entry.Fields["flow"], entry.Fields["fingerprint"]}
		if !seen[at] {
			seen[at] = true
			ids = append(ids, entry.ID)
		}
	}
	return ids
}
