package notification_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/notification"
)

func webhook(address string) notification.Target {
	return notification.Target{Type: notification.Webhook, Webhook: address}
}

// envAction is an action of ann on the environment prod.
func envAction(name string, at float64) notification.Action {
	return notification.Action{
		Name: name, Kind: notification.OfEnvironments, Subjects: []string{"prod"}, Triggers: []notification.Trigger{notification.StartedArtifact},
		Targets: []notification.Target{webhook("https://a.example")}, CreatedBy: "ann", CreatedAt: at, LastModifiedAt: at,
	}
}

func putAll(t *testing.T, s *notification.Actions, actions ...notification.Action) {
	t.Helper()
	for _, action := range actions {
		if _, _, err := s.Put(action); err != nil {
			t.Fatal(err)
		}
	}
}

// wantField checks that an error has one finding, at a field.
func wantField(t *testing.T, err error, field string) {
	t.Helper()
	var found *evidence.Error
	if !errors.As(err, &found) || found.Code != evidence.Invalid || !slices.Equal(slices.Collect(maps.Keys(found.Fields)), []string{field}) {
		t.Errorf("got %v, want a finding at %s", err, field)
	}
}

func TestPutOfAKnownNameReplacesTheAction(t *testing.T) {
	s := &notification.Actions{}
	putAll(t, s, envAction("a", 1), envAction("b", 2))
	again := envAction("a", 3)
	again.CreatedBy, again.Subjects = "bob", []string{"stage"}
	stored, created, err := s.Put(again)
	if err != nil || created || stored.Number != 1 || stored.CreatedBy != "ann" || stored.CreatedAt != 1 || stored.LastModifiedAt != 3 || stored.Subjects[0] != "stage" {
		t.Errorf("stored %+v, created %v, %v", stored, created, err)
	}
	if found, ok := s.Named("a"); !ok || found.Number != 1 || len(s.All) != 2 {
		t.Errorf("named a: %+v, %v of %d", found, ok, len(s.All))
	}
}

func TestAnActionIsNotModifiedBeforeItsLastModification(t *testing.T) {
	s := &notification.Actions{}
	putAll(t, s, envAction("a", 10), envAction("a", 4)) // the second one by a slow clock
	if s.All[0].LastModifiedAt != 10 {
		t.Errorf("modified at %v", s.All[0].LastModifiedAt)
	}
}

func TestNumbersAreNotReused(t *testing.T) {
	s := &notification.Actions{}
	putAll(t, s, envAction("a", 1), envAction("b", 1))
	if removed, ok := s.Remove(2, notification.OfEnvironments); !ok || removed.Name != "b" {
		t.Fatalf("removed %+v, %v", removed, ok)
	}
	stored, created, err := s.Put(envAction("b", 2))
	if err != nil || !created || stored.Number != 3 {
		t.Errorf("number %d, created %v, %v", stored.Number, created, err)
	}
	if _, ok := s.Find(2); ok {
		t.Error("the removed one is still found")
	}
}

func TestNamesAreUniqueAcrossKinds(t *testing.T) {
	s := &notification.Actions{}
	flow := envAction("f", 1)
	flow.Kind = notification.OfFlows
	putAll(t, s, envAction("a", 1), flow)
	_, _, err := s.Put(envAction("f", 2))
	wantField(t, err, "name")
	renamed := envAction("f", 2)
	renamed.Number = 1
	_, ok, err := s.Replace(renamed)
	wantField(t, err, "name")
	if !ok || s.All[0].Name != "a" {
		t.Errorf("found %v, named %s", ok, s.All[0].Name)
	}
}

