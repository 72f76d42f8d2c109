package reports

import (
	"context"
	"errors"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/cache"
	"attestry/storage/environments"
)

// MaxWait bounds how long the answer to a report waits for the verdict.
const MaxWait = 10 * time.Second

// touchInterval is how often the time of the last report is written while nothing changes, in seconds.
const touchInterval = 1.0

// Dispatcher enqueues tasks. It never blocks.
type Dispatcher interface {
	Dispatch(ctx context.Context, kind *job.Kind, environment string, arrival int64)
	Unreachable() bool
}

// kindOf returns the kind of job of a report, or of an evaluation without a report.
func kindOf(evaluation bool) *job.Kind {
	if evaluation {
		return &job.Evaluate
	}
	return &job.Report
}

// Waiters registers callers that wait until reports of an environment are processed.
type Waiters interface {
	Register(environment string) (wake <-chan struct{}, leave func(), ok bool)
}

// Intake accepts reports: it stores them, enqueues their tasks, and waits for their verdicts.
type Intake struct {
	store      *app.Store
	dispatcher Dispatcher
	waiters    Waiters
	clock      evidence.Clock
	wait       time.Duration
	arrivals   *arrivals
}

// NewIntake makes an intake whose callers wait at most wait for a verdict. Without a dispatcher and waiters no call
// waits, and the sweep enqueues the tasks.
func NewIntake(store *app.Store, dispatcher Dispatcher, waiters Waiters, clock evidence.Clock, wait time.Duration) *Intake {
	return &Intake{
		store: store, dispatcher: dispatcher, waiters: waiters, clock: clock, wait: min(wait, MaxWait),
		arrivals: &arrivals{reports: store.Reports, queues: cache.NewShared(func() *queue { return new(queue) })},
	}
}

// Submission is a report that was sent.
type Submission struct {
	Org         string
	Environment string // id
	ReportedBy  string
	Report      snapshot.Report
	// Digest is that of the report, or "" if the caller has not computed it.
	Digest string
	// Stored, unless nil, is called once the report is durable and before its verdict is waited for.
	Stored func()
}

// Accept accepts a report and returns its verdict: Waiting if it was not processed in time. Once Accept returns without
// an error, the report is durable or changes nothing. A report that is too large to be stored is evidence.TooLarge.
func (i *Intake) Accept(ctx context.Context, s Submission) (snapshot.Verdict, error) {
	if _, err := s.Report.Size(); err != nil {
		return snapshot.Waiting, err
	}
	if s.Digest == "" {
		s.Digest = s.Report.Digest()
	}
	now := evidence.Seconds(i.clock())
	processed, same, err := i.confirmUnchanged(ctx, s.Environment, s.Digest, now)
	if err != nil {
		return snapshot.Waiting, err
	}
	if same {
		return snapshot.NoChange, nil
	}
	record := environments.WaitingReport{ReportRecord: snapshot.ReportRecord{
		ID: environments.NewReportID(), Org: s.Org, Environment: s.Environment, AcceptedAt: now, ReportedBy: s.ReportedBy,
		Type: s.Report.Type, Digest: s.Digest,
	}}
	if err := i.store.Reports.Pack(ctx, &record, &s.Report); err != nil {
		return snapshot.Waiting, err
	}
	return i.submit(ctx, &record, &s, processed)
}

// Unchanged reports whether Accept would return snapshot.NoChange for a digest, and if so stores the report's time.
func (i *Intake) Unchanged(ctx context.Context, environment, digest string) (bool, error) {
	_, same, err := i.confirmUnchanged(ctx, environment, digest, evidence.Seconds(i.clock()))
	return same, err
}

// Reevaluate requests another evaluation of the last snapshot's artifacts, after the waiting reports, and waits as
// Accept does. by is the user who caused it. Once it returns without an error, the request is durable.
func (i *Intake) Reevaluate(ctx context.Context, org, environment string, kind evidence.EnvironmentType, by string) error {
	_, err := i.reevaluate(ctx, org, environment, kind, by)
	return err
}

// reevaluate is Reevaluate, and returns the task of the request.
func (i *Intake) reevaluate(ctx context.Context, org, environment string, kind evidence.EnvironmentType, by string) (job.Ref, error) {
	head, err := i.store.Heads.Get(ctx, environment)
	if err != nil {
		return job.Ref{}, err
	}
	record := environments.WaitingReport{ReportRecord: snapshot.ReportRecord{
		ID: environments.NewReportID(), Org: org, Environment: environment, AcceptedAt: evidence.Seconds(i.clock()),
		ReportedBy: by, Type: kind, Repeat: true,
	}}
	_, err = i.submit(ctx, &record, &Submission{}, head.Processed)
	return job.EnvironmentRef(&job.Evaluate, environment, record.Arrival), err
}

// submit stores a record, enqueues its task, and waits for its verdict.
func (i *Intake) submit(ctx context.Context, record *environments.WaitingReport, s *Submission, processed int64) (snapshot.Verdict, error) {
	if i.waiters == nil {
		return snapshot.Waiting, i.insert(ctx, record, &s.Report, processed)
	}
	wake, leave, willWake := i.waiters.Register(record.Environment)
	defer leave()
	if err := i.insert(ctx, record, &s.Report, processed); err != nil {
		return snapshot.Waiting, err
	}
	i.dispatcher.Dispatch(ctx, kindOf(record.Repeat), record.Environment, record.Arrival)
	if s.Stored != nil {
		s.Stored()
	}
	if !willWake || i.dispatcher.Unreachable() {
		return snapshot.Waiting, nil
	}
	return i.await(ctx, wake, record.Environment, record.Arrival, i.wait), nil
}

