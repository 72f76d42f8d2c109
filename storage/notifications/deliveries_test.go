package notifications_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/storage"
	"attestry/storage/notifications"
)

// delivery returns a delivery of an action to the target first.
func delivery(number int64, notice string, at float64) notification.Delivery {
	return notification.NewDelivery("org", number, &first, notification.Notice{ID: notice}, at, 0)
}

func add(t *testing.T, deliveries *notifications.Deliveries, all ...notification.Delivery) {
	t.Helper()
	evidencetest.Must(t, deliveries.Add(t.Context(), all))
}

// notices lists the ids of the notices of deliveries.
func notices(t *testing.T, found *storage.Batches[notification.Delivery]) string {
	t.Helper()
	ids := evidence.Map(apptest.AllOf(t, found), func(one notification.Delivery) string { return one.Notice.ID })
	return strings.Join(ids, " ")
}

func TestDeliveriesAreListedNewestFirst(t *testing.T) {
	deliveries := notifications.NewDeliveries(openEngine(t))
	failed, delivered := delivery(1, "failed", 3), delivery(1, "delivered", 4)
	failed.GiveUp(5, "no")
	delivered.Begin(4)
	delivered.End(delivered.Until, notification.Attempt{At: 4}, 0)
	theirs := delivery(1, "theirs", 9)
	theirs.Org = "other"
	add(t, deliveries, delivery(1, "a", 1), delivery(1, "b", 2), failed, delivered, delivery(2, "other", 5), theirs)
	for state, want := range map[notification.State]string{
		"": "delivered failed b a", notification.Pending: "b a", notification.Failed: "failed", notification.Delivered: "delivered",
	} {
		if got := notices(t, deliveries.List("org", 1, state, "", 10)); got != want {
			t.Errorf("%q: %s, want %s", state, got, want)
		}
	}
	page := deliveries.List("org", 1, "", "", 3)
	if got := notices(t, page); got != "delivered failed b" {
		t.Errorf("the first page: %s", got)
	}
	if got := notices(t, deliveries.List("org", 1, "", page.After(), 3)); got != "a" {
		t.Errorf("the second page: %s", got)
	}
	if total, err := deliveries.Count(t.Context(), "org", 1); err != nil || total != 4 {
		t.Errorf("%d in all, %v", total, err)
	}
}

func TestOnlyPendingDeliveriesAreDue(t *testing.T) {
	deliveries := notifications.NewDeliveries(openEngine(t))
	settled := delivery(1, "settled", 1)
	settled.GiveUp(2, "no")
	add(t, deliveries, delivery(1, "later", 30), delivery(1, "second", 20), delivery(1, "first", 10), settled)
	add(t, deliveries, delivery(1, "first", 99)) // changes nothing
	due := func(now float64) string {
		t.Helper()
		refs, next, err := deliveries.Due(t.Context(), now, "")
		if err != nil || next != "" {
			t.Fatal(err, next)
		}
		keys := evidence.Map(refs, func(ref job.Ref) string {
			return fmt.Sprint(strings.TrimSuffix(ref.Key, ".1."+first.ID()), " ", ref.Due)
		})
		return strings.Join(keys, ", ")
	}
	if got := due(20); got != "org/first 10, org/second 20" {
		t.Errorf("due are %s", got)
	}
	_, err := deliveries.Update(t.Context(), "org", settled.ID, func(d *notification.Delivery) { d.Again(5, 0) })
	if got := due(10); err != nil || got != "org/settled 5, org/first 10" {
		t.Errorf("due after asking again are %s, %v", got, err)
	}
}

func TestADeliveryIsReplacedAtItsRevisionOnly(t *testing.T) {
	deliveries := notifications.NewDeliveries(openEngine(t))
	one := delivery(1, "a", 1)
	add(t, deliveries, one)
	seen, err := deliveries.Get(t.Context(), "org", one.ID)
	evidencetest.Must(t, err)
	seen.Value.Begin(2)
	if _, err := deliveries.Replace(t.Context(), seen.Value, seen.Revision); err != nil {
		t.Error(err)
	}
	if _, err := deliveries.Replace(t.Context(), seen.Value, seen.Revision); !errors.Is(err, storage.ErrMoved) {
		t.Errorf("replaced twice: %v", err)
	}
	for _, org := range []string{"other", ""} {
		if _, err := deliveries.Get(t.Context(), org, one.ID); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("found in %q: %v", org, err)
		}
	}
}

func TestFinishedDeliveriesAreRemoved(t *testing.T) {
	deliveries := notifications.NewDeliveries(openEngine(t))
	old, recent := delivery(1, "old", 10), delivery(1, "recent", 30)
	old.GiveUp(11, "no")
	recent.GiveUp(31, "no")
	add(t, deliveries, old, recent, delivery(1, "pending", 10))
	if removed, err := deliveries.RemoveFinished(t.Context(), 20); err != nil || removed != 1 {
		t.Errorf("removed %d, %v", removed, err)
	}
	if got := notices(t, deliveries.List("org", 1, "", "", 10)); got != "recent pending" {
		t.Errorf("left are %s", got)
	}
	if removed, err := deliveries.RemoveFinished(t.Context(), 20); err != nil || removed != 0 {
		t.Errorf("removed %d, %v", removed, err)
	}
}
