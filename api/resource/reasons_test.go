package resource

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/links"
)

// manyRules is a policy with so many rules. manyFacts satisfy all but the last one.
func manyRules(t *testing.T, rules int) *policy.Applied {
	t.Helper()
	var b strings.Builder
	b.WriteString("_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts:\n  attestations:\n")
	for range rules - 1 {
		b.WriteString("    - {type: generic, name: passes}\n")
	}
	b.WriteString("    - {type: generic, name: fails}\n")
	parsed, err := policy.Parse([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return &policy.Applied{Reference: policy.Reference{Name: "many"}, Policy: &parsed}
}

func manyFacts(flows int) *policy.Facts {
	facts := &policy.Facts{}
	for i := range flows {
		facts.Flows = append(facts.Flows, policy.Flow{
			Name: fmt.Sprint("flow-", i), Trail: "t", Attestations: []evidence.Entry{{ID: "1", Name: "passes", Type: "generic", Compliant: true}},
		})
	}
	return facts
}

func lengthOf(t *testing.T, value any) int {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return len(encoded)
}

func TestReasonsAreBoundedForEachArtifactAndForAll(t *testing.T) {
	applied, facts := manyRules(t, policy.MaxRules), manyFacts(3)
	view := NewPolicyViews([]policy.Applied{*applied})[0]
	evaluation := applied.Policy.Evaluate(facts)
	reasons := NewReasons(3 * maxListedReasons)
	total := 0
	for artifact := range 10 {
		shown := view.Show(evaluation, facts.Flows, reasons.List())
		size := lengthOf(t, shown)
		total += size
		if size > maxListedReasons+1000 {
			t.Errorf("artifact %d has %d bytes", artifact, size)
		}
		if shown.Status != evidence.NonCompliant || shown.RulesLeftOut == 0 || shown.RulesLeftOut+len(shown.RuleEvaluations) != len(evaluation) {
			t.Errorf("artifact %d is %s, %d rules are shown, %d left out", artifact, shown.Status, len(shown.RuleEvaluations), shown.RulesLeftOut)
		}
		if last := len(shown.RuleEvaluations) - 1; artifact == 0 && *shown.RuleEvaluations[last].Satisfied {
			t.Error("the rule that fails is left out, and others are shown")
		}
	}
	if total > 3*maxListedReasons+10_000 {
		t.Errorf("%d bytes in all", total)
	}
}

func TestFewReasonsAreAllShown(t *testing.T) {
	applied, facts := manyRules(t, 20), manyFacts(3)
	view := NewPolicyViews([]policy.Applied{*applied})[0]
	evaluation := applied.Policy.Evaluate(facts)
	shown := view.Show(evaluation, facts.Flows, OneList())
	if text, err := json.Marshal(shown); err != nil || len(shown.RuleEvaluations) != len(evaluation) || strings.Contains(string(text), "left_out") {
		t.Errorf("got %s %v", text, err)
	}
}

func TestResolutionsOfOneRuleAreBounded(t *testing.T) {
	applied, facts := manyRules(t, 1), manyFacts(5000)
	view := NewPolicyViews([]policy.Applied{*applied})[0]
	evaluation := applied.Policy.Evaluate(facts)
	shown := view.Show(evaluation, facts.Flows, NewReasons(1<<30).List())
	rule := shown.RuleEvaluations[len(shown.RuleEvaluations)-1]
	if len(rule.Resolutions) == 0 || rule.ResolutionsLeftOut+len(rule.Resolutions) != 5000 || lengthOf(t, shown) > 2*maxListedReasons {
		t.Errorf("%d resolutions, %d left out", len(rule.Resolutions), rule.ResolutionsLeftOut)
	}
	failing := []RuleResolution{}
	leftOut := view.Failing(&failing, evaluation, facts.Flows, policy.NoFlow, NewReasons(1<<30).List())
	if len(failing) == 0 || leftOut+len(failing) != 5000 || lengthOf(t, failing) > 2*maxListedReasons {
		t.Errorf("%d failing resolutions, %d left out", len(failing), leftOut)
	}
}

func TestExplanationsAreBounded(t *testing.T) {
	applied, facts := manyRules(t, 1), manyFacts(5000)
	evaluation := applied.Policy.Evaluate(facts)
	explained, leftOut := Explain(links.Links{}, evidence.OrgAccess{OrgName: "acme"}, applied, evaluation, facts, true, NewReasons(1<<30).List())
	if len(explained) == 0 || leftOut+len(explained) != 5000 || lengthOf(t, explained) > maxListedReasons {
		t.Errorf("%d sentences of %d bytes, %d left out", len(explained), lengthOf(t, explained), leftOut)
	}
}
