package reports_test

import (
	"context"
	"sync/atomic"
	"testing"

	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/tasks/reports"
)

// quickWorker is an engine that calls after, once, directly after a report was inserted: a worker that is still
// draining the environment may process the report then.
type quickWorker struct {
	storage.Documents
	after func()
}

func (d *quickWorker) Write(ctx context.Context, writes ...storage.Write) error {
	err := d.Documents.Write(ctx, writes...)
	stored := writes[0].Schema.Name == "reports" && writes[0].Kind == storage.WriteInsert
	if after := d.after; err == nil && stored && after != nil {
		d.after = nil
		after()
	}
	return err
}

// draining is a queue whose Dispatch drains the environment.
type draining struct {
	silent
	drain func()
}

func (d draining) Dispatch(context.Context, *job.Kind, string, int64) { d.drain() }

func TestVerdictIsCorrectIfTheWorkerIsFasterThanTheRequest(t *testing.T) {
	docs := &quickWorker{}
	s := newScene(t, func(d storage.Documents) storage.Documents { docs.Documents = d; return docs })
	drain := func() { s.drain(t) }
	s.intake = reports.NewIntake(s.store, draining{drain: drain}, awakened{func() {}}, s.clock.Now, reports.MaxWait)
	docs.after = drain
	if got := s.accept(t, running("a")); got != snapshot.Created {
		t.Errorf("verdict %d; the head is %+v", got, s.head(t))
	}
}

// failing is a queue that is unreachable once a task was dispatched and its state was asked for.
type failing struct {
	silent
	asked *atomic.Int64
}

func (f failing) Unreachable() bool { return f.asked.Add(1) > 1 }

// waking lets a test wake a waiter.
type waking chan struct{}

func (w waking) Register(string) (<-chan struct{}, func(), bool) { return w, func() {}, true }

func TestWaitEndsWhenTheQueueBecomesUnreachable(t *testing.T) {
	s, wake, verdict := newScene(t, nil), make(waking), make(chan snapshot.Verdict)
	s.intake = reports.NewIntake(s.store, failing{asked: &atomic.Int64{}}, wake, s.clock.Now, reports.MaxWait)
	go func() { verdict <- s.accept(t, running("a")) }()
	wake <- struct{}{}
	select {
	case got := <-verdict:
		if got != snapshot.Waiting {
			t.Errorf("verdict %d", got)
		}
	case wake <- struct{}{}:
		t.Error("it still waits")
		close(wake)
		<-verdict
	}
}

func TestReaderWaitsForReportsUnderWay(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a"))
	s.accept(t, running("b"))
	readers := reports.NewIntake(s.store, silent{}, awakened{func() { s.drain(t) }}, s.clock.Now, 0)
	if err := readers.CatchUp(t.Context(), s.env, reports.MaxWait); err != nil {
		t.Fatal(err)
	}
	if head := s.head(t); head.Last != 2 {
		t.Errorf("the reader returned at snapshot %d", head.Last)
	}
}

// awakened calls work when a waiter registers, and wakes the waiter at once.
type awakened struct{ work func() }

func (a awakened) Register(string) (<-chan struct{}, func(), bool) {
	woken := make(chan struct{}, 1)
	a.work()
	woken <- struct{}{}
	return woken, func() {}, true
}
