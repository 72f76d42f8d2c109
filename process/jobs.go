package process

import (
	"context"
	"strconv"

	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/storage/environments"
	"attestry/tasks/reports"
)

// JobPages returns functions that read pages of work: for each kind first the work to be done, then the parked work.
func (p *Process) JobPages() []func(ctx context.Context, after string) ([]job.Entry, string, error) {
	now := evidence.Seconds(p.Clock())
	pages := []func(context.Context, string) ([]job.Entry, string, error){
		func(ctx context.Context, after string) ([]job.Entry, string, error) {
			return reports.NewParked(p.Store, p.Clock).Waiting(ctx, now, after)
		},
		p.parkedReports,
	}
	for _, jobs := range []func(context.Context, bool, string) ([]job.Entry, string, error){
		p.Store.Outbox.Jobs, p.Store.Deliveries.Jobs, p.Store.Assemblies.Jobs,
	} {
		for _, parked := range []bool{false, true} {
			pages = append(pages, func(ctx context.Context, after string) ([]job.Entry, string, error) { return jobs(ctx, parked, after) })
		}
	}
	return pages
}

func (p *Process) parkedReports(ctx context.Context, after string) ([]job.Entry, string, error) {
	records, next, err := p.Store.Reports.Parked(ctx, after)
	return evidence.Map(records, func(record environments.WaitingReport) job.Entry {
		status := job.Status{Parked: record.ParkedAt, Tried: record.Attempts, Reason: record.Failure}
		return status.Entry(&job.Report, record.Org, record.Environment+"/"+strconv.FormatInt(record.Arrival, 10))
	}), next, err
}
