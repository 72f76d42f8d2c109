package storage

import (
	"context"

	"attestry/evidence/job"
)

// StageIndex is the index of the work in a collection that a worker has, that has failed or is parked. Most work never
// waits there.
var StageIndex = Index{Name: "stage", Fields: []string{"stage"}, Required: "stage"}

// SetStage adds the field of StageIndex.
func SetStage(fields map[string]any, status *job.Status) map[string]any {
	if stage := status.Stage(); stage != "" && stage != job.Waiting {
		fields["stage"] = string(stage)
	}
	return fields
}

// FindJobs describes a page of the parked work in a collection, or of the work that is to be done, which is in the
// index due. It gives the cursor of the next page.
func FindJobs[T any](ctx context.Context, c Collection[T], due string, parked bool, after string, describe func(*T) job.Entry) ([]job.Entry, string, error) {
	query := Query{Index: due, From: &Bound{Value: 0.0}, After: after, Limit: jobPage}
	if parked {
		query = Query{Index: StageIndex.Name, Equal: []any{string(job.Parked)}, After: after, Limit: jobPage}
	}
	found, next, err := c.Find(ctx, query)
	entries := make([]job.Entry, 0, len(found))
	for i := range found {
		entries = append(entries, describe(&found[i]))
	}
	return entries, next, err
}

// jobPage is how many documents FindJobs reads with one command.
const jobPage = 100

// CountJobs counts the work in a collection by its stage: four commands. What is to be done is in the index due.
func CountJobs[T any](ctx context.Context, c Collection[T], due string) (map[job.Stage]int64, error) {
	all, err := c.Count(ctx, Query{Index: due, From: &Bound{Value: 0.0}})
	if err != nil {
		return nil, err
	}
	counts := map[job.Stage]int64{}
	for _, stage := range []job.Stage{job.Leased, job.Failed, job.Parked} {
		if counts[stage], err = c.Count(ctx, Query{Index: StageIndex.Name, Equal: []any{string(stage)}}); err != nil {
			return nil, err
		}
	}
	counts[job.Waiting] = max(0, all-counts[job.Leased]-counts[job.Failed])
	return counts, nil
}
