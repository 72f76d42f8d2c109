package snapshot

import (
	"fmt"
	"testing"
)

// described shows the members of a logical snapshot that depend on its predecessor.
func described(s *Snapshot) string {
	text := fmt.Sprintf("#%d at %.6f, %s, %d events behind %d:", s.Number, s.Timestamp, encode(s.State), s.Events, s.EventsBefore)
	for _, member := range s.Members {
		text += fmt.Sprintf(" %s/%d", member.Environment, member.Number)
	}
	if s.Cause != nil {
		text += fmt.Sprintf(" for %s/%d", s.Cause.Environment, s.Cause.Number)
	}
	return text
}

func TestLogicalSnapshotsFollowEachOther(t *testing.T) {
	yes, no := true, false
	last := Snapshot{
		Org: "org", Environment: "all", Number: 4, Timestamp: 100, EventsBefore: 7, Events: 3,
		Members: []Member{{"one", 2, &yes}, {"two", 5, &no}, {"new", 0, nil}},
	}
	before := described(&last)
	made := func(environment string, number int64, at float64, state *bool) *Snapshot {
		return &Snapshot{Environment: environment, Number: number, Timestamp: at, State: state, EventsBefore: 40, Events: 2}
	}
	for name, c := range map[string]struct {
		next Snapshot
		want string
	}{
		"a member's snapshot":    {last.WithSnapshot(made("two", 6, 200, &yes)), "#5 at 200.000000, true, 2 events behind 10: one/2 two/6 new/0 for two/6"},
		"one that comes late":    {last.WithSnapshot(made("two", 6, 50, nil)), "#5 at 100.000001, null, 2 events behind 10: one/2 two/6 new/0 for two/6"},
		"one of the same time":   {last.WithSnapshot(made("one", 3, 100, &yes)), "#5 at 100.000001, false, 2 events behind 10: one/3 two/5 new/0 for one/3"},
		"a lost state":           {last.WithSnapshot(made("one", 3, 200, nil)), "#5 at 200.000000, false, 2 events behind 10: one/3 two/5 new/0 for one/3"},
		"a member's first":       {last.WithSnapshot(made("new", 1, 200, nil)), "#5 at 200.000000, false, 2 events behind 10: one/2 two/5 new/1 for new/1"},
		"a member has left":      {last.WithMembers([]Member{{"one", 2, &yes}}, 300), "#5 at 300.000000, true, 0 events behind 10: one/2"},
		"all have left":          {last.WithMembers(nil, 300), "#5 at 300.000000, null, 0 events behind 10:"},
		"a clock that runs late": {last.WithMembers(nil, 3), "#5 at 100.000001, null, 0 events behind 10:"},
		"the first of all":       {(&Snapshot{}).WithMembers([]Member{{"one", 2, &yes}}, 3), "#1 at 3.000000, true, 0 events behind 0: one/2"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := described(&c.next); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if c.next.Type != "logical" {
				t.Errorf("its type is %s", c.next.Type)
			}
		})
	}
	if got := described(&last); got != before {
		t.Errorf("the last one has become %s", got)
	}
}

func TestMembersAreComparedInAnyOrder(t *testing.T) {
	s := Snapshot{Members: []Member{{Environment: "one"}, {Environment: "two"}}}
	for name, c := range map[string]struct {
		ids  []string
		want bool
	}{
		"the same":      {[]string{"one", "two"}, true},
		"another order": {[]string{"two", "one"}, true},
		"one less":      {[]string{"two"}, false},
		"one more":      {[]string{"one", "two", "three"}, false},
		"another one":   {[]string{"one", "three"}, false},
		"none":          {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.HasMembers(c.ids); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestEventsOfAMemberGetTheNumbersOfTheLogicalSnapshot(t *testing.T) {
	yes := true
	s := Snapshot{
		Environment: "all", Number: 9, Timestamp: 500, EventsBefore: 100, Events: 2, State: &yes,
		Cause: &Cause{Environment: "one", Number: 3, EventsBefore: 20},
	}
	events := []Event{
		{Environment: "one", Ordinal: 21, Snapshot: 3, Timestamp: 400, Fingerprint: "f", Name: "n", Type: Exited, Repos: []string{"r"}},
		{Environment: "one", Ordinal: 22, Snapshot: 3, Timestamp: 400, Fingerprint: "g"},
	}
	got := s.EventsOfMember(events)
	want := []Event{
		{Environment: "all", Member: "one", Ordinal: 101, Snapshot: 9, Timestamp: 500, Fingerprint: "f", Name: "n", Type: Exited, Repos: []string{"r"}, SnapshotCompliant: true},
		{Environment: "all", Member: "one", Ordinal: 102, Snapshot: 9, Timestamp: 500, Fingerprint: "g", SnapshotCompliant: true},
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	if events[0].Environment != "one" || events[0].Ordinal != 21 {
		t.Errorf("the member's own has become %+v", events[0])
	}
}
