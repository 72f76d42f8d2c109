package reports_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/storagetest"
	"attestry/tasks/relay"
	"attestry/tasks/reports"
)

var errFault = errors.New("a fault of a test")

// brokenQueue is a fake queue that accepts no task.
type brokenQueue struct{ recordingQueue }

func (*brokenQueue) Enqueue(context.Context, job.Ref, int64) error { return errFault }

// expired stores a permission in an environment that ended at a time in Unix seconds.
func (s *scene) expired(t *testing.T, environment string, at float64) {
	t.Helper()
	_, err := s.store.Allowlist.Put(t.Context(), evidence.Allowance{ID: evidence.NewID(), Org: "org", Environment: environment, Fingerprint: fingerprint("a"), ExpiresAt: at})
	evidencetest.Must(t, err)
}

func TestPermissionsLapseDespiteOtherFailures(t *testing.T) {
	for name, c := range map[string]struct {
		queue    relay.Queues
		orphaned bool // another permission, which ended before, is for an environment that is lost
		left     int
	}{
		"the queue accepts no report": {queue: &brokenQueue{}},
		"an environment is lost":      {queue: &recordingQueue{}, orphaned: true, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, nil)
			if c.orphaned {
				s.expired(t, "lost", 1)
			}
			s.expired(t, s.env, 2)
			s.accept(t, running("a"))
			s.clock.Advance(minute)
			if err := reports.NewSweeper(s.store, c.queue, s.clock.Now, quiet()).Sweep(t.Context()); err == nil {
				t.Error("the sweep does not fail")
			}
			left, err := s.store.Allowlist.Expired(t.Context(), evidence.Seconds(s.clock.Now()))
			if err != nil || len(left) != c.left {
				t.Errorf("%d permissions have not lapsed, %v", len(left), err)
			}
		})
	}
}

func TestEndOfAPermissionEnqueuesAnEvaluationAtOnce(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a"))
	s.drain(t)
	s.expired(t, s.env, 2)
	queue := &recordingQueue{}
	sweeper := reports.NewSweeper(s.store, queue, s.clock.Now, quiet())
	for range 2 {
		evidencetest.Must(t, sweeper.Sweep(t.Context()))
		if !slices.Equal(queue.evaluations, []string{s.env}) || len(queue.tasks) > 0 {
			t.Errorf("evaluations are enqueued for %v, reports for %v", queue.evaluations, queue.tasks)
		}
	}
}

// TestEndOfAPermissionIsNotUndoneByASlowClock has a worker whose clock is two minutes behind that of the worker that sweeps.
func TestEndOfAPermissionIsNotUndoneByASlowClock(t *testing.T) {
	s := newScene(t, nil)
	s.attach(t, "provenance", needProvenance)
	s.expired(t, s.env, evidence.Seconds(s.clock.Now().Add(minute)))
	s.accept(t, running("a"))
	s.drain(t)
	if counts := s.head(t).Counts; counts.True != 1 {
		t.Fatalf("while it is permitted: %+v", counts)
	}
	ahead := func() time.Time { return s.clock.Now().Add(2 * minute) }
	evidencetest.Must(t, reports.NewSweeper(s.store, &recordingQueue{}, ahead, quiet()).Sweep(t.Context()))
	s.drain(t)
	if counts := s.head(t).Counts; counts.False != 1 {
		t.Errorf("after the sweep: %+v", counts)
	}
	s.reevaluate(t) // as the api does after another policy was attached
	s.drain(t)
	if counts := s.head(t).Counts; counts.False != 1 {
		t.Errorf("after another evaluation: %+v", counts)
	}
}

// TestSweepFailsWithEachOfItsCommands has a report that waits, and a permission of an artifact that runs has ended.
func TestSweepFailsWithEachOfItsCommands(t *testing.T) {
	var s *scene
	open := func() storage.Documents {
		s = newScene(t, nil)
		s.expired(t, s.env, 2)
		evidencetest.Must(t, s.store.Running.Start(t.Context(), []environments.Running{{Org: "org", Environment: s.env, Fingerprint: fingerprint("a"), Since: 1}}))
		s.accept(t, running("a"))
		s.clock.Advance(minute)
		return s.docs
	}
	storagetest.EachFailure(t, 8, open, func(docs storage.Documents) error {
		other := s.another(t, func(storage.Documents) storage.Documents { return docs })
		return reports.NewSweeper(other.store, &recordingQueue{}, s.clock.Now, quiet()).Sweep(t.Context())
	})
}

func TestPermissionsWaitForTheEndOfAnOutage(t *testing.T) {
	attempts := 0
	s := newScene(t, func(docs storage.Documents) storage.Documents {
		return storagetest.BeforeWrites(docs, func(write storage.Write) error {
			if write.Schema == storage.GenerationSchema {
				attempts++
				return storage.Outage(storage.Database, errFault)
			}
			return nil
		})
	})
	s.expired(t, s.env, 1)
	s.expired(t, "other", 2)
	err := reports.NewSweeper(s.store, &recordingQueue{}, s.clock.Now, quiet()).Sweep(t.Context())
	if !errors.Is(err, storage.ErrOutage) || attempts != 1 {
		t.Errorf("%d attempts: %v", attempts, err)
	}
}

