package reports_test

import (
	"errors"
	"fmt"
	"testing"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/snapshot"
	"attestry/storage/environments"
	"attestry/tasks/reports"
)

// parkNext accepts a report and parks it, as a worker does after the last attempt.
func (s *scene) parkNext(t testing.TB, report snapshot.Report) environments.WaitingReport {
	t.Helper()
	s.accept(t, report)
	return s.park(t)
}

// park parks the next waiting report.
func (s *scene) park(t testing.TB) environments.WaitingReport {
	t.Helper()
	arrival := s.head(t).Processed + 1
	record, err := s.store.Reports.Get(t.Context(), s.env, arrival)
	evidencetest.Must(t, err)
	record.Failure, record.Attempts, record.ParkedAt = "of a test", 5, evidence.Seconds(s.clock.Now())
	evidencetest.Must(t, s.store.Reports.Put(t.Context(), record))
	_, err = s.store.Heads.Update(t.Context(), s.env, func(head *snapshot.Head) error {
		head.MarkProcessed(arrival, snapshot.Outcome{Report: record.ID, Failed: true})
		return nil
	})
	evidencetest.Must(t, err)
	return record
}

// parked returns the arrival numbers of the parked reports of the scene's environment.
func (s *scene) parked(t testing.TB) []int64 {
	t.Helper()
	var arrivals []int64
	for after := ""; ; {
		page, next, err := s.store.Reports.Parked(t.Context(), after)
		evidencetest.Must(t, err)
		for i := range page {
			if page[i].Environment == s.env {
				arrivals = append(arrivals, page[i].Arrival)
			}
		}
		if after = next; next == "" {
			return arrivals
		}
	}
}

func TestRetriedReportIsProcessedAfterTheWaitingOnes(t *testing.T) {
	for name, report := range map[string]snapshot.Report{"inline": running("a"), "as an object": bulky()} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, nil)
			parked := s.parkNext(t, report)
			s.clock.Advance(minute)
			s.accept(t, running("b"))
			arrival, err := reports.NewParked(s.store, s.clock.Now).Retry(t.Context(), &parked)
			if err != nil || arrival != 3 {
				t.Fatalf("the retried report has the arrival number %d, %v", arrival, err)
			}
			s.drain(t)
			head := s.head(t)
			if head.Last != 2 || head.Processed != 3 || head.Digest != report.Digest() || head.LastReportedAt <= parked.AcceptedAt {
				t.Errorf("head is %+v", head)
			}
			first, _, _ := s.artifacts(t, 1)
			second, _, _ := s.artifacts(t, 2)
			// The report was accepted before the previous snapshot was made, so its snapshot gets the next possible time.
			if gap := second.Timestamp - first.Timestamp; gap <= 0 || gap > 2*1e-6 || second.ReportedAt != parked.AcceptedAt {
				t.Errorf("its snapshot is %g s after the previous one, reported at %f", gap, second.ReportedAt)
			}
			if left := s.parked(t); len(left) != 0 {
				t.Errorf("still parked: %v", left)
			}
			assertSwept(t, s)
			s.wantNoObjects(t)
		})
	}
}

func TestRetriedReevaluationAppliesThePolicies(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, fleet(3))
	s.drain(t)
	s.attach(t, "provenance", needProvenance)
	parked := s.park(t)
	if head := s.head(t); len(head.Policies) != 0 {
		t.Fatalf("head is %+v", head)
	}
	if _, err := reports.NewParked(s.store, s.clock.Now).Retry(t.Context(), &parked); err != nil {
		t.Fatal(err)
	}
	s.drain(t)
	if head := s.head(t); head.Last != 2 || len(head.Policies) != 1 || head.Counts.False != 3 {
		t.Errorf("head is %+v", head)
	}
}

// TestRetryThatIsKilledLosesNothing kills a retry before and after each of its writes, and retries again.
func TestRetryThatIsKilledLosesNothing(t *testing.T) {
	killed, shared := true, newScene(t, nil)
	operator := shared.watcher(t)
	for write := 1; killed; write++ {
		killed = false // for -failfast, which skips the tests below after a failure
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d after %v", write, after), func(t *testing.T) {
				s := shared.member(t)
				parked := s.parkNext(t, running("a"))
				writes := 0
				operator.around = func(isWrite bool, run func() error) error {
					if isWrite {
						writes++
					}
					if writes > write || writes == write && !after {
						return errKilled
					}
					return run()
				}
				_, err := reports.NewParked(operator.store, s.clock.Now).Retry(t.Context(), &parked)
				if killed = writes >= write; killed && !after && err == nil {
					t.Error("the killed retry returned no error")
				}
				for range s.parked(t) {
					if _, err := reports.NewParked(s.store, s.clock.Now).Retry(t.Context(), &parked); err != nil {
						t.Fatal(err)
					}
				}
				s.drain(t)
				if head := s.head(t); head.Last != 1 || head.VerdictOf(2) != snapshot.Created {
					t.Errorf("head is %+v", head)
				}
				if left := s.parked(t); len(left) != 0 {
					t.Errorf("still parked: %v", left)
				}
			})
		}
	}
}

func TestReportThatIsNotProcessedCannotBeRetriedOrDiscarded(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a"))
	record, err := s.store.Reports.Get(t.Context(), s.env, 1)
	evidencetest.Must(t, err)
	record.Failure = "of a test"
	evidencetest.Must(t, s.store.Reports.Put(t.Context(), record))
	parked := reports.NewParked(s.store, s.clock.Now)
	if _, err := parked.Retry(t.Context(), &record); !errors.Is(err, reports.ErrStillParking) {
		t.Errorf("retried: %v", err)
	}
	evidencetest.Is(t, parked.Discard(t.Context(), &record), reports.ErrStillParking)
	if left := s.parked(t); len(left) != 1 {
		t.Errorf("parked are %v", left)
	}
}

func TestParkedReportsAreReadInPages(t *testing.T) {
	s := newScene(t, nil)
	const n = 70
	for i := range n {
		s.parkNext(t, running(fmt.Sprint("file-", i)))
	}
	got := s.parked(t)
	if len(got) != n || got[0] != 1 || got[n-1] != n {
		t.Errorf("got %v", got)
	}
}
