package reports_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/tasks/relay"
	"attestry/tasks/reports"
)

// afterInsert is an engine that calls meantime, once, after the report with the id was inserted.
type afterInsert struct {
	*staleHead
	id       string
	meantime func()
}

func (d *afterInsert) Write(ctx context.Context, writes ...storage.Write) error {
	err := d.staleHead.Write(ctx, writes...)
	inserted := writes[0].Kind == storage.WriteInsert && writes[0].Schema.Name == "reports" && writes[0].Record.ID == d.id
	if inserted && d.meantime != nil {
		meantime := d.meantime
		d.meantime = nil
		meantime()
	}
	return err
}

// bulky is a report that is too large for a document: it has a file with a very long name, besides others.
func bulky(others ...string) snapshot.Report {
	var name strings.Builder
	for i := range 10_000 {
		name.WriteString(fingerprint(strconv.Itoa(i))) // does not compress
	}
	return running(append(others, name.String())...)
}

// TestReportThatTheSweepDeletesAsProcessedKeepsItsContent sweeps after a large report was inserted with a number that
// is already processed, and before the intake notices that and inserts it with another number.
func TestReportThatTheSweepDeletesAsProcessedKeepsItsContent(t *testing.T) {
	var docs *afterInsert
	s := newScene(t, func(inner storage.Documents) storage.Documents {
		docs = &afterInsert{staleHead: &staleHead{Documents: inner}}
		return docs
	})
	s.accept(t, running("a"))
	s.drain(t)
	docs.freeze(t, s)
	s.accept(t, running("b"))
	s.drain(t)
	docs.show()
	docs.id = s.env + "/2"
	swept := false
	docs.meantime = func() {
		s.clock.Advance(minute)
		evidencetest.Check(t, reports.NewSweeper(s.store, noQueue{t}, s.clock.Now, quiet()).Sweep(t.Context()))
		_, err := s.store.Reports.Get(t.Context(), s.env, 2)
		swept = err != nil
	}
	other := reports.NewIntake(s.store, silent{}, silent{}, s.clock.Now, 0)
	_, err := other.Accept(t.Context(), reports.Submission{Org: "org", Environment: s.env, Report: bulky()})
	if err != nil || !swept {
		t.Fatalf("swept %v, %v", swept, err)
	}
	waiting, err := s.store.Reports.Get(t.Context(), s.env, 3)
	if err != nil || waiting.Object == "" {
		t.Fatalf("the report is not an object: %v", err)
	}
	s.drain(t)
	if head := s.head(t); head.Last != 3 || head.VerdictOf(3) != snapshot.Created {
		t.Errorf("head is %+v", head)
	}
	s.wantNoObjects(t)
}

// bodyCounter is an engine that adds up the bytes of the report bodies that queries return.
type bodyCounter struct {
	storage.Documents
	bytes int
}

func (d *bodyCounter) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	page, err := d.Documents.Find(ctx, schema, query)
	for _, record := range page.Records {
		if schema.Name == "reports" {
			d.bytes += len(record.Body)
		}
	}
	return page, err
}

// recordingQueue is a fake queue that records the environments of its tasks.
type recordingQueue struct {
	tasks, evaluations []string
	waiting            int
}

func (q *recordingQueue) Enqueue(_ context.Context, ref job.Ref, _ int64) error {
	if ref.Kind == &job.Evaluate {
		q.evaluations = append(q.evaluations, ref.Payload.Environment)
		return nil
	}
	q.tasks = append(q.tasks, ref.Payload.Environment)
	return nil
}

func (q *recordingQueue) Waiting(context.Context, string) (int, error) { return q.waiting, nil }

// TestSweepEnqueuesReportsAndEvaluationsSeparately has two evaluations and two reports wait in one environment. It gets
// a task in both queues, so that they are processed whichever queue is served.
func TestSweepEnqueuesReportsAndEvaluationsSeparately(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a"))
	s.drain(t)
	for _, name := range []string{"b", "c"} {
		evidencetest.Must(t, s.intake.Reevaluate(t.Context(), "org", s.env, evidence.Server, "me"))
		s.accept(t, running(name))
	}
	queue := &recordingQueue{}
	sweeper := reports.NewSweeper(s.store, queue, s.clock.Now, quiet())
	s.clock.Advance(minute)
	evidencetest.Must(t, sweeper.Sweep(t.Context()))
	if got, want := fmt.Sprint(queue.tasks, queue.evaluations), fmt.Sprint([]string{s.env}, []string{s.env}); got != want {
		t.Errorf("enqueued %s, want %s", got, want)
	}
}

// TestSweepAddsNothingToAFullQueue sweeps while no worker serves the queues.
func TestSweepAddsNothingToAFullQueue(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a"))
	evidencetest.Must(t, s.intake.Reevaluate(t.Context(), "org", s.env, evidence.Server, "me"))
	queue := &recordingQueue{waiting: relay.MaxWaiting}
	sweeper := reports.NewSweeper(s.store, queue, s.clock.Now, quiet())
	for _, want := range []int{0, 1} {
		s.clock.Advance(minute)
		evidencetest.Must(t, sweeper.Sweep(t.Context()))
		if len(queue.tasks) != want || len(queue.evaluations) != want {
			t.Errorf("%d tasks wait, and %d and %d more were added, want %d", queue.waiting, len(queue.tasks), len(queue.evaluations), want)
		}
		queue.waiting--
	}
}

// TestSweepReadsNoContentOfReports bounds the cost of the sweep, which runs every two seconds, while many reports wait.
func TestSweepReadsNoContentOfReports(t *testing.T) {
	var docs *bodyCounter
	s := newScene(t, func(inner storage.Documents) storage.Documents {
		docs = &bodyCounter{Documents: inner}
		return docs
	})
	for i := range 5 {
		s.accept(t, fleet(100, i))
	}
	s.clock.Advance(minute)
	queue := &recordingQueue{}
	evidencetest.Must(t, reports.NewSweeper(s.store, queue, s.clock.Now, quiet()).Sweep(t.Context()))
	if docs.bytes > 0 {
		t.Errorf("%d bytes of reports were read", docs.bytes)
	}
	if got := strings.Join(queue.tasks, " "); got != s.env {
		t.Errorf("tasks for %q, want one for %s", got, s.env)
	}
}

// TestSweepKeepsAReportThatIsBeingParked has a worker park a report before each command of a sweep.
func TestSweepKeepsAReportThatIsBeingParked(t *testing.T) {
	happened, shared := true, newScene(t, nil)
	process := shared.watcher(t)
	for command := int64(1); happened; command++ {
		s := shared.member(t)
		s.accept(t, bulky())
		s.clock.Advance(minute)
		between := &interruption{at: command, happen: func() { s.park(t) }}
		process.around = between.around
		evidencetest.Must(t, reports.NewSweeper(process.store, &recordingQueue{}, s.clock.Now, quiet()).Sweep(t.Context()))
		if happened = between.happened(); !happened {
			continue
		}
		kept, err := s.store.Reports.Get(t.Context(), s.env, 1)
		if err == nil {
			_, err = s.store.Reports.Unpack(t.Context(), &kept)
		}
		if err != nil {
			t.Errorf("parked before command %d of the sweep: %v", command, err)
		}
	}
}
