package notification_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
	"attestry/evidence/notification"
	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/notifications"
	"attestry/storage/storagetest"
	tasks "attestry/tasks/notification"
)

// started reports a started artifact to a new action with the targets, and returns the number of the action.
func (s *scene) started(targets ...notification.Target) int64 {
	s.t.Helper()
	number := s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.StartedArtifact}, targets...)
	s.report("web")
	return number
}

func (s *scene) only(action int64) notification.Delivery {
	s.t.Helper()
	all := s.deliveries(action)
	if len(all) != 1 {
		s.t.Fatalf("there are %d deliveries, want one", len(all))
	}
	return all[0]
}

func TestEachTargetIsNotifiedOnceWhenTasksAreRepeated(t *testing.T) {
	s := newScene(t)
	number := s.started(webhook("a"), webhook("b"), webhook("a"), chat("a"))
	s.must(s.relay.Relay(t.Context()))
	if len(s.queue.fanouts) != 1 {
		t.Fatalf("enqueued %v", s.queue.fanouts)
	}
	task := s.queue.fanouts[0]
	for range 3 {
		s.must(s.fanout.MakeDeliveries(t.Context(), task.event, task.action))
	}
	sends := s.queue.sends
	for range 3 {
		for _, send := range sends {
			s.must(s.deliverer.Deliver(t.Context(), send.org, send.delivery))
		}
	}
	if len(s.recipient.sent) != 3 || len(s.deliveries(number)) != 3 {
		t.Errorf("sent %d times, %d deliveries", len(s.recipient.sent), len(s.deliveries(number)))
	}
	for _, delivery := range s.deliveries(number) {
		if delivery.State != notification.Delivered || len(delivery.Attempts) != 1 {
			t.Errorf("delivery %+v", delivery)
		}
	}
	s.clock.Advance(time.Hour)
	s.wantNotices("ARTIFACT_STARTED web SLACK", "ARTIFACT_STARTED web WEBHOOK", "ARTIFACT_STARTED web WEBHOOK")
	s.wantNotices()
}

func TestOnlyOneSenderAttemptsADelivery(t *testing.T) {
	s := newScene(t)
	s.started(webhook("a"))
	s.must(s.relay.Relay(t.Context()))
	s.must(s.fanout.MakeDeliveries(t.Context(), s.queue.fanouts[0].event, s.queue.fanouts[0].action))
	send := s.queue.sends[0]
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			evidencetest.Check(t, s.deliverer.Deliver(context.Background(), send.org, send.delivery))
		})
	}
	group.Wait()
	s.wantSent(1)
}

func TestFailedAttemptsAreRepeatedForADay(t *testing.T) {
	s := newScene(t)
	s.recipient.answer = func(*notification.Target, *notification.Delivery) string { return "The answer has status 500." }
	number := s.started(webhook("a"))
	s.relayAll()
	began := s.clock.Now()
	for s.only(number).State == notification.Pending {
		before := len(s.only(number).Attempts)
		due := time.UnixMicro(int64(s.only(number).Due * 1e6))
		s.clock.Advance(due.Sub(s.clock.Now()) - time.Second)
		if s.relayAll(); len(s.only(number).Attempts) != before {
			t.Fatalf("attempt %d was made too early", before+1)
		}
		s.clock.Advance(2 * time.Second)
		if s.relayAll(); len(s.only(number).Attempts) != before+1 {
			t.Fatalf("attempt %d was not made", before+1)
		}
		if s.clock.Now().Sub(began) > 25*time.Hour {
			t.Fatal("the delivery is still tried after a day")
		}
	}
	delivery := s.only(number)
	if n := len(delivery.Attempts); delivery.State != notification.Failed || n < 9 || n > 14 || s.clock.Now().Sub(began) < 15*time.Hour {
		t.Errorf("%s after %d attempts in %v", delivery.State, n, s.clock.Now().Sub(began))
	}
	s.recipient.sent, s.recipient.answer = nil, nil
	s.clock.Advance(48 * time.Hour)
	s.wantNotices()
	_, err := s.store.Deliveries.Update(t.Context(), acme.OrgID, delivery.ID, func(d *notification.Delivery) { d.Again(s.now(), 0) })
	s.must(err)
	s.wantNotices("ARTIFACT_STARTED web WEBHOOK")
	if again := s.only(number); again.State != notification.Delivered || again.ID != delivery.ID {
		t.Errorf("delivery %+v", again)
	}
}

