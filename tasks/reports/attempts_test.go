package reports_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/tasks/reports"
)

// faulty is an engine with fault injection for chunks and reports. While it is unreachable, all commands fail.
type faulty struct {
	storage.Documents
	insertChunks func(ctx context.Context) error
	getChunks    func([]storage.Record) []storage.Record
	getReports   func([]storage.Record) []storage.Record
	unreachable  bool
}

var errUnreachable = storage.Outage("database", errors.New("connection refused"))

func (f *faulty) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	if f.unreachable {
		return storage.Record{}, errUnreachable
	}
	record, err := f.Documents.Get(ctx, schema, id)
	if schema.Name == "reports" && f.getReports != nil && err == nil {
		record = f.getReports([]storage.Record{record})[0]
	}
	return record, err
}

func (f *faulty) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	if f.unreachable {
		return nil, errUnreachable
	}
	records, err := f.Documents.GetMany(ctx, schema, ids)
	switch {
	case schema.Name == "chunks" && f.getChunks != nil:
		records = f.getChunks(records)
	case schema.Name == "reports" && f.getReports != nil:
		records = f.getReports(records)
	}
	return records, err
}

func (f *faulty) Write(ctx context.Context, writes ...storage.Write) error {
	if f.unreachable {
		return errUnreachable
	}
	if writes[0].Schema.Name == "chunks" && f.insertChunks != nil {
		if err := f.insertChunks(ctx); err != nil {
			return err
		}
	}
	return f.Documents.Write(ctx, writes...)
}

// lost is an object store whose Get fails while err is set.
type lost struct {
	storage.Objects
	err error
}

func (l *lost) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if l.err != nil {
		return nil, l.err
	}
	return l.Objects.Get(ctx, key, offset, length)
}

// attemptScene is a scene with a snapshot, and with a worker of another process whose stores have fault injection.
type attemptScene struct {
	*scene
	docs    *faulty
	objects *lost
	worker  *reports.Processor
	log     bytes.Buffer
	// classes are the classes of the reasons for which the worker has parked reports.
	classes []string
	// ctx returns the context of a drain. If it is nil, a drain gets that of the test.
	ctx func() context.Context
}

func newAttemptScene(t *testing.T) *attemptScene {
	t.Helper()
	s := &attemptScene{scene: newScene(t, nil)}
	s.accept(t, running("a"))
	s.drain(t)
	s.docs, s.objects = &faulty{Documents: s.scene.docs}, &lost{Objects: openObjects(t, s.folder)}
	store := app.NewStore(s.docs, s.objects, s.clock.Now, quiet())
	t.Cleanup(store.Tenancy.Close)
	s.worker = reports.NewProcessor(store, silent{}, s.clock.Now, slog.New(slog.NewJSONHandler(&s.log, nil)), s.noteParked)
	return s
}

// try drains with the worker whose stores have fault injection.
func (s *attemptScene) try(t *testing.T) error {
	t.Helper()
	ctx := t.Context()
	if s.ctx != nil {
		ctx = s.ctx()
	}
	return s.worker.Drain(ctx, s.env)
}

func (s *attemptScene) noteParked(class string) { s.classes = append(s.classes, class) }

// parked returns how many reports the worker has parked, and the last reason.
func (s *attemptScene) parked() (total int, reason string) {
	for _, class := range s.classes {
		total, reason = total+1, class
	}
	return total, reason
}

