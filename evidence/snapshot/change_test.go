package snapshot

import "testing"

func TestDiffAnnotates(t *testing.T) {
	yes, no := true, false
	running := func(verdict *bool, instances int) []Artifact {
		return []Artifact{{Reported: Reported{Fingerprint: "f", Name: "n", CreatedAt: make([]int64, instances)}, Compliant: verdict}}
	}
	for name, c := range map[string]struct {
		before, after []Artifact
		want          Annotation
		was, now      int
		sentence      string
		significant   bool
	}{
		"a start":                 {nil, running(nil, 1), StartedUnknown, 0, 1, "1 instance started running (from 0 to 1)", true},
		"a compliant start":       {nil, running(&yes, 3), StartedCompliant, 0, 3, "3 instances started running (from 0 to 3)", true},
		"a non-compliant start":   {nil, running(&no, 1), StartedNonCompliant, 0, 1, "1 instance started running (from 0 to 1)", true},
		"an exit":                 {running(&yes, 3), nil, Exited, 3, 0, "3 instances stopped running (from 3 to 0)", true},
		"a turn to compliant":     {running(&no, 2), running(&yes, 2), BecameCompliant, 2, 2, "2 instances changed", true},
		"a turn to non-compliant": {running(&yes, 1), running(&no, 1), BecameNonCompliant, 1, 1, "1 instance changed", true},
		"a verdict that is lost":  {running(&yes, 1), running(nil, 1), Changed, 1, 1, "1 instance changed", true},
		"scaling alone":           {running(&yes, 1), running(&yes, 4), Unchanged, 1, 4, "4 instances changed", false},
	} {
		changes := Diff(c.before, c.after)
		if len(changes) != 1 {
			t.Errorf("%s: %d changes", name, len(changes))
			continue
		}
		got := changes[0]
		if got.Type != c.want || got.Was != c.was || got.Now != c.now || got.Description() != c.sentence {
			t.Errorf("%s: got %+v, %q", name, got, got.Description())
		}
		if Significant(changes) != c.significant {
			t.Errorf("%s: significant is %v", name, !c.significant)
		}
	}
}

func TestDiffOfEqualArtifactsIsEmpty(t *testing.T) {
	artifacts := artifactsNamed(40, "a")
	if changes := Diff(artifacts, artifacts); len(changes) != 0 {
		t.Errorf("%d changes", len(changes))
	}
}

func TestEventsFollowTheOrderOfAppearance(t *testing.T) {
	s := Snapshot{Number: 7, EventsBefore: 10}
	events := s.EventsOf([]Change{
		{Fingerprint: "a", Type: Exited, Newest: 50},
		{Fingerprint: "b", Type: StartedUnknown, Newest: 10},
		{Fingerprint: "c", Type: Unchanged, Newest: 99},
		{Fingerprint: "d", Type: StartedUnknown, Newest: 20},
	}, nil)
	var order string
	for i, event := range events {
		order += event.Fingerprint
		if event.Ordinal != int64(11+i) || event.Snapshot != 7 {
			t.Errorf("event %d is %+v", i, event)
		}
	}
	if order != "dba" {
		t.Errorf("order %s", order)
	}
}

func TestChangedVerdictsNameTheirCause(t *testing.T) {
	permitted := Artifact{Compliant: new(true), Allowed: true}
	for name, c := range map[string]struct {
		before, after Artifact
		policies      bool
		want          Changer
	}{
		"permitted":                             {Artifact{Compliant: new(false)}, permitted, false, ByAllowList},
		"permitted when policies change":        {Artifact{Compliant: new(false)}, permitted, true, ByAllowList},
		"no longer permitted":                   {permitted, Artifact{Compliant: new(false)}, false, ByAllowList},
		"permitted, and all policies detached":  {permitted, Artifact{}, true, ByPolicies},
		"permitted, and the first one attached": {Artifact{}, permitted, true, ByPolicies},
		"permitted in a member of a logical environment without policies by now": {permitted, Artifact{}, false, ByPolicies},
		"another policy": {Artifact{Compliant: new(false)}, Artifact{Compliant: new(true)}, true, ByPolicies},
		"other evidence": {Artifact{Compliant: new(false)}, Artifact{Compliant: new(true)}, false, ByEvidence},
		"nothing":        {permitted, permitted, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.after.CreatedAt = []int64{1} // another number of instances, so that there is always a change
			changes := diff([]Artifact{c.before}, []Artifact{c.after}, c.policies)
			if len(changes) != 1 || changes[0].By != c.want {
				t.Errorf("got %+v, want the cause %q", changes, c.want)
			}
		})
	}
}

// TestChangesMarkArtifactsThatAFlowLearnedOf compares artifacts that no flow knew before, whatever else changes.
func TestChangesMarkArtifactsThatAFlowLearnedOf(t *testing.T) {
	yes := true
	known := []Origin{{}}
	for what, c := range map[string]struct {
		before, after Artifact
		want          bool
	}{
		"learned":               {Artifact{}, Artifact{Origins: known}, true},
		"learned and compliant": {Artifact{}, Artifact{Origins: known, Compliant: &yes}, true},
		"known":                 {Artifact{Origins: known}, Artifact{Origins: known, Compliant: &yes}, false},
		"unknown":               {Artifact{}, Artifact{Compliant: &yes}, false},
	} {
		changes := Diff([]Artifact{c.before}, []Artifact{c.after})
		if len(changes) != 1 || changes[0].Learned != c.want {
			t.Errorf("%s: %+v", what, changes)
		}
	}
}