func (s *scene) now() float64 { return float64(s.clock.Now().UnixMicro()) / 1e6 }

func TestTargetsThatFailForDaysAreSwitchedOff(t *testing.T) {
	s := newScene(t)
	s.recipient.answer = func(target *notification.Target, _ *notification.Delivery) string {
		return map[bool]string{true: "The connection was refused."}[strings.Contains(target.Webhook, "bad")]
	}
	number := s.started(webhook("bad"), webhook("good"))
	s.relayAll()
	for day := range 7 {
		s.clock.Advance(24 * time.Hour)
		s.report("web", fmt.Sprint(day))
		s.relayAll()
	}
	actions, err := s.store.Actions.Of(t.Context(), acme.OrgID)
	s.must(err)
	states, err := s.store.Targets.States(t.Context(), acme.OrgID, actions.All...)
	s.must(err)
	if len(states) != 2 {
		t.Fatalf("states of %d targets", len(states))
	}
	for key, state := range states {
		bad := key.Target == new(webhook("bad")).ID()
		if (state.SwitchedOffAt > 0) != bad || (state.FailingSince > 0) != bad || (state.LastSuccessAt > 0) == bad {
			t.Errorf("target %+v", state)
		}
	}
	s.recipient.sent = nil
	s.report("web", "last")
	s.wantNotices("ARTIFACT_STARTED last WEBHOOK")
	s.switchOn(number)
	s.report("web", "after")
	s.wantNotices("ARTIFACT_STARTED after WEBHOOK", "ARTIFACT_STARTED after WEBHOOK")
}

func (s *scene) switchOn(number int64) {
	s.t.Helper()
	_, err := s.store.Targets.Update(s.t.Context(), acme.OrgID, number, new(webhook("bad")).ID(), (*notification.TargetState).SwitchOn)
	s.must(err)
}

func TestRetryAfterOfReceiversIsRespected(t *testing.T) {
	s := newScene(t)
	s.recipient.answer = func(*notification.Target, *notification.Delivery) string { return "The answer has status 429." }
	s.recipient.status, s.recipient.retryAfter = 429, 3600
	number := s.started(webhook("a"))
	s.relayAll()
	s.report("web", "shop")
	s.clock.Advance(time.Minute)
	s.relayAll()
	s.clock.Advance(55 * time.Minute)
	s.relayAll()
	s.wantSent(1)
	s.recipient.answer = nil
	s.clock.Advance(5 * time.Minute)
	s.relayAll()
	for _, delivery := range s.deliveries(number) {
		if delivery.State != notification.Delivered {
			t.Errorf("delivery %+v", delivery)
		}
	}
	s.wantSent(3)
}

// target returns the state of a target of an action.
func (s *scene) target(action int64, target notification.Target) *notification.TargetState {
	s.t.Helper()
	states, err := s.store.Targets.States(s.t.Context(), acme.OrgID, notification.Action{Number: action, Targets: []notification.Target{target}})
	s.must(err)
	return new(states[notifications.TargetKey{Action: action, Target: target.ID()}])
}

// TestSuccessIsStoredOncePerSecondOrAfterAFailure has a new artifact start in each step.
func TestSuccessIsStoredOncePerSecondOrAfterAFailure(t *testing.T) {
	s := newScene(t)
	target := webhook("a")
	number := s.started(target)
	s.relayAll()
	last := s.target(number, target).LastSuccessAt
	for i, step := range []struct {
		after         time.Duration
		reason        string
		stored, fails bool
	}{{0, "", false, false}, {time.Second, "", true, false}, {0, "The answer has status 500.", false, true}, {0, "", true, false}} {
		s.clock.Advance(step.after)
		s.recipient.answer = func(*notification.Target, *notification.Delivery) string { return step.reason }
		s.report("web", fmt.Sprint(i))
		s.relayAll()
		state := s.target(number, target)
		if (state.LastSuccessAt > last) != step.stored || (state.FailingSince > 0) != step.fails {
			t.Errorf("step %d: %+v, the last success was at %f", i, state, last)
		}
		last = state.LastSuccessAt
	}
}