// publisher is a fake that counts changes.
type publisher struct{ changes int }

func (p *publisher) PublishChange(context.Context, string) { p.changes++ }

func TestProcessedReportsArePublishedIfALaterOneFails(t *testing.T) {
	snapshots := 0
	s := newScene(t, func(docs storage.Documents) storage.Documents {
		return storagetest.BeforeWrites(docs, func(write storage.Write) error {
			if write.Schema.Name == "snapshots" && write.Kind == storage.WriteInsert {
				if snapshots++; snapshots == 2 {
					return errFault
				}
			}
			return nil
		})
	})
	s.accept(t, running("a"))
	s.accept(t, running("b"))
	published := &publisher{}
	err := reports.NewProcessor(s.store, published, s.clock.Now, quiet(), func(string) {}).Drain(t.Context(), s.env)
	if !errors.Is(err, errFault) || published.changes != 1 || s.head(t).Processed != 1 {
		t.Errorf("%d changes are published, head %+v: %v", published.changes, s.head(t), err)
	}
}

func TestParkedReportIsCountedOnce(t *testing.T) {
	parking, failed := false, false
	s := newScene(t, func(docs storage.Documents) storage.Documents {
		return storagetest.BeforeWrites(docs, func(write storage.Write) error {
			parking = parking || write.Schema.Name == "reports" && write.Kind == storage.WritePut
			if parking && !failed && write.Schema.Name == "heads" {
				failed = true
				return errFault
			}
			return nil
		})
	})
	s.accept(t, running("a"))
	_, err := s.store.Heads.Update(t.Context(), s.env, func(head *snapshot.Head) error {
		head.Attempt = snapshot.Attempt{Arrival: 1, Count: 100}
		return nil
	})
	evidencetest.Must(t, err)
	parked := 0
	processor := reports.NewProcessor(s.store, silent{}, s.clock.Now, quiet(), func(string) { parked++ })
	if err := processor.Drain(t.Context(), s.env); !errors.Is(err, errFault) || parked != 0 {
		t.Errorf("%d reports are counted as parked: %v", parked, err)
	}
	if err := processor.Drain(t.Context(), s.env); err != nil || parked != 1 {
		t.Errorf("%d reports are counted as parked: %v", parked, err)
	}
}

// TestReportsAreProcessedAfterAFailedCommand has each command of a worker fail once. Another worker continues, and must
// come to what the facts and policies say.
func TestReportsAreProcessedAfterAFailedCommand(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T) (s *modelScene, check func()){
		"rollout": func(t *testing.T) (*modelScene, func()) {
			s := newModelScene(t, false, nil)
			s.apply(t, rollout...)
			return s, func() {
				operations := append(slices.Clone(rollout), operation{Kind: "drain"})
				if difference := modelOf(operations, s.answered).compare(s.storedModel(t)); difference != "" {
					t.Error(difference)
				}
			}
		},
		"policy that all fulfil": func(t *testing.T) (*modelScene, func()) {
			s := knownFleet(t, 3)
			s.attach(t, "known", `artifacts: {provenance: {required: true},
				trail-compliance: {required: true, exceptions: [{if: "${{ flow.name in ['build', 'scan'] }}"}]}}`)
			return s, func() {
				if head := s.head(t); head.Last != 2 || head.Processed != 2 || head.Counts.True != 3 || len(head.Policies) != 1 {
					t.Errorf("head is %+v", head)
				}
			}
		},
	} {
		reached := true
		for at := 1; reached; at++ {
			reached = false // for -failfast, which skips the test below after a failure
			t.Run(fmt.Sprint(name, ", command ", at), func(t *testing.T) {
				s, check := prepare(t)
				var faults *storagetest.FaultInjector
				worker := s.another(t, func(docs storage.Documents) storage.Documents {
					faults = storagetest.NewFaultInjector(docs, storagetest.Fault{At: at, Err: errFault})
					return faults
				})
				if err := worker.processor.Drain(t.Context(), s.env); err != nil && !errors.Is(err, errFault) {
					t.Errorf("the worker fails: %v", err)
				}
				reached = faults.Reached.Load()
				s.apply(t, operation{Kind: "drain"})
				check()
			})
		}
	}
}

// TestReportThatArrivesMeanwhileIsProcessedToo accepts a report when the worker has read those that wait.
func TestReportThatArrivesMeanwhileIsProcessedToo(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a"))
	accepted := false
	worker := s.another(t, func(docs storage.Documents) storage.Documents {
		return storagetest.BeforeWrites(docs, func(write storage.Write) error {
			if write.Schema.Name == "snapshots" && !accepted {
				accepted = true
				s.accept(t, running("b"))
			}
			return nil
		})
	})
	worker.drain(t)
	if head := s.head(t); head.Processed != 2 || head.Last != 2 {
		t.Errorf("head is %+v", head)
	}
}
