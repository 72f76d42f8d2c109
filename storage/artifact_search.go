package storage

import (
	"context"
	"slices"
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
	byFingerprint, err := FindByPrefix(ctx, a.Collection, Query{Index: "fingerprint", Equal: []any{org}}, "fingerprint", digits)
	if err != nil {
		return Traces{}, err
	}
	byCommit, err := FindByPrefix(ctx, a.Collection, Query{Index: "commit", Equal: []any{org}}, "commit", digits)
	if err != nil {
		return Traces{}, err
	}
	traces := Traces{Fingerprints: DistinctValues(byFingerprint, "fingerprint"), Commits: DistinctValues(byCommit, "commit")}
	if len(traces.Fingerprints)+len(traces.Commits) > MaxPrefixMatches {
		return Traces{}, ErrAmbiguous
	}
	traces.Records = newestOfEach(append(byFingerprint, byCommit...))
	return traces, nil
}

// newestOfEach returns the ids of the newest entry of each fingerprint in each
// flow, newest first.
func newestOfEach(entries []Record) []string {
	slices.SortFunc(entries, func(a, b Record) int { return compareCreated(b, a) })
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
