package notification_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/notification"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// TestDeliveredEventsAreDeletedAfterTheWorkerDies kills the worker directly after the write that completes an action.
func TestDeliveredEventsAreDeletedAfterTheWorkerDies(t *testing.T) {
	s := newScene(t)
	s.started(webhook("a"))
	s.must(s.relay.Relay(t.Context()))
	task := s.queue.fanouts[0]
	s.queue.fanouts = nil
	dying := storagetest.NewFaultInjector(s.docs, storagetest.DieAtWrite(1, true)) // the first Replace is that of CompleteAction
	s.start(dying, nil)
	if err := s.fanout.MakeDeliveries(t.Context(), task.event, task.action); err == nil {
		t.Error("the worker did not die")
	}
	s.start(s.docs, nil)
	for range 10 {
		s.clock.Advance(3 * 24 * time.Hour)
		s.relayAll()
		s.must(s.deliverer.Clean(t.Context()))
	}
	left, _, err := s.store.Outbox.Due(t.Context(), s.now(), "")
	s.must(err)
	for _, e := range left {
		t.Errorf("30 days later the outbox still has %s", e.Key)
	}
}

// TestExpiredAttemptsDoNotChangeTheDelivery pauses the process of the first attempt until another attempt has
// succeeded. Then the first attempt fails.
func TestExpiredAttemptsDoNotChangeTheDelivery(t *testing.T) {
	s := newScene(t)
	number := s.started(webhook("a"))
	s.must(s.relay.Relay(t.Context()))
	s.must(s.fanout.MakeDeliveries(t.Context(), s.queue.fanouts[0].event, number))
	s.queue.fanouts = nil
	send := s.queue.sends[0]
	s.queue.sends = nil
	first := true
	s.recipient.answer = func(*notification.Target, *notification.Delivery) string {
		if !first {
			return ""
		}
		first = false
		s.clock.Advance(31 * time.Second) // this process is paused
		s.must(s.deliverer.Deliver(t.Context(), send.org, send.delivery))
		if d := s.only(number); d.State != notification.Delivered {
			t.Fatalf("%+v", d)
		}
		return "The connection was refused."
	}
	s.must(s.deliverer.Deliver(t.Context(), send.org, send.delivery))
	enqueued := 0
	for range 6 {
		s.clock.Advance(7 * 24 * time.Hour)
		s.must(s.relay.Relay(t.Context()))
		enqueued += len(s.queue.sends)
		s.work()
		s.must(s.deliverer.Clean(t.Context()))
	}
	if left := s.deliveries(number); len(left)+enqueued > 0 {
		t.Errorf("after 42 days: %+v, %d tasks", left, enqueued)
	}
}

func TestEventsSurviveAnOutageOfMoreThanADay(t *testing.T) {
	s := newScene(t)
	number := s.started(webhook("a"))
	s.clock.Advance(25 * time.Hour) // an outage of Redis or of all workers of the queue
	failed := false
	s.start(storagetest.BeforeWrites(s.docs, func(write storage.Write) error {
		if failed || write.Kind != storage.WriteAdd {
			return nil
		}
		failed = true
		return evidence.NewError(evidence.Unavailable, "primary steps down")
	}), nil)
	s.must(s.relay.Relay(t.Context()))
	if err := s.fanout.MakeDeliveries(t.Context(), s.queue.fanouts[0].event, number); evidence.CodeOf(err) != evidence.Unavailable {
		t.Errorf("got %v", err)
	}
	s.queue.fanouts = nil
	s.clock.Advance(time.Minute)
	s.relayAll()
	if n := len(s.deliveries(number)); n != 1 {
		t.Errorf("%d deliveries: the event is lost", n)
	}
}

