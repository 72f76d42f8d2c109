package notification_test

import (
	"errors"
	"testing"
	"time"

	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/evidence/snapshot"
	"attestry/storage/storagetest"
	"attestry/tasks/reports"
)

// atEachWrite runs work in a process that dies before or after its first write, its second, and so on, until work makes
// fewer writes; with -short only at every third. finish runs in the next process and gets the error of work.
func atEachWrite(t *testing.T, prepare func(*scene), work func(*scene) error, finish func(*scene, error)) {
	t.Helper()
	deaths, step := 0, 1
	if testing.Short() {
		step = 3
	}
	for _, after := range []bool{false, true} {
		for write := 1; ; write += step {
			s := newScene(t)
			prepare(s)
			dying := storagetest.NewFaultInjector(s.docs, storagetest.DieAtWrite(write, after))
			s.start(dying, nil)
			err := work(s)
			s.start(s.docs, nil)
			finish(s, err)
			if !dying.Dead.Load() {
				break
			}
			if !errors.Is(err, storagetest.ErrKilled) && err != nil {
				t.Fatal(err)
			}
			deaths++
		}
	}
	if t.Logf("died %d times", deaths); deaths < 4 {
		t.Errorf("the process died %d times only", deaths)
	}
}

func TestTrailEventsAreDeliveredOnceWhenTheProcessDies(t *testing.T) {
	id := evidence.NewID()
	attest := func(s *scene) error {
		scope := recording.Scope{Org: acme.OrgID, OrgName: acme.OrgName, Flow: "backend", Trail: "1", By: "ci", ByID: "ci", At: s.now()}
		return s.store.Recorder.Attest(t.Context(), scope, evidence.Attestation{
			ID: id, Org: acme.OrgID, Trail: "1", Name: "unit-test", Type: evidence.TypeGeneric, Compliant: true, CreatedAt: scope.At,
		}, nil)
	}
	atEachWrite(t, func(s *scene) {
		s.action(notification.OfFlows, s.flow(), allFlowTriggers, webhook("a"))
	}, attest, func(s *scene, err error) {
		if err != nil {
			s.must(attest(s)) // the client repeats the request
		}
		s.clock.Advance(time.Hour)
		_, err = s.store.Recorder.Reconcile(t.Context(), acme.OrgID, s.now())
		s.must(err)
		_, err = s.store.Trails.ApplyPendingBefore(t.Context(), s.now())
		s.must(err)
		s.wantNotices("ATTESTATION_REPORTED backend WEBHOOK", "TRAIL_STARTED backend WEBHOOK")
	})
}

func TestSnapshotEventsAreDeliveredOnceWhenTheWorkerDies(t *testing.T) {
	atEachWrite(t, func(s *scene) {
		s.report("old", "web")
		s.action(notification.OfEnvironments, s.env, []notification.Trigger{
			notification.StartedArtifact, notification.ExitedArtifact, notification.ScaledArtifact,
		}, webhook("a"))
		s.accept("new", "web", "web")
	}, func(s *scene) error {
		return s.processor.Drain(t.Context(), s.env)
	}, func(s *scene, _ error) {
		s.clock.Advance(time.Minute)
		s.must(s.processor.Drain(t.Context(), s.env))
		s.wantNotices("ARTIFACT_EXITED old WEBHOOK", "ARTIFACT_SCALED web WEBHOOK", "ARTIFACT_STARTED new WEBHOOK")
		s.report("new", "web")
		s.wantNotices("ARTIFACT_SCALED web WEBHOOK")
	})
}

func TestScalingIsDeliveredOnceWhenTheWorkerDies(t *testing.T) {
	atEachWrite(t, func(s *scene) {
		s.report("web")
		s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.ScaledArtifact}, webhook("a"))
		s.accept("web", "web")
	}, func(s *scene) error {
		return s.processor.Drain(t.Context(), s.env)
	}, func(s *scene, _ error) {
		s.clock.Advance(time.Minute)
		s.must(s.processor.Drain(t.Context(), s.env))
		s.wantNotices("ARTIFACT_SCALED web WEBHOOK")
		s.report("web")
		s.wantNotices("ARTIFACT_SCALED web WEBHOOK")
	})
}

// TestDeliveriesSucceedOnceWhenTheWorkerDies kills the worker that makes deliveries and sends them. A delivery may be
// sent twice, as the worker may die before it stores the outcome.
func TestDeliveriesSucceedOnceWhenTheWorkerDies(t *testing.T) {
	targets := []notification.Target{webhook("a"), webhook("b"), chat("c")}
	var number int64
	atEachWrite(t, func(s *scene) { number = s.started(targets...) }, func(s *scene) error {
		if err := s.relay.Relay(t.Context()); err != nil {
			return err
		}
		for _, task := range s.queue.fanouts {
			if err := s.fanout.MakeDeliveries(t.Context(), task.event, task.action); err != nil {
				return err
			}
		}
		for _, task := range s.queue.sends {
			if err := s.deliverer.Deliver(t.Context(), task.org, task.delivery); err != nil {
				return err
			}
		}
		return nil
	}, func(s *scene, _ error) {
		s.queue.fanouts, s.queue.sends = nil, nil // Redis may lose them
		for range 5 {
			s.clock.Advance(time.Minute)
			s.relayAll()
		}
		all := s.deliveries(number)
		if len(all) != len(targets) {
			t.Errorf("there are %d deliveries", len(all))
		}
		ids := map[string]int{}
		for _, message := range s.recipient.sent {
			ids[message.delivery.ID]++
		}
		for _, d := range all {
			if d.State != notification.Delivered || len(d.Attempts) != 1 || ids[d.ID] < 1 || ids[d.ID] > 2 {
				t.Errorf("sent %d times: %+v", ids[d.ID], d)
			}
		}
		if len(ids) != len(targets) {
			t.Errorf("sent as %v", ids)
		}
	})
}

// accept accepts a report without processing it.
func (s *scene) accept(names ...string) {
	s.t.Helper()
	var instances []snapshot.Instance
	for _, name := range names {
		instances = append(instances, snapshot.Instance{Digests: map[string]string{name: fingerprint(name)}, CreatedAt: 1_789_000_000})
	}
	_, err := s.intake.Accept(s.t.Context(), reports.Submission{
		Org: acme.OrgID, Environment: s.env, ReportedBy: "reporter", Report: snapshot.Canonical(evidence.Server, instances),
	})
	s.must(err)
}