// TestUnprocessableReportIsParkedAndLaterOnesAreProcessed covers all kinds of failures that are not outages. Each makes
// every attempt of a report fail.
func TestUnprocessableReportIsParkedAndLaterOnesAreProcessed(t *testing.T) {
	spoil := func(records []storage.Record) []storage.Record {
		for i := range records {
			records[i].Body = []byte(`{"`)
		}
		return records
	}
	chunkFault := func(err error) func(*attemptScene, context.Context) {
		return func(s *attemptScene, _ context.Context) {
			s.docs.insertChunks = func(context.Context) error { return err }
		}
	}
	for name, c := range map[string]struct {
		spoil  func(s *attemptScene, ctx context.Context)
		reason string
	}{
		"a missing chunk": {func(s *attemptScene, _ context.Context) {
			s.docs.getChunks = func([]storage.Record) []storage.Record { return nil }
		}, "damaged"},
		"a damaged chunk":          {func(s *attemptScene, _ context.Context) { s.docs.getChunks = spoil }, "damaged"},
		"a damaged report":         {func(s *attemptScene, _ context.Context) { s.docs.getReports = spoil }, "damaged"},
		"a missing object":         {func(s *attemptScene, _ context.Context) { s.objects.err = storage.ErrNotFound }, "damaged"},
		"a missing document":       {chunkFault(storage.ErrNotFound), "damaged"},
		"a document too large":     {chunkFault(evidence.NewError(evidence.TooLarge, "too large")), "too_large"},
		"a document refused":       {chunkFault(evidence.NewError(evidence.Invalid, "invalid")), "invalid"},
		"an error of the database": {chunkFault(errors.New("the database has no words for it")), "other"},
		"a panic": {func(s *attemptScene, _ context.Context) {
			s.docs.insertChunks = func(context.Context) error { panic("out of range") }
		}, "panic"},
		"running out of time": {func(s *attemptScene, ctx context.Context) {
			var current *evidencetest.Ending
			s.ctx = func() context.Context {
				current = evidencetest.NewEnding(ctx)
				return current
			}
			s.docs.insertChunks = func(ctx context.Context) error {
				current.End(context.DeadlineExceeded)
				<-ctx.Done()
				return ctx.Err()
			}
		}, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAttemptScene(t)
			s.accept(t, bulky())
			c.spoil(s, t.Context())
			for attempt := 1; attempt <= 5; attempt++ {
				if err := s.try(t); err == nil || s.head(t).Processed != 1 {
					t.Fatalf("attempt %d ended with %v, the head is %+v", attempt, err, s.head(t))
				}
			}
			if err := s.try(t); err != nil {
				t.Fatalf("after the last attempt: %v", err)
			}
			s.docs.insertChunks, s.docs.getChunks, s.docs.getReports, s.objects.err, s.ctx = nil, nil, nil, nil, nil
			if total, reason := s.parked(); total != 1 || reason != c.reason {
				t.Errorf("%d reports are parked, %q", total, reason)
			}
			s.accept(t, running("b"))
			evidencetest.Must(t, s.try(t))
			if head := s.head(t); head.VerdictOf(2) != snapshot.Failed || head.VerdictOf(3) != snapshot.Created || head.Last != 2 {
				t.Errorf("head is %+v", head)
			}
			s.assertParked(t, 2)
		})
	}
}

// assertParked checks the record and the log entry of the only parked report.
func (s *attemptScene) assertParked(t *testing.T, arrival int64) {
	t.Helper()
	parked, next, err := s.store.Reports.Parked(t.Context(), "")
	if err != nil || len(parked) != 1 || next != "" {
		t.Fatalf("%d are parked, %v", len(parked), err)
	}
	kept := parked[0]
	if kept.Environment != s.env || kept.Arrival != arrival || kept.Failure == "" || kept.Attempts != 5 || kept.ParkedAt == 0 {
		t.Errorf("kept is %+v", kept)
	}
	found := false
	for line := range strings.Lines(s.log.String()) {
		var entry struct {
			Message, Org, Environment, Reason string
			Arrival                           int64
			Level                             string
			Msg                               string
		}
		evidencetest.Must(t, json.Unmarshal([]byte(line), &entry))
		if entry.Msg == "gave up a report" {
			found = true
			if entry.Org != "org" || entry.Environment != s.env || entry.Arrival != arrival || entry.Reason != kept.Failure || entry.Level != "ERROR" {
				t.Errorf("logged %s", line)
			}
		}
	}
	if !found {
		t.Errorf("the parked report is not logged: %s", s.log.String())
	}
}

// TestOutagesParkNoReport lets more attempts end with an outage than a report may have.
func TestOutagesParkNoReport(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(s *attemptScene, ctx context.Context)
		end   func(s *attemptScene)
	}{
		"the database refuses a write": {
			func(s *attemptScene, _ context.Context) {
				s.docs.insertChunks = func(context.Context) error { return errUnreachable }
			},
			func(s *attemptScene) { s.docs.insertChunks = nil },
		},
		"the database restarts": { // the lease cannot be released either
			func(s *attemptScene, _ context.Context) {
				s.docs.insertChunks = func(context.Context) error {
					s.docs.unreachable = true
					return errUnreachable
				}
			},
			func(s *attemptScene) { s.docs.unreachable, s.docs.insertChunks = false, nil },
		},
		"the object store is unreachable": {
			func(s *attemptScene, _ context.Context) {
				s.objects.err = storage.Outage("object store", errors.New("connection refused"))
			},
			func(s *attemptScene) { s.objects.err = nil },
		},
		"many write to the environment": {
			func(s *attemptScene, _ context.Context) {
				s.docs.insertChunks = func(context.Context) error { return evidence.NewError(evidence.Unavailable, "busy") }
			},
			func(s *attemptScene) { s.docs.insertChunks = nil },
		},
		"the worker is stopped": {
			func(s *attemptScene, ctx context.Context) {
				current := evidencetest.NewEnding(ctx)
				s.ctx = func() context.Context { return current }
				s.docs.insertChunks = func(ctx context.Context) error {
					current.End(context.Canceled)
					<-ctx.Done()
					return ctx.Err()
				}
			},
			func(s *attemptScene) { s.docs.insertChunks, s.ctx = nil, nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAttemptScene(t)
			s.accept(t, bulky())
			for range 8 {
				c.begin(s, t.Context())
				if err := s.try(t); err == nil {
					t.Fatal("the drain returned no error")
				}
				c.end(s)
				s.clock.Advance(minute) // the lease expires
			}
			evidencetest.Must(t, s.try(t))
			if head := s.head(t); head.VerdictOf(2) != snapshot.Created {
				t.Errorf("head is %+v", head)
			}
			if total, reason := s.parked(); total != 0 {
				t.Errorf("%d reports are parked, %q", total, reason)
			}
		})
	}
}