func TestAFailureAfterAQuietWeekSwitchesNothingOff(t *testing.T) {
	s := newScene(t)
	fails := true
	s.recipient.answer = func(*notification.Target, *notification.Delivery) string {
		return map[bool]string{true: "The answer has status 503."}[fails]
	}
	number := s.started(webhook("a"))
	s.relayAll()
	for s.only(number).State == notification.Pending {
		s.clock.Advance(time.Hour)
		s.relayAll()
	}
	s.clock.Advance(6 * 24 * time.Hour)
	s.report("web", "next")
	s.relayAll() // one failed attempt
	fails = false
	for range 30 {
		s.clock.Advance(time.Hour)
		s.relayAll()
	}
	found := 0
	for _, d := range s.deliveries(number) {
		if strings.Contains(d.Notice.Description, "started") && d.Notice.Artifact.Name == "next" {
			found++
			if d.State != notification.Delivered {
				t.Errorf("after attempts %+v: %s", d.Attempts, d.State)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d deliveries of the artifact", found)
	}
}

func TestOneEventDoesNotFillTheQueue(t *testing.T) {
	s := newScene(t)
	var targets []notification.Target
	for i := range 300 {
		targets = append(targets, webhook(fmt.Sprint("t", i)))
	}
	var names []string
	for i := range 50 {
		names = append(names, fmt.Sprint("n", i))
	}
	s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.StartedArtifact}, targets...)
	s.report(names...)
	s.must(s.relay.Relay(t.Context()))
	s.queue.full = true
	for _, task := range s.queue.fanouts {
		s.must(s.fanout.MakeDeliveries(t.Context(), task.event, task.action))
	}
	if n := len(s.queue.sends); n > 2_000 {
		t.Errorf("one event enqueued %d deliveries", n)
	}
	s.queue.sends, s.queue.full = nil, false
	s.clock.Advance(time.Minute)
	s.must(s.relay.Relay(t.Context()))
	if n := len(s.queue.sends); n != 10_000 {
		t.Errorf("the relay enqueued %d deliveries", n)
	}
}

// TestScalingNoticesMatchAModel compares the notices of random reports and evaluations with a model.
func TestScalingNoticesMatchAModel(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := newScene(t)
			s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.ScaledArtifact}, webhook("a"))
			last := map[string]int{}
			required := false
			for step := range 25 {
				if r.IntN(6) == 0 && !required {
					required = true
					s.requireProvenance()
				} else if r.IntN(5) == 0 {
					s.must(s.store.Generations.Bump(t.Context(), acme.OrgID))
					err := s.intake.Reevaluate(t.Context(), acme.OrgID, s.env, evidence.Server, "anna")
					s.must(err)
					s.must(s.processor.Drain(t.Context(), s.env))
				}
				now := map[string]int{}
				var names []string
				for _, name := range []string{"a", "b", "c"} {
					if n := r.IntN(4); r.IntN(8) > 0 && n > 0 {
						now[name] = n
						names = append(names, slices.Repeat([]string{name}, n)...)
					}
				}
				if r.IntN(3) == 0 { // two reports wait at once
					s.accept(names...)
					s.accept(names...)
				} else {
					s.accept(names...)
				}
				s.must(s.processor.Drain(t.Context(), s.env))
				var want []string
				for name, n := range now {
					if was := last[name]; was > 0 && was != n {
						want = append(want, fmt.Sprintf("%s (from %d to %d)", name, was, n))
					}
				}
				slices.Sort(want)
				s.relayAll()
				var got []string
				for _, message := range s.recipient.sent {
					d := message.delivery.Notice.Description
					got = append(got, message.delivery.Notice.Artifact.Name+" "+d[strings.Index(d, "("):])
				}
				s.recipient.sent = nil
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Fatalf("step %d: sent %v, want %v (was %v, is %v)", step, got, want, last, now)
				}
				last = now
			}
		})
	}
}

// TestAPausedWorkerDoesNotOverwriteLaterScaling pauses the worker before it writes the scaling of a report, while
// another one processes this and a later report.
func TestAPausedWorkerDoesNotOverwriteLaterScaling(t *testing.T) {
	s := newScene(t)
	s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.ScaledArtifact}, webhook("a"))
	s.report("web")
	s.accept("web", "web")
	other := s.processor
	var paused sync.Once
	s.start(storagetest.OneByOne{Documents: storagetest.BeforeWrites(s.docs, func(write storage.Write) error {
		if write.Schema.Name == "scalings" {
			paused.Do(func() {
				s.clock.Advance(time.Minute)
				s.must(other.Drain(t.Context(), s.env)) // 2
				s.accept("web", "web", "web", "web", "web")
				s.must(other.Drain(t.Context(), s.env)) // 5
			})
		}
		return nil
	})}, nil)
	if err := s.processor.Drain(t.Context(), s.env); err != nil {
		t.Log(err)
	}
	s.start(s.docs, nil)
	s.relayAll()
	s.recipient.sent = nil
	s.report("web", "web", "web")
	s.relayAll()
	for _, message := range s.recipient.sent {
		if d := message.delivery.Notice.Description; !strings.Contains(d, "from 5 to 3") {
			t.Errorf("sent %q, want from 5 to 3", d)
		}
	}
	s.wantSent(1)
}

