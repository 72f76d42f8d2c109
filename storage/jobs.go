package storage

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/job"
)

// StageIndex is the index of the work that is leased, has failed or is parked. Waiting work is not in it.
var StageIndex = Index{Name: "stage", Fields: []string{"stage"}, Required: "stage"}

// SetStage adds the field of StageIndex.
func SetStage(fields map[string]any, status *job.Status) map[string]any {
	if stage := status.Stage(); stage != "" && stage != job.Waiting {
		fields["stage"] = string(stage)
	}
	return fields
}

// jobPage is how many documents Jobs reads with one command.
const jobPage = 100

// JobList is a collection of work, which it lists and counts.
type JobList[T any] struct {
	Collection[T]
	due      string
	describe func(*T) job.Entry
}

// NewJobList makes the list of a collection whose index due has the work that is to be done.
func NewJobList[T any](collection Collection[T], due string, describe func(*T) job.Entry) JobList[T] {
	return JobList[T]{Collection: collection, due: due, describe: describe}
}

// Update changes work and returns it, or ErrNotFound.
func (l JobList[T]) Update(ctx context.Context, id string, change func(*T)) (T, error) {
	return l.Collection.Update(ctx, id, WithoutError(change))
}

// Jobs returns a page of the parked work, or of the work that is to be done, and the cursor of the next page.
func (l JobList[T]) Jobs(ctx context.Context, parked bool, after string) ([]job.Entry, string, error) {
	query := Query{Index: l.due, From: &Bound{Value: 0.0}, After: after, Limit: jobPage}
	if parked {
		query = Query{Index: StageIndex.Name, Equal: []any{string(job.Parked)}, After: after, Limit: jobPage}
	}
	found, next, err := l.Find(ctx, query)
	return evidence.Map(found, func(work T) job.Entry { return l.describe(&work) }), next, err
}

// CountJobs counts the work by its stage: four commands.
func (l JobList[T]) CountJobs(ctx context.Context) (map[job.Stage]int64, error) {
	all, err := l.Collection.Count(ctx, Query{Index: l.due, From: &Bound{Value: 0.0}})
	if err != nil {
		return nil, err
	}
	counts := map[job.Stage]int64{}
	for _, stage := range []job.Stage{job.Leased, job.Failed, job.Parked} {
		if counts[stage], err = l.Collection.Count(ctx, Query{Index: StageIndex.Name, Equal: []any{string(stage)}}); err != nil {
			return nil, err
		}
	}
	counts[job.Waiting] = max(0, all-counts[job.Leased]-counts[job.Failed])
	return counts, nil
}
