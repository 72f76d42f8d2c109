package notifications_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/storage"
	"attestry/storage/notifications"
	"attestry/storage/storagetest"
)

func TestEventsStayInTheOutboxUntilAllTheirActionsAreComplete(t *testing.T) {
	ctx, docs := t.Context(), openEngine(t)
	actions := notifications.NewActions(docs, time.Now)
	for _, name := range []string{"first", "second"} {
		put(t, actions, notification.Action{Name: name, Subjects: []string{"env"}, Triggers: []notification.Trigger{notification.AllowedArtifact}})
	}
	outbox := notifications.NewOutbox(docs, actions)
	batch := &storage.Batch{}
	allow := func(environment string, at float64) string {
		event := notification.AllowedEvent(evidence.Allowance{ID: "a", Org: "org", Environment: environment, At: at})
		evidencetest.Check(t, outbox.EnqueueIn(ctx, batch, event))
		return event.ID
	}
	early, late := allow("env", 5), allow("env", 50)
	if allow("other", 5); batch.Len() != 2 {
		t.Errorf("%d events are added, want those on which an action fires", batch.Len())
	}
	ofLate := []string{late + "/1", late + "/2"}
	update := func(due, parked float64) error {
		_, err := outbox.Update(ctx, late, func(event *notification.Event) { event.Due, event.Parked = due, parked })
		return err
	}
	for _, step := range []struct {
		name   string
		change func() error
		due    []string // keys of the jobs that are due at 10, which is before the late event
	}{
		{"events are added", func() error { return batch.Write(ctx, docs) }, append([]string{early + "/1", early + "/2"}, ofLate...)},
		{"an action is complete", func() error { return outbox.CompleteAction(ctx, early, 1) }, append([]string{early + "/2"}, ofLate...)},
		{"all are complete", func() error { return outbox.CompleteAction(ctx, early, 2) }, ofLate},
		{"an event that is gone is completed", func() error { return outbox.CompleteAction(ctx, early, 2) }, ofLate},
		{"one waits until 11", func() error { return update(11, 0) }, nil},
		{"one waits until 10", func() error { return update(10, 0) }, ofLate},
		{"one is parked", func() error { return update(0, 9) }, nil},
	} {
		err := step.change()
		refs, next, dueErr := outbox.Due(ctx, 10, "")
		keys := evidence.Map(refs, func(ref job.Ref) string { return ref.Key })
		if err != nil || dueErr != nil || !slices.Equal(keys, step.due) || next != "" {
			t.Errorf("%s: due are %v, %q, %v, %v", step.name, keys, next, err, dueErr)
		}
	}
	if _, err := outbox.Get(ctx, early); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the complete event stays: %v", err)
	}
}

func TestCompletionOfAnActionHeedsAnotherChangeOfTheEvent(t *testing.T) {
	event := func(actions ...int64) notification.Event {
		return notification.Event{ID: "e", Org: "org", Actions: actions}
	}
	for name, c := range map[string]struct {
		stored notification.Event
		// meanwhile is done after the event was read.
		meanwhile func(outbox *notifications.Outbox) error
		left      []int64
	}{
		"another action is complete": {event(1, 2), func(o *notifications.Outbox) error { return o.CompleteAction(t.Context(), "e", 2) }, nil},
		"the event is added again":   {event(1), func(o *notifications.Outbox) error { return o.Put(t.Context(), event(1, 2)) }, []int64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			docs := openEngine(t)
			outbox := notifications.NewOutbox(docs, nil)
			other := storagetest.Fault{At: 2, Before: func() {
				evidencetest.Check(t, c.meanwhile(outbox))
			}}
			err := errors.Join(outbox.Put(t.Context(), c.stored),
				notifications.NewOutbox(storagetest.NewFaultInjector(docs, other), nil).CompleteAction(t.Context(), "e", 1))
			left, readErr := outbox.GetOrZero(t.Context(), "e")
			if err != nil || readErr != nil || !slices.Equal(left.Value.Actions, c.left) || (left.Revision != 0) != (c.left != nil) {
				t.Errorf("left is %+v, %v, %v", left, err, readErr)
			}
		})
	}
}
