package notifications_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/notification"
	"attestry/storage/notifications"
)

// put stores an action of the organization `org`.
func put(t *testing.T, actions *notifications.Actions, action notification.Action) {
	t.Helper()
	_, err := actions.Change(t.Context(), evidence.OrgAccess{OrgID: "org", OrgName: "acme"}, func(all *notification.Actions) error {
		_, _, err := all.Put(action)
		return err
	})
	evidencetest.Must(t, err)
}

func TestSimultaneouslyStoredActionsGetDistinctNumbers(t *testing.T) {
	docs := openEngine(t)
	var group sync.WaitGroup
	for i := range 32 {
		group.Go(func() {
			actions := notifications.NewActions(docs, time.Now) // as if in a process of its own
			put(t, actions, notification.Action{Name: fmt.Sprint("a", i%24)})
		})
	}
	group.Wait()
	all, err := notifications.NewActions(docs, time.Now).Of(t.Context(), "org")
	if err != nil || len(all.All) != 24 || all.Last != 24 {
		t.Fatalf("%d actions, the last %d: %v", len(all.All), all.Last, err)
	}
	for i, action := range all.All {
		if action.Number != int64(i+1) {
			t.Errorf("number %d at %d", action.Number, i)
		}
	}
}

func TestAChangeThatFailsStoresNothing(t *testing.T) {
	docs := openEngine(t)
	actions := notifications.NewActions(docs, time.Now)
	refused := errors.New("refused")
	for range 2 {
		_, err := actions.Change(t.Context(), evidence.OrgAccess{OrgID: "org", OrgName: "acme"}, func(all *notification.Actions) error {
			all.All = nil
			return refused
		})
		evidencetest.Is(t, err, refused)
		put(t, actions, notification.Action{Name: "kept"})
	}
	all, err := actions.Of(t.Context(), "org")
	if err != nil || len(all.All) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if none, err := actions.Of(t.Context(), "other"); err != nil || len(none.All) != 0 {
		t.Errorf("of another organization: %+v, %v", none, err)
	}
}

func TestRecentActionsAreCachedForHalfASecond(t *testing.T) {
	docs := openEngine(t)
	now := time.Unix(1000, 0)
	mine := notifications.NewActions(docs, func() time.Time { return now })
	theirs := notifications.NewActions(docs, time.Now)
	recent := func() int {
		t.Helper()
		all, err := mine.Recent(t.Context(), "org")
		evidencetest.Must(t, err)
		return len(all.All)
	}
	recent()
	docs.Reset()
	put(t, theirs, notification.Action{Name: "a"})
	written := docs.Snapshot().Commands()
	if got := recent(); got != 0 || docs.Snapshot().Commands() != written {
		t.Errorf("%d actions at once, after %d commands", got, docs.Snapshot().Commands()-written)
	}
	now = now.Add(500 * time.Millisecond)
	if got := recent(); got != 1 {
		t.Errorf("%d actions after half a second", got)
	}
	put(t, mine, notification.Action{Name: "b"})
	if got := recent(); got != 2 {
		t.Errorf("%d actions after a change by this process", got)
	}
}
