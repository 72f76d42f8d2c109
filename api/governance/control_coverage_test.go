package governance

import (
	"reflect"
	"testing"

	"attestry/evidence"
	"attestry/evidence/policy"
)

func TestCoverageIsThatOfAttachedPolicies(t *testing.T) {
	policies := []policy.Head{{Name: "one", Controls: []string{"C-1", "C-2"}}, {Name: "two", Controls: []string{"C-1"}}, {Name: "other", Controls: []string{"C-3"}}, {Name: "none"}}
	environments := []evidence.Environment{
		{Name: "staging", Type: evidence.K8S, Policies: []string{"other", "none"}},
		{Name: "prod", Type: evidence.ECS, Policies: []string{"two", "none", "one"}},
		{Name: "bare", Type: evidence.Server},
		{Name: "old", Type: evidence.K8S, Policies: []string{"one"}, Archived: true},
		{Name: "all", Type: evidence.LogicalType, Policies: []string{"one"}},
	}
	want := []ControlEnvironment{
		{Name: "bare", Type: "server", Policies: []string{}},
		{Name: "prod", Type: "ECS", Covered: true, Policies: []string{"two", "one"}},
		{Name: "staging", Type: "K8S", Policies: []string{}},
	}
	if got := coverage("C-1", policies, environments); !reflect.DeepEqual(got, want) {
		t.Errorf("the coverage is %+v", got)
	}
}