func TestGoneReceiversAreNotNotifiedUntilTheyAreSwitchedOn(t *testing.T) {
	s := newScene(t)
	s.recipient.answer = func(*notification.Target, *notification.Delivery) string { return "The answer has status 410." }
	s.recipient.status = 410
	var counted []string
	var logged bytes.Buffer
	s.deliverer = tasks.NewDeliverer(s.store, s.recipient, s.clock.Now, slog.New(slog.NewTextHandler(&logged, nil)),
		func(kind notification.TargetType, delivered bool) {
			counted = append(counted, fmt.Sprint(kind, delivered))
		})
	target := webhook("a")
	number := s.started(target)
	s.relayAll()
	if delivery := s.only(number); delivery.State != notification.Failed || len(delivery.Attempts) != 1 {
		t.Errorf("delivery %+v", delivery)
	}
	reason := func() string { return s.target(number, target).SwitchedOffReason() }
	const want = "The target is switched off, as its receiver answered that it is gone (410)."
	if got := reason(); got != want || !strings.Contains(logged.String(), want) || !strings.Contains(logged.String(), "attempt=1 ") {
		t.Errorf("the reason is %q, logged %s", got, logged.String())
	}
	s.recipient.answer = nil
	_, err := s.store.Deliveries.Update(t.Context(), acme.OrgID, s.only(number).ID, func(d *notification.Delivery) { d.Again(s.now(), 0) })
	s.must(err)
	s.relayAll()
	if delivery := s.only(number); delivery.State != notification.Delivered || reason() != want || fmt.Sprint(counted) != "[WEBHOOKfalse WEBHOOKtrue]" {
		t.Errorf("after a success: %q, %+v, counted %v", reason(), delivery, counted)
	}
	s.report("web", "shop")
	s.relayAll()
	s.wantSent(2)
	s.must(s.store.Targets.SwitchOn(t.Context(), acme.OrgID, notification.Action{Number: number, Targets: []notification.Target{target}}))
	s.report("web", "shop", "mail")
	s.relayAll()
	if len(s.recipient.sent) != 3 || reason() != "" {
		t.Errorf("sent %d times, %q", len(s.recipient.sent), reason())
	}
}

func TestDeliveriesOfARemovedActionFail(t *testing.T) {
	s := newScene(t)
	number := s.started(webhook("a"))
	s.must(s.relay.Relay(t.Context()))
	s.must(s.fanout.MakeDeliveries(t.Context(), s.queue.fanouts[0].event, number))
	_, err := s.store.Actions.Change(t.Context(), acme, func(all *notification.Actions) error {
		all.Remove(number, notification.OfEnvironments)
		return nil
	})
	s.must(err)
	s.wantNotices()
	if delivery := s.only(number); delivery.State != notification.Failed || delivery.Parked != 0 || delivery.Attempts[0].Reason != "The action or the target was removed." {
		t.Errorf("delivery %+v", delivery)
	}
}

func TestNewTargetsAreNotified(t *testing.T) {
	s := newScene(t)
	deliverer, relay := s.deliverer, s.relay
	s.started(webhook("known"))
	s.wantNotices("ARTIFACT_STARTED web WEBHOOK") // the worker caches the actions
	s.start(s.docs, nil)                          // another process
	s.deliverer, s.relay = deliverer, relay
	s.action(notification.OfEnvironments, s.env, []notification.Trigger{notification.ExitedArtifact}, webhook("new"))
	s.report()
	s.wantNotices("ARTIFACT_EXITED web WEBHOOK")
}