// TestOutagesOfManyWorkersParkNoReport has a new worker for each restart of the database. Each worker uncounts its
// attempt once the database answers.
func TestOutagesOfManyWorkersParkNoReport(t *testing.T) {
	s := newAttemptScene(t)
	s.accept(t, running("b"))
	for range 8 {
		store := app.NewStore(s.docs, s.objects, s.clock.Now, quiet())
		t.Cleanup(store.Tenancy.Close)
		s.worker = reports.NewProcessor(store, silent{}, s.clock.Now, quiet(), func(string) {})
		s.docs.insertChunks = func(context.Context) error {
			s.docs.unreachable = true
			return errUnreachable
		}
		if err := s.try(t); err == nil {
			t.Fatal("the drain returned no error")
		}
		if err := s.worker.Refund(t.Context()); !errors.Is(err, storage.ErrOutage) {
			t.Fatalf("while the database is unreachable: %v", err)
		}
		s.docs.unreachable, s.docs.insertChunks = false, nil
		evidencetest.Must(t, s.worker.Refund(t.Context()))
		if head := s.head(t); head.Attempt.Count != 0 || head.Lease.Holder != "" {
			t.Fatalf("after the refund the head is %+v", head)
		}
	}
	if err := s.try(t); err != nil || s.head(t).VerdictOf(2) != snapshot.Created {
		t.Errorf("head is %+v, %v", s.head(t), err)
	}
}

// TestReportThatKillsItsWorkersIsParked lets each worker fail all commands after the third one.
func TestReportThatKillsItsWorkersIsParked(t *testing.T) {
	s := newAttemptScene(t)
	s.accept(t, running("b"))
	for range 5 {
		dead := s.watcher(t)
		commands := 0
		dead.around = func(write bool, run func() error) error {
			if commands++; commands > 3 {
				return errKilled
			}
			return run()
		}
		if err := dead.processor.Drain(t.Context(), s.env); err == nil {
			t.Fatal("the drain of the killed worker returned no error")
		}
		s.clock.Advance(minute)
	}
	evidencetest.Must(t, s.try(t))
	if total, reason := s.parked(); total != 1 || reason != "killed" {
		t.Errorf("%d reports are parked, %q", total, reason)
	}
	s.assertParked(t, 2)
}

func TestDamagedReportInABatchDoesNotBlockTheOthers(t *testing.T) {
	s := newAttemptScene(t)
	for _, name := range []string{"b", "c", "d"} {
		s.accept(t, running(name))
	}
	s.docs.getReports = func(records []storage.Record) []storage.Record {
		for i := range records {
			if strings.HasSuffix(records[i].ID, "/3") {
				records[i].Body = []byte("{")
			}
		}
		return records
	}
	for range 8 {
		_ = s.try(t)
	}
	head := s.head(t)
	if head.VerdictOf(2) != snapshot.Created || head.VerdictOf(3) != snapshot.Failed || head.VerdictOf(4) != snapshot.Created {
		t.Errorf("head is %+v", head)
	}
	s.docs.getReports = nil
	s.assertParked(t, 3)
}

// stubborn is an object store whose Delete fails.
type stubborn struct{ storage.Objects }

func (stubborn) Delete(context.Context, string) error { return errors.New("it is under retention") }

func TestObjectThatCannotBeDeletedDoesNotFailOtherReports(t *testing.T) {
	s := newScene(t, nil)
	store := app.NewStore(s.docs, stubborn{openObjects(t, s.folder)}, s.clock.Now, quiet())
	t.Cleanup(store.Tenancy.Close)
	worker := reports.NewProcessor(store, silent{}, s.clock.Now, quiet(), func(string) {})
	for i := range 20 { // more than a batch
		if s.accept(t, running(strings.Repeat("x", i+1))); i%2 == 0 {
			s.accept(t, bulky())
		}
	}
	evidencetest.Check(t, worker.Drain(t.Context(), s.env))
	if head := s.head(t); head.Processed != 30 || head.Attempt.Count != 0 {
		t.Errorf("head is %+v", head)
	}
}
