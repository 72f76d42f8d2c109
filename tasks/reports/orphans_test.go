package reports_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/storagetest"
	"attestry/tasks/orphans"
	"attestry/tasks/reports"
)

// collector returns a new collector of the objects that no report names.
func (s *scene) collector(t testing.TB) *orphans.Collector {
	t.Helper()
	return orphans.NewCollector(openObjects(t, s.folder), s.store.Leases, environments.ReportObjects, s.store.Reports.ObjectKeys, s.clock.Now, quiet())
}

// collect runs a collector for a bit more than an hour.
func (s *scene) collect(t testing.TB, collector *orphans.Collector) {
	t.Helper()
	for range 8 {
		evidencetest.Must(t, collector.Collect(t.Context()))
		s.clock.Advance(orphans.Interval)
	}
}

func (s *scene) wantObjects(t *testing.T, count int) {
	t.Helper()
	if left := storagetest.FileKeys(t, filepath.Join(s.folder, "objects")); len(left) != count {
		t.Fatalf("objects are %q, want %d", left, count)
	}
}

func TestObjectOfAReportThatCouldNotBeInsertedIsCollected(t *testing.T) {
	errRefused := errors.New("refused by the test")
	s := newScene(t, nil).refusing(t, errRefused, func(write storage.Write) bool {
		return write.Schema.Name == "reports" && write.Kind == storage.WriteInsert
	})
	_, err := s.intake.Accept(t.Context(), reports.Submission{Org: "org", Environment: s.env, Report: bulky()})
	if !errors.Is(err, errRefused) {
		t.Fatal(err)
	}
	collector := s.collector(t)
	for range 5 {
		evidencetest.Must(t, collector.Collect(t.Context()))
		s.clock.Advance(orphans.Interval)
	}
	s.wantObjects(t, 1) // kept, as its record may still be inserted
	s.collect(t, collector)
	s.wantNoObjects(t)
}

// TestObjectOfAReportWhoseWorkerWasKilledIsCollected has a worker die after it has deleted the record of a report and
// before it deletes the object.
func TestObjectOfAReportWhoseWorkerWasKilledIsCollected(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, bulky())
	record, err := s.store.Reports.Get(t.Context(), s.env, 1)
	evidencetest.Must(t, err)
	record.Object = "" // so Remove deletes the record only
	evidencetest.Must(t, s.store.Reports.Remove(t.Context(), record))
	s.wantObjects(t, 1)
	s.collect(t, s.collector(t))
	s.wantNoObjects(t)
}

func TestObjectsOfWaitingAndParkedReportsAreNotCollected(t *testing.T) {
	s := newScene(t, nil)
	s.parkNext(t, bulky())
	s.accept(t, bulky())
	evidence, err := s.store.Objects.Put(t.Context(), "zoo", strings.NewReader("evidence"), -1)
	evidencetest.Must(t, err)
	s.collect(t, s.collector(t))
	for _, arrival := range []int64{1, 2} {
		record, err := s.store.Reports.Get(t.Context(), s.env, arrival)
		if err == nil {
			_, err = s.store.Reports.Unpack(t.Context(), &record)
		}
		if err != nil || record.Object == "" {
			t.Errorf("report %d: %v", arrival, err)
		}
	}
	if _, err := s.store.Objects.Stat(t.Context(), evidence.Key); err != nil {
		t.Errorf("an object of another kind: %v", err)
	}
}

// TestLargeReportsLeaveNoFolders counts folders of the object store, which stay when their objects are deleted. Equal
// reports have different objects nevertheless.
func TestLargeReportsLeaveNoFolders(t *testing.T) {
	s := newScene(t, nil)
	for _, report := range []snapshot.Report{bulky(), bulky(), bulky("b")} {
		s.accept(t, report)
	}
	s.wantObjects(t, 3)
	evidencetest.Must(t, s.processor.Drain(t.Context(), s.env))
	s.wantNoObjects(t)
	folders, err := filepath.Glob(filepath.Join(s.folder, "objects", environments.ReportObjects+"*"))
	if err != nil || len(folders) != 1 {
		t.Errorf("the folders are %v, %v", folders, err)
	}
}

func TestOrphansAreFoundWithoutReadingReports(t *testing.T) {
	var docs *bodyCounter
	s := newScene(t, func(inner storage.Documents) storage.Documents {
		docs = &bodyCounter{Documents: inner}
		return docs
	})
	s.accept(t, fleet(100))
	s.parkNext(t, fleet(100))
	docs.bytes = 0
	if keys, err := s.store.Reports.ObjectKeys(t.Context()); err != nil || len(keys) != 0 || docs.bytes != 0 {
		t.Errorf("%d bytes were read, keys are %v, %v", docs.bytes, keys, err)
	}
}

func TestObjectOfAProcessedReportIsDeletedThoughALaterReportFails(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, bulky())
	s.accept(t, bulky("b"))
	second, err := s.store.Reports.Get(t.Context(), s.env, 2)
	evidencetest.Must(t, err)
	evidencetest.Must(t, s.store.Objects.Delete(t.Context(), second.Object))
	s.clock.Advance(time.Second)
	if err := s.processor.Drain(t.Context(), s.env); !errors.Is(err, storage.ErrDamaged) {
		t.Fatalf("the second report: %v", err)
	}
	if head := s.head(t); head.Processed != 1 {
		t.Fatalf("head is %+v", head)
	}
	s.wantNoObjects(t)
}