func TestTasksThatRedisLosesAreEnqueuedAgain(t *testing.T) {
	s := newScene(t)
	number := s.started(webhook("a"))
	s.queue.err = errors.New("Redis is unreachable")
	if err := s.relay.Relay(t.Context()); err == nil {
		t.Fatal("Relay succeeded without Redis")
	}
	s.queue.err = nil
	s.must(s.relay.Relay(t.Context()))
	s.queue.fanouts = nil // lost
	s.must(s.relay.Relay(t.Context()))
	if len(s.queue.fanouts) != 0 {
		t.Error("the task is enqueued again at once")
	}
	s.clock.Advance(11 * time.Second)
	s.must(s.relay.Relay(t.Context()))
	s.must(s.fanout.MakeDeliveries(t.Context(), s.queue.fanouts[0].event, number))
	s.queue.fanouts, s.queue.sends = nil, nil // lost
	s.wantNotices()
	s.clock.Advance(11 * time.Second)
	s.wantNotices("ARTIFACT_STARTED web WEBHOOK")
}

func TestEventsAreDeliveredAfterTheClockIsSetBack(t *testing.T) {
	s := newScene(t)
	s.started(webhook("a"))
	s.clock.Advance(-time.Hour)
	s.wantNotices("ARTIFACT_STARTED web WEBHOOK")
}

func TestNothingIsAddedToAQueueThatIsFull(t *testing.T) {
	s := newScene(t)
	s.started(webhook("a"))
	s.queue.full = true
	s.wantNotices()
	s.queue.full = false
	s.wantNotices("ARTIFACT_STARTED web WEBHOOK")
}

func TestOldDeliveriesAreDeleted(t *testing.T) {
	s := newScene(t)
	number := s.started(webhook("a"))
	s.wantNotices("ARTIFACT_STARTED web WEBHOOK")
	s.clock.Advance(29 * 24 * time.Hour)
	s.must(s.deliverer.Clean(t.Context()))
	s.only(number)
	s.clock.Advance(2 * 24 * time.Hour)
	s.must(s.deliverer.Clean(t.Context()))
	if left := s.deliveries(number); len(left) != 0 {
		t.Errorf("%d are left", len(left))
	}
}

func TestAnIdleRelayTakesTwoCommands(t *testing.T) {
	s := newScene(t)
	counting := storagetest.NewCountingDocuments(s.docs)
	s.start(counting, nil)
	s.must(s.relay.Relay(t.Context()))
	if costs := counting.Snapshot(); costs.Commands() != 2 {
		t.Errorf("%+v", costs)
	}
}

func TestAttemptsThatTheProcessInterruptsDoNotCount(t *testing.T) {
	s := newScene(t)
	number := s.started(webhook("a"))
	s.must(s.relay.Relay(t.Context()))
	s.must(s.fanout.MakeDeliveries(t.Context(), s.queue.fanouts[0].event, number))
	ctx, stop := context.WithCancel(t.Context())
	s.recipient.answer = func(*notification.Target, *notification.Delivery) string {
		stop()
		return "The call was interrupted."
	}
	if err := s.deliverer.Deliver(ctx, acme.OrgID, s.queue.sends[0].delivery); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s.recipient.sent, s.recipient.answer, s.queue.fanouts, s.queue.sends = nil, nil, nil, nil
	s.clock.Advance(29 * time.Second)
	s.wantNotices()
	s.clock.Advance(2 * time.Second)
	s.wantNotices("ARTIFACT_STARTED web WEBHOOK")
	if delivery := s.only(number); len(delivery.Attempts) != 1 {
		t.Errorf("delivery %+v", delivery)
	}
}

