package evidence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
)

func TestChangeOfAnEnvironmentAppliesWhatIsSent(t *testing.T) {
	before := evidence.Environment{Description: "d", IncludeScaling: true, Included: []string{"a", "b"}, Policies: []string{"p", "q"}}
	for name, c := range map[string]struct {
		change  evidence.EnvironmentChange
		changed bool
		want    string
	}{
		"nothing":             {evidence.EnvironmentChange{}, false, "d true [a b] [p q] false"},
		"the same":            {evidence.EnvironmentChange{Description: new("d"), IncludeScaling: new(true), Included: &[]string{"a", "b"}}, false, "d true [a b] [p q] false"},
		"a description":       {evidence.EnvironmentChange{Description: new("e")}, true, "e true [a b] [p q] false"},
		"an empty one":        {evidence.EnvironmentChange{Description: new("")}, true, " true [a b] [p q] false"},
		"scaling":             {evidence.EnvironmentChange{IncludeScaling: new(false)}, true, "d false [a b] [p q] false"},
		"the order":           {evidence.EnvironmentChange{Included: &[]string{"b", "a"}}, true, "d true [b a] [p q] false"},
		"no members any more": {evidence.EnvironmentChange{Included: &[]string{}}, true, "d true [] [p q] false"},
		"other policies":      {evidence.EnvironmentChange{Policies: &[]string{"p"}}, true, "d true [a b] [p] false"},
		"policies reordered":  {evidence.EnvironmentChange{Policies: &[]string{"q", "p"}}, false, "d true [a b] [p q] false"},
		"provenance":          {evidence.EnvironmentChange{RequireProvenance: new(true)}, true, "d true [a b] [p q] true"},
	} {
		e := before
		changed := e.Apply(c.change)
		if got := fmt.Sprint(e.Description, " ", e.IncludeScaling, " ", e.Included, " ", e.Policies, " ", e.RequireProvenance); changed != c.changed || got != c.want {
			t.Errorf("%s: %t %q", name, changed, got)
		}
	}
}

func TestMembersJoinOnceAndUpToAThousand(t *testing.T) {
	e := evidence.Environment{Included: []string{"a"}}
	if joined, err := e.Join("b"); !joined || err != nil {
		t.Errorf("a new member: %t, %v", joined, err)
	}
	if joined, err := e.Join("a"); joined || err != nil || !slices.Equal(e.Included, []string{"a", "b"}) {
		t.Errorf("the same member: %t, %v, %v", joined, err, e.Included)
	}
	for i := len(e.Included); i < evidence.MaxMembers; i++ {
		if _, err := e.Join(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if joined, err := e.Join("one more"); joined || evidence.CodeOf(err) != evidence.Invalid || len(e.Included) != evidence.MaxMembers {
		t.Errorf("one more: %t, %v, %d members", joined, err, len(e.Included))
	}
	if joined, err := e.Join("a"); joined || err != nil {
		t.Errorf("the same member of a full one: %t, %v", joined, err)
	}
}

func TestMembersAreReplacedByTheirSuccessors(t *testing.T) {
	successors := map[string]string{"a": "x", "old": "x", "b": "y"}
	for _, c := range []struct{ members, want string }{
		{"c d", "c d"},
		{"c a d", "c x d"},
		{"d a c a d", "d x c x d"},
		{"d b d", "d y d"},
		{"a c x", "x c"}, // the successor had joined already
		{"x c a x", "x c x"},
		{"old a old", "x x"},
	} {
		e := evidence.Environment{Included: strings.Fields(c.members)}
		e.FollowMembers(successors)
		if got := strings.Join(e.Included, " "); got != c.want {
			t.Errorf("%s became %s, want %s", c.members, got, c.want)
		}
	}
}

func TestPoliciesAreAttachedOnceAndUpToAHundred(t *testing.T) {
	var e evidence.Environment
	var names []string
	for i := range evidence.MaxPolicies - 1 {
		names = append(names, fmt.Sprint(i))
	}
	if changed, err := e.AttachPolicies(names); !changed || err != nil {
		t.Fatalf("attached: %t, %v", changed, err)
	}
	if changed, err := e.AttachPolicies([]string{"0", "1"}); changed || err != nil {
		t.Errorf("attached again: %t, %v", changed, err)
	}
	if changed, err := e.AttachPolicies([]string{"one", "two more"}); changed || evidence.CodeOf(err) != evidence.Invalid || !slices.Equal(e.Policies, names) {
		t.Errorf("too many: %t, %v, %q", changed, err, e.Policies)
	}
	if changed, err := e.AttachPolicies([]string{"0", "last"}); !changed || err != nil || len(e.Policies) != evidence.MaxPolicies {
		t.Errorf("the last one: %t, %v, %d policies", changed, err, len(e.Policies))
	}
}

func TestEnvironmentIsArchivedOnce(t *testing.T) {
	e := evidence.Environment{Name: "prod", LastModifiedAt: 3}
	e.Archive(5)
	e.Archive(7)
	if !e.Archived || e.ArchivedAt != 5 || e.LastModifiedAt != 5 || e.Name != "prod" {
		t.Errorf("got %+v", e)
	}
}

func TestChangesOfAdmissionSettingsAreListed(t *testing.T) {
	before := evidence.DefaultAdmission()
	for name, c := range map[string]struct {
		after evidence.AdmissionSettings
		want  string
	}{
		"nothing": {evidence.DefaultAdmission(), ""},
		"all": {
			evidence.AdmissionSettings{Mode: "a", Tags: "b", UnknownArtifacts: "c", Failure: "d", BreakGlass: "e", ExemptNamespaces: []string{"f", "g"}},
			"mode off to a, tags deny to b, unknown_artifacts policies to c, failure deny to d, exempt_namespaces kube-system to f,g, break_glass none to e",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := before.Changes(&c.after); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestRenamedEnvironmentKeepsItsNewestNamesOnce(t *testing.T) {
	environment := evidence.Environment{Name: "a"}
	for _, name := range []string{"b", "a", "c"} {
		environment.Rename(name, 1)
	}
	if got := environment.Names(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %q", got)
	}
	for i := range 101 {
		environment.Rename(fmt.Sprint(i), 1)
	}
	if got := environment.Names(); len(got) != 101 || got[0] != "0" || got[100] != "100" {
		t.Errorf("%d names from %s to %s", len(got), got[0], got[len(got)-1])
	}
}