func TestReplaceRenamesWithinAKind(t *testing.T) {
	s := &notification.Actions{}
	flow := envAction("f", 1)
	flow.Kind = notification.OfFlows
	putAll(t, s, envAction("a", 1), flow)
	renamed := envAction("b", 5)
	renamed.Number = 1
	stored, ok, err := s.Replace(renamed)
	if err != nil || !ok || stored.Name != "b" || stored.CreatedAt != 1 || stored.LastModifiedAt != 5 {
		t.Errorf("stored %+v, %v, %v", stored, ok, err)
	}
	for _, number := range []int64{2, 3} {
		renamed.Number = number
		if _, ok, err := s.Replace(renamed); ok || err != nil {
			t.Errorf("%d: %v, %v", number, ok, err)
		}
	}
	if _, ok := s.Remove(2, notification.OfEnvironments); ok {
		t.Error("a flow action was removed as an environment action")
	}
}

func TestActionsAreLimited(t *testing.T) {
	full := &notification.Actions{}
	for i := range notification.MaxActions {
		putAll(t, full, envAction(fmt.Sprint("a", i), 1))
	}
	_, _, err := full.Put(envAction("one-more", 1))
	wantField(t, err, "name")

	addresses := envAction("a", 1)
	for i := range notification.MaxAddresses / 50 {
		mails := notification.Target{Type: notification.Email}
		for j := range 50 {
			mails.Emails = append(mails.Emails, fmt.Sprintf("%d-%d@example.com", i, j))
		}
		addresses.Targets = append(addresses.Targets, mails)
	}
	_, _, err = (&notification.Actions{}).Put(addresses)
	wantField(t, err, "targets")
	addresses.Targets = addresses.Targets[1:]
	putAll(t, &notification.Actions{}, addresses)

	subjects := envAction("a", 1)
	subjects.Subjects = slices.Repeat([]string{"prod"}, notification.MaxSubjects+1)
	_, _, err = (&notification.Actions{}).Put(subjects)
	wantField(t, err, "environments")
	subjects.Kind = notification.OfFlows
	_, _, err = (&notification.Actions{}).Put(subjects)
	wantField(t, err, "flows")
}

func TestFiringOnReturnsTheActionsThatFire(t *testing.T) {
	s := &notification.Actions{}
	elsewhere, exits, silent := envAction("elsewhere", 1), envAction("exits", 1), envAction("silent", 1)
	elsewhere.Subjects = []string{"stage"}
	exits.Triggers = []notification.Trigger{notification.ExitedArtifact}
	silent.Triggers = nil
	putAll(t, s, envAction("a", 1), elsewhere, exits, silent, envAction("later", 9))
	event := notification.Event{Subject: "prod", At: 5, Triggers: []notification.Trigger{notification.StartedArtifact, notification.ScaledArtifact}}
	if got := fmt.Sprint(s.FiringOn(&event)); got != "[1]" {
		t.Errorf("on a started artifact: %s", got)
	}
	event.At, event.Triggers[1] = 9, notification.ExitedArtifact
	if got := fmt.Sprint(s.FiringOn(&event)); got != "[1 3 5]" {
		t.Errorf("on a snapshot: %s", got)
	}
}

func TestTheIDOfATargetFollowsFromItsTypeAndAddresses(t *testing.T) {
	all := []notification.Target{
		webhook("https://a.example"), webhook("https://b.example"), {Type: notification.Slack, Webhook: "https://a.example"},
		{Type: notification.Email, Emails: []string{"a@example.com"}}, {Type: notification.Email, Emails: []string{"a@example.com", "b@example.com"}},
	}
	ids := map[string]bool{}
	for _, target := range all {
		if id := target.ID(); len(id) != 16 || strings.Trim(id, "0123456789abcdef") != "" {
			t.Errorf("%+v: %s", target, id)
		}
		ids[target.ID()] = true
	}
	if len(ids) != len(all) {
		t.Errorf("%d ids of %d targets", len(ids), len(all))
	}
	same := webhook("https://a.example")
	same.Context = &notification.SlackContext{ChannelID: "C"}
	action := envAction("a", 1)
	action.Targets = append(all, same)
	if got := len(action.DistinctTargets()); got != len(all) {
		t.Errorf("%d distinct targets", got)
	}
	other := envAction("a", 1)
	if got := action.TargetsNotIn(&other); len(got) != len(all)-1 || got[0].Webhook != "https://b.example" {
		t.Errorf("not in the other: %+v", got)
	}
}
