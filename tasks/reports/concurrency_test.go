package reports_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/tasks/reports"
)

// TestConcurrentReportsAreNumberedWithoutGaps has many reporters and several workers on one environment.
func TestConcurrentReportsAreNumberedWithoutGaps(t *testing.T) {
	const workers = 4
	count := 200
	if testing.Short() {
		count = 60
	}
	s := newScene(t, nil)
	var reporters, drainers sync.WaitGroup
	done := make(chan struct{})
	// The workers get a clock that stands still. Each reading advances the scene's clock: workers that retry the lease
	// would let it expire, and the sweep would have to delete the reports that its holder has processed.
	now := s.clock.Now()
	for range workers {
		processor := reports.NewProcessor(s.store, silent{}, func() time.Time { return now }, quiet(), func(string) {})
		drainers.Go(func() {
			for {
				if err := processor.Drain(t.Context(), s.env); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range count {
		// Every other report goes through another api process, with its own caches.
		intake := s.intake
		if i%2 == 0 {
			intake = reports.NewIntake(s.store, silent{}, silent{}, s.clock.Now, 0)
		}
		reporters.Go(func() {
			_, err := intake.Accept(t.Context(), reports.Submission{
				Org: "org", Environment: s.env, Report: running(fmt.Sprintf("only-%d", i)),
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	reporters.Wait()
	close(done)
	drainers.Wait()
	s.drain(t)
	assertGapless(t, s, int64(count))
	assertEvents(t, s, int64(2*count-1))
}

// assertGapless checks that every report made a snapshot, in the order of arrival and of time, and that none is left.
func assertGapless(t *testing.T, s *scene, want int64) {
	t.Helper()
	seen := map[string]bool{}
	var before snapshot.Snapshot
	for n := range want {
		made, artifacts, _ := s.artifacts(t, n+1)
		if made.Arrival != before.Arrival+1 || made.Timestamp <= before.Timestamp {
			t.Fatalf("snapshot %d is of report %d at %f, after report %d at %f",
				made.Number, made.Arrival, made.Timestamp, before.Arrival, before.Timestamp)
		}
		if len(artifacts) != 1 || seen[artifacts[0].Name] {
			t.Fatalf("snapshot %d has %v", made.Number, artifacts)
		}
		seen[artifacts[0].Name] = true
		before = made
	}
	if latest, err := s.store.Snapshots.LastNumber(t.Context(), s.env); err != nil || latest != want {
		t.Errorf("%d snapshots, %v", latest, err)
	}
	left, _, err := s.store.Reports.AcceptedBefore(t.Context(), 1e12, "")
	if err != nil || len(left) > 0 {
		t.Errorf("%d reports are left, %v", len(left), err)
	}
}

// TestReportWithAStaleHeadIsNotLost inserts a report with a number that was processed and removed in the meantime.
func TestReportWithAStaleHeadIsNotLost(t *testing.T) {
	var stale *staleHead
	s := newScene(t, func(docs storage.Documents) storage.Documents {
		stale = &staleHead{Documents: docs}
		return stale
	})
	s.accept(t, running("a"))
	s.drain(t)
	stale.freeze(t, s)
	other := reports.NewIntake(s.store, silent{}, silent{}, s.clock.Now, 0)
	s.accept(t, running("b"))
	s.drain(t)
	stale.show()
	if _, err := other.Accept(t.Context(), reports.Submission{Org: "org", Environment: s.env, Report: running("c")}); err != nil {
		t.Fatal(err)
	}
	s.drain(t)
	if head := s.head(t); head.Last != 3 || head.Processed != 3 {
		t.Errorf("head is %+v", head)
	}
}

// stopper stops a processor when it has processed a batch.
type stopper struct{ *reports.Processor }

func (s *stopper) PublishChange(context.Context, string) { s.Stop() }

// TestStoppedProcessorLeavesTheRestToAnother has more reports than a batch.
func TestStoppedProcessorLeavesTheRestToAnother(t *testing.T) {
	s := newScene(t, nil)
	const count = 20
	for i := range count {
		s.accept(t, running(fmt.Sprintf("only-%d", i)))
	}
	stop := &stopper{}
	stop.Processor = reports.NewProcessor(s.store, stop, s.clock.Now, quiet(), func(string) {})
	if err := stop.Drain(t.Context(), s.env); err != nil {
		t.Fatal(err)
	}
	if head := s.head(t); head.Processed == 0 || head.Processed == count || head.Lease.Holder != "" {
		t.Errorf("%d reports were processed, and %q has the lease", head.Processed, head.Lease.Holder)
	}
	s.drain(t)
	if head := s.head(t); head.Processed != count {
		t.Errorf("%d reports were processed", head.Processed)
	}
}
