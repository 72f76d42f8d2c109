package reports_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/tasks/relay"
	"attestry/tasks/reports"
)

// interrupted does something behind the first insert of a report that it is told
// to wait for.
type interrupted struct {
	*staleHead
	id       string
	meantime func()
}

func (d *interrupted) Write(ctx context.Context, writes ...storage.Write) error {
	err := d.staleHead.Write(ctx, writes...)
	inserted := writes[0].Kind == storage.WriteInsert && writes[0].Schema.Name == "reports" && writes[0].Record.ID == d.id
	if inserted && d.meantime != nil {
		meantime := d.meantime
		d.meantime = nil
		meantime()
	}
	return err
}

// bulky is a report that is too large for a document of its own, of a single file beside others.
func bulky(others ...string) snapshot.Report {
	var name strings.Builder
	for i := range 10_000 {
		name.WriteString(fingerprint(strconv.Itoa(i))) // does not compress
	}
	return running(append(others, name.String())...)
}

// TestReportThatTheSweepTakesForProcessedKeepsItsContent lets the sweep come upon
// a large report that was inserted under a number of the past, just before its
// reporter notices and takes another number.
func TestReportThatTheSweepTakesForProcessedKeepsItsContent(t *testing.T) {
	var docs *interrupted
	s := newScene(t, func(inner storage.Documents) storage.Documents {
		docs = &interrupted{staleHead: &staleHead{Documents: inner}}
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
		if err := reports.NewSweeper(s.store, noQueue{t}, s.clock.Now, quiet()).Sweep(t.Context()); err != nil {
			t.Error(err)
		}
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

// weighing adds up the bodies of reports that queries bring.
type weighing struct {
	storage.Documents
	bytes int
}

func (d *weighing) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	page, err := d.Documents.Find(ctx, schema, query)
	for _, record := range page.Records {
		if schema.Name == "reports" {
			d.bytes += len(record.Body)
		}
	}
	return page, err
}

// counted is a queue that remembers what it was given.
type counted struct {
	tasks, evaluations []string
	waiting            int
}

func (q *counted) Enqueue(_ context.Context, ref job.Ref, _ int64) error {
	if ref.Kind == &job.Evaluate {
		q.evaluations = append(q.evaluations, ref.Payload.Environment)
		return nil
	}
	q.tasks = append(q.tasks, ref.Payload.Environment)
	return nil
}

func (q *counted) Waiting(context.Context, string) (int, error) { return q.waiting, nil }

// TestSweepEnqueuesReportsAndEvaluationsApart has two evaluations and two reports wait in one
// environment: whichever queue is served, they are processed.
func TestSweepEnqueuesReportsAndEvaluationsApart(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a"))
	s.drain(t)
	for _, name := range []string{"b", "c"} {
		if err := s.intake.Reevaluate(t.Context(), "org", s.env, evidence.Server, "me"); err != nil {
			t.Fatal(err)
		}
		s.accept(t, running(name))
	}
	queue := &counted{}
	sweeper := reports.NewSweeper(s.store, queue, s.clock.Now, quiet())
	s.clock.Advance(minute)
	if err := sweeper.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(queue.tasks, queue.evaluations), fmt.Sprint([]string{s.env}, []string{s.env}); got != want {
		t.Errorf("enqueued %s, want %s", got, want)
	}
}

// TestSweepAddsNothingToAFullQueue sweeps while no worker serves the queues.
func TestSweepAddsNothingToAFullQueue(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a"))
	if err := s.intake.Reevaluate(t.Context(), "org", s.env, evidence.Server, "me"); err != nil {
		t.Fatal(err)
	}
	queue := &counted{waiting: relay.MaxWaiting}
	sweeper := reports.NewSweeper(s.store, queue, s.clock.Now, quiet())
	for _, want := range []int{0, 1} {
		s.clock.Advance(minute)
		if err := sweeper.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(queue.tasks) != want || len(queue.evaluations) != want {
			t.Errorf("%d tasks wait, and %d and %d more were added, want %d", queue.waiting, len(queue.tasks), len(queue.evaluations), want)
		}
		queue.waiting--
	}
}

// TestSweepReadsNoContentOfReports pins what a look costs every two seconds while
// much waits.
func TestSweepReadsNoContentOfReports(t *testing.T) {
	var docs *weighing
	s := newScene(t, func(inner storage.Documents) storage.Documents {
		docs = &weighing{Documents: inner}
		return docs
	})
	for i := range 5 {
		s.accept(t, fleet(100, i))
	}
	s.clock.Advance(minute)
	queue := &counted{}
	if err := reports.NewSweeper(s.store, queue, s.clock.Now, quiet()).Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if docs.bytes > 0 {
		t.Errorf("%d bytes of reports were read", docs.bytes)
	}
	if got := strings.Join(queue.tasks, " "); got != s.env {
		t.Errorf("tasks for %q, want one for %s", got, s.env)
	}
}

// TestSweepKeepsAReportThatIsBeingParked lets a worker park a report between any two
// commands of a sweep.
func TestSweepKeepsAReportThatIsBeingParked(t *testing.T) {
	happened, shared := true, newScene(t, nil)
	process := shared.watcher(t)
	for command := int64(1); happened; command++ {
		s := shared.member(t)
		s.accept(t, bulky())
		s.clock.Advance(minute)
		between := &interruption{at: command, happen: func() { s.park(t) }}
		process.around = between.around
		if err := reports.NewSweeper(process.store, &counted{}, s.clock.Now, quiet()).Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
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
