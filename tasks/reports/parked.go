package reports

import (
	"context"
	"errors"
	"strconv"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

// ErrStillParking reports that a worker is still parking a report, which takes seconds once the stores answer.
var ErrStillParking = errors.New("the report is still being parked, try again")

// Parked lists waiting reports, and retries and discards parked ones, for an operator.
type Parked struct {
	store  *app.Store
	intake *Intake
}

// NewParked makes a Parked. It needs no queue: the sweep enqueues what is retried.
func NewParked(store *app.Store, clock evidence.Clock) *Parked {
	return &Parked{store: store, intake: NewIntake(store, nil, nil, clock, 0)}
}

// Waiting returns a page of waiting reports, the oldest first, and the cursor of the next page, with two commands. A
// report that a worker has begun is leased; one with a failed attempt has failed.
func (p *Parked) Waiting(ctx context.Context, now float64, after string) ([]job.Entry, string, error) {
	refs, next, err := p.store.Reports.AcceptedBefore(ctx, now, after)
	if err != nil {
		return nil, "", err
	}
	heads, err := p.store.Heads.GetMany(ctx, environmentsOf(refs))
	if err != nil {
		return nil, "", err
	}
	entries := make([]job.Entry, 0, len(refs))
	for _, ref := range refs {
		head := heads[ref.Environment]
		if ref.Arrival > head.Processed {
			entries = append(entries, entryOf(ref, &head))
		}
	}
	return entries, next, nil
}

func entryOf(ref environments.ReportRef, head *snapshot.Head) job.Entry {
	status := job.Status{Due: ref.AcceptedAt}
	if head.Attempt.Arrival == ref.Arrival {
		status.Lease, status.Tried, status.Reason = head.Lease, head.Attempt.Count, head.Attempt.Reason
	}
	return status.Entry(kindOf(ref.Repeat), head.Org, ref.Environment+"/"+strconv.FormatInt(ref.Arrival, 10))
}

// CountJobs counts reports and evaluations by stage, with four commands. It finds leased and failed ones only
// on the first page of Waiting.
func (p *Parked) CountJobs(ctx context.Context) (map[job.Stage]int64, error) {
	waiting, parked, err := p.store.Reports.Counts(ctx)
	if err != nil {
		return nil, err
	}
	oldest, _, err := p.Waiting(ctx, evidence.Seconds(p.intake.clock()), "")
	counts := map[job.Stage]int64{job.Leased: 0, job.Failed: 0, job.Parked: parked}
	for i := range oldest {
		if oldest[i].Stage != job.Waiting {
			counts[oldest[i].Stage]++
		}
	}
	counts[job.Waiting] = max(0, waiting-counts[job.Leased]-counts[job.Failed])
	return counts, err
}

// Retry puts a parked report at the end of its environment's queue, with fresh attempts, and returns its new arrival
// number. It keeps its time: its snapshot begins then, or right after the last one. If the process is killed in
// between, the parked report stays. If it is queued twice, the second one changes nothing. storage.ErrDamaged means
// unreadable content, storage.ErrArchived an archived environment.
func (p *Parked) Retry(ctx context.Context, parked *environments.WaitingReport) (arrival int64, err error) {
	processed, err := p.processed(ctx, parked)
	if err != nil {
		return 0, err
	}
	environment, err := p.store.Environments.Get(ctx, parked.Environment)
	if err != nil {
		return 0, err
	}
	if environment.Archived {
		return 0, storage.ErrArchived
	}
	report, err := p.store.Reports.Unpack(ctx, parked)
	if err != nil {
		return 0, err
	}
	fresh := environments.WaitingReport{ReportRecord: parked.ReportRecord}
	fresh.ID = environments.NewReportID()
	// It gets a new object, as that of the parked report is deleted with it.
	if err := p.store.Reports.Pack(ctx, &fresh, &report); err != nil {
		return 0, err
	}
	if err := p.intake.insert(ctx, &fresh, &report, processed); err != nil {
		return 0, err
	}
	return fresh.Arrival, p.store.Reports.Remove(ctx, *parked)
}

// Discard deletes a parked report for good.
func (p *Parked) Discard(ctx context.Context, parked *environments.WaitingReport) error {
	if _, err := p.processed(ctx, parked); err != nil {
		return err
	}
	return p.store.Reports.Remove(ctx, *parked)
}

// processed returns the environment's last processed or parked arrival number. It fails with ErrStillParking if that
// is before the parked report: without the report there would be a gap, at which workers stop.
func (p *Parked) processed(ctx context.Context, parked *environments.WaitingReport) (int64, error) {
	head, err := p.store.Heads.Get(ctx, parked.Environment)
	if err == nil && head.Processed < parked.Arrival {
		err = ErrStillParking
	}
	return head.Processed, err
}