// TestAttemptsOfAnOrganizationAreLimited starts one attempt more than an organization may have at the same time, while
// all receivers hang.
func TestAttemptsOfAnOrganizationAreLimited(t *testing.T) {
	s := newScene(t)
	release := make(chan struct{})
	s.recipient.answer = func(*notification.Target, *notification.Delivery) string {
		<-release
		return ""
	}
	var targets []notification.Target
	for i := range 401 {
		targets = append(targets, webhook(fmt.Sprint("t", i)))
	}
	number := s.started(targets...)
	s.must(s.relay.Relay(t.Context()))
	s.must(s.fanout.MakeDeliveries(t.Context(), s.queue.fanouts[0].event, number))
	var returned atomic.Int32
	var group sync.WaitGroup
	for _, task := range s.queue.sends {
		group.Go(func() {
			if err := s.deliverer.Deliver(t.Context(), task.org, task.delivery); err != nil {
				t.Error(err)
			}
			if returned.Add(1) == 1 {
				close(release)
			}
		})
	}
	group.Wait()
	s.wantSent(400)
	s.queue.fanouts, s.queue.sends = nil, nil
	s.clock.Advance(time.Minute)
	s.relayAll()
	s.wantSent(401)
}

// TestFanOutFailsWithEachOfItsCommands has an event of each kind. A notice that lacked something would be sent for good.
func TestFanOutFailsWithEachOfItsCommands(t *testing.T) {
	s := newScene(t)
	flow := s.flow()
	s.reportArtifact("1", "web")
	s.requireProvenance()
	s.report("stranger")
	s.relayAll()
	s.action(notification.OfEnvironments, s.env, []notification.Trigger{
		notification.StartedArtifact, notification.ExitedArtifact, notification.ScaledArtifact, notification.AllowedArtifact,
		notification.NonCompliantEnv, notification.CompliantEnv, notification.BrokenGlass,
	}, webhook("a"), chat("b"))
	s.action(notification.OfFlows, flow, allFlowTriggers, webhook("a"))
	s.report("web")
	s.report("web", "web")
	s.allow("web")
	s.reportArtifact("2", "web")
	s.must(s.attest("2", "web"))
	s.must(s.store.Recorder.Attest(t.Context(), s.scope("2"), evidence.Attestation{
		ID: evidence.NewID(), Org: acme.OrgID, Trail: "2", Name: "scan", Type: evidence.TypeGeneric, Fingerprint: fingerprint("web"), CreatedAt: s.now(),
	}, nil))
	s.must(s.store.Recorder.Approve(t.Context(), approval.Approval{
		ID: evidence.NewID(), Org: acme.OrgID, Flow: flow, Trail: "2", Target: fingerprint("web"), ArtifactName: "web", CreatedAt: s.now(),
	}))
	s.breakGlass()
	s.must(s.relay.Relay(t.Context()))
	events := s.queue.fanouts
	if len(events) < 9 {
		t.Fatalf("there are %d events", len(events))
	}
	for _, event := range events {
		storagetest.EachFailure(t, 3, func() storage.Documents { return s.docs }, func(docs storage.Documents) error {
			s.start(docs, nil)
			return s.fanout.MakeDeliveries(t.Context(), event.event, event.action)
		})
	}
}

func TestDeliveryFailsWithEachOfItsCommands(t *testing.T) {
	for _, reason := range []string{"", "The answer has status 500."} {
		s := newScene(t)
		number := s.started(webhook("a"))
		s.relayAll()
		s.recipient.answer = func(*notification.Target, *notification.Delivery) string { return reason }
		id := s.only(number).ID
		again := func() storage.Documents {
			s.clock.Advance(time.Hour)
			s.start(s.docs, nil)
			_, err := s.store.Deliveries.Update(t.Context(), acme.OrgID, id, func(d *notification.Delivery) { d.Again(s.now(), 0) })
			s.must(err)
			s.clock.Advance(time.Minute)
			return s.docs
		}
		storagetest.EachFailure(t, 5, again, func(docs storage.Documents) error {
			s.start(docs, nil)
			return s.deliverer.Deliver(t.Context(), acme.OrgID, id)
		})
	}
}

func TestDeliveriesAreMadeWhileRedisIsUnreachable(t *testing.T) {
	s := newScene(t)
	s.started(webhook("a"))
	s.must(s.relay.Relay(t.Context()))
	task := s.queue.fanouts[0]
	s.queue.err, s.queue.fanouts = errors.New("Redis is unreachable"), nil
	s.must(s.fanout.MakeDeliveries(t.Context(), task.event, task.action))
	s.queue.err = nil
	s.clock.Advance(11 * time.Second)
	s.wantNotices("ARTIFACT_STARTED web WEBHOOK")
}