func TestAtMostFourAttemptsAreUnderWayAtOneHost(t *testing.T) {
	s := newScene(t)
	var targets []notification.Target
	for i := range 7 {
		targets = append(targets, notification.Target{Type: notification.Webhook, Webhook: fmt.Sprint("https://busy.example.com/", i)})
	}
	number := s.started(append(targets, webhook("other"))...)
	s.must(s.relay.Relay(t.Context()))
	s.must(s.fanout.MakeDeliveries(t.Context(), s.queue.fanouts[0].event, number))
	s.queue.fanouts = nil
	var running, most, others atomic.Int32
	proceed := make(chan struct{})
	s.recipient.answer = func(target *notification.Target, _ *notification.Delivery) string {
		if target.Host() == "other.example.com" {
			others.Add(1)
			return ""
		}
		n := running.Add(1)
		defer running.Add(-1)
		for most.Load() < n && !most.CompareAndSwap(most.Load(), n) {
		}
		<-proceed
		return ""
	}
	var left, all sync.WaitGroup
	left.Add(4) // three of the busy host without a slot, and the one of the other host
	for _, task := range s.queue.sends {
		all.Go(func() {
			evidencetest.Check(t, s.deliverer.Deliver(t.Context(), task.org, task.delivery))
			select {
			case <-proceed:
			default:
				left.Done()
			}
		})
	}
	left.Wait()
	close(proceed)
	all.Wait()
	s.queue.sends = nil
	if most.Load() != 4 || others.Load() != 1 {
		t.Errorf("%d attempts at once at the busy host, %d at the other", most.Load(), others.Load())
	}
	for _, d := range s.deliveries(number) {
		if d.State == notification.Pending && (d.Tried != 0 || d.Due > s.now()+31) {
			t.Errorf("a delivery without a slot is due in %v s after %d attempts", d.Due-s.now(), d.Tried)
		}
	}
	s.clock.Advance(31 * time.Second)
	s.relayAll()
	for _, d := range s.deliveries(number) {
		if d.State != notification.Delivered {
			t.Errorf("%s: %+v", d.Target, d)
		}
	}
}

func TestDeliveryWhoseAttemptsPanicFails(t *testing.T) {
	s := newScene(t)
	s.recipient.answer = func(*notification.Target, *notification.Delivery) string { panic("poison") }
	number := s.started(webhook("a"))
	for range 30 {
		s.relayAll()
		s.clock.Advance(time.Hour)
	}
	if d := s.only(number); d.State != notification.Failed || d.Attempts[0].Reason != "An internal error occurred." {
		t.Errorf("%+v", d)
	}
}

// insteadOfDeliveries returns an engine that calls fault instead of writing deliveries.
func insteadOfDeliveries(docs storage.Documents, fault func(ctx context.Context) error) storage.Documents {
	return &storagetest.Interceptor{Documents: docs, Around: func(command storagetest.Command, run func() error) error {
		if len(command.Writes) > 0 && command.Writes[0].Schema.Name == "deliveries" {
			return fault(command.Ctx)
		}
		return run()
	}}
}

func TestFanOutThatTimesOutCountsAsAnAttempt(t *testing.T) {
	s := newScene(t)
	number := s.started(webhook("a"))
	s.start(insteadOfDeliveries(s.docs, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}), nil)
	s.must(s.relay.Relay(t.Context()))
	task := s.queue.fanouts[0]
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	evidencetest.Is(t, s.fanout.MakeDeliveries(ctx, task.event, number), context.DeadlineExceeded)
	if event, err := s.store.Outbox.Get(t.Context(), task.event); err != nil || event.Tried != 1 {
		t.Errorf("%d attempts, error %v", event.Tried, err)
	}
}

func TestEventWhoseFanOutPanicsIsParkedAfterADay(t *testing.T) {
	s := newScene(t)
	number := s.started(webhook("a"))
	s.start(insteadOfDeliveries(s.docs, func(context.Context) error { panic("poison") }), nil)
	s.must(s.relay.Relay(t.Context()))
	task := s.queue.fanouts[0]
	evidencetest.Is(t, s.fanout.MakeDeliveries(t.Context(), task.event, number), goroutine.ErrPanicked)
	s.clock.Advance(25 * time.Hour)
	s.must(s.fanout.MakeDeliveries(t.Context(), task.event, number))
	if waiting, _, err := s.store.Outbox.Due(t.Context(), s.now(), ""); err != nil || len(waiting) > 0 {
		t.Errorf("%d events wait, error %v", len(waiting), err)
	}
	parked, err := s.store.Outbox.Get(t.Context(), task.event)
	if err != nil || parked.Parked == 0 || parked.Tried != 2 || !strings.Contains(parked.Reason, "poison") {
		t.Errorf("the event is not parked: %+v, %v", parked, err)
	}
}