// confirmUnchanged reports whether a report with that digest changes nothing, and if so stores its time. processed is
// the arrival number up to which all reports are processed.
func (i *Intake) confirmUnchanged(ctx context.Context, environment, digest string, now float64) (processed int64, same bool, err error) {
	stored, err := i.store.Heads.GetVersioned(ctx, environment)
	if err != nil {
		return 0, false, err
	}
	same, err = i.sameAsLast(ctx, &stored.Value, digest)
	if err == nil && same {
		same, err = i.confirm(ctx, stored, now)
	}
	return stored.Value.Processed, same, err
}

// sameAsLast reports whether a report equals the last one, none waits, and the generation is the last report's.
func (i *Intake) sameAsLast(ctx context.Context, head *snapshot.Head, digest string) (bool, error) {
	if head.Last == 0 || head.Digest != digest {
		return false, nil
	}
	waits, err := i.store.Reports.Exists(ctx, head.Environment, head.Processed+1)
	if err != nil || waits {
		return false, err
	}
	generation, err := i.store.Generations.Get(ctx, head.Org, head.Environment)
	return generation == head.Generation, err
}

// confirm writes the time of the last report, at most once per touchInterval, and reports whether no report was
// processed since the head was read. If one was, it was waiting, and the last report is another one.
func (i *Intake) confirm(ctx context.Context, stored storage.Versioned[snapshot.Head], now float64) (bool, error) {
	head := stored.Value
	due := now-head.LastReportedAt >= touchInterval
	if due {
		head.LastReportedAt = now
		_, err := i.store.Heads.Replace(ctx, head, stored.Revision)
		if !errors.Is(err, storage.ErrMoved) {
			return err == nil, err
		}
	}
	current, err := i.store.Heads.Get(ctx, head.Environment)
	if err != nil || current.Processed != head.Processed || !due {
		return err == nil && current.Processed == head.Processed, err
	}
	_, err = i.store.Heads.Update(ctx, head.Environment, func(current *snapshot.Head) error {
		current.LastReportedAt = max(current.LastReportedAt, now)
		return nil
	})
	return err == nil, err
}

// insert stores the report under the next free arrival number. Workers only read numbers above Processed. So if
// Processed has reached the number without processing this report, the record is removed and inserted again under a
// later number. Its object is written again, too, as the sweep may have deleted it. A report that was processed and
// changed nothing leaves no outcome and may be inserted twice, which changes nothing either.
func (i *Intake) insert(ctx context.Context, record *environments.WaitingReport, report *snapshot.Report, processed int64) error {
	queue, release := i.arrivals.acquire(record.Environment)
	defer release()
	for {
		if err := i.arrivals.insert(ctx, queue, record, processed); err != nil {
			return err
		}
		head, err := i.store.Heads.Get(ctx, record.Environment)
		if err != nil {
			return err
		}
		if head.Processed < record.Arrival || head.HasOutcome(record.Arrival, record.ID) {
			return nil
		}
		if err := i.store.Reports.Remove(ctx, *record); err != nil {
			return err
		}
		if err := i.store.Reports.Pack(ctx, record, report); err != nil {
			return err
		}
		processed = head.Processed
	}
}

// CatchUp waits, at most span, until the reports that wait in an environment now are processed, so that a reader sees
// what was acknowledged before. It takes two commands if none waits.
func (i *Intake) CatchUp(ctx context.Context, environment string, span time.Duration) error {
	head, err := i.store.Heads.Get(ctx, environment)
	if err != nil {
		return err
	}
	waits, err := i.store.Reports.Exists(ctx, environment, head.Processed+1)
	if err != nil || !waits {
		return err
	}
	wake, leave, willWake := i.waiters.Register(environment)
	defer leave()
	if !willWake || i.dispatcher.Unreachable() {
		return nil
	}
	free, err := i.arrivals.firstFree(ctx, environment, head.Processed+1)
	if err != nil {
		return err
	}
	i.await(ctx, wake, environment, free-1, span)
	return nil
}

// await waits until the report is processed, time is up, the process stops, or the client disconnects. A message only
// wakes it: the verdict is read from the head. Messages can be lost, so the head is also read after 0.5 s and 2 s. It
// also ends when it then finds that Redis is unreachable, as after a failure to enqueue the task.
func (i *Intake) await(ctx context.Context, wake <-chan struct{}, environment string, arrival int64, span time.Duration) snapshot.Verdict {
	end, early, late := time.After(span), time.After(500*time.Millisecond), time.After(2*time.Second)
	for {
		over := false
		select {
		case <-ctx.Done():
			return snapshot.Waiting
		case _, more := <-wake:
			over = !more
		case <-early:
		case <-late:
		case <-end:
			over = true
		}
		head, err := i.store.Heads.Get(ctx, environment)
		if err != nil {
			return snapshot.Waiting
		}
		if verdict := head.VerdictOf(arrival); verdict != snapshot.Waiting || over || i.dispatcher.Unreachable() {
			return verdict
		}
	}
}
