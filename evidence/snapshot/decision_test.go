package snapshot

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/policy"
)

func parsePolicies(t testing.TB, contents ...string) []policy.Applied {
	t.Helper()
	var applied []policy.Applied
	for i, content := range contents {
		parsed, err := policy.Parse([]byte("_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts:\n" + content))
		if err != nil {
			t.Fatal(err)
		}
		applied = append(applied, policy.Applied{Reference: policy.Reference{Name: fmt.Sprint("policy-", i), Version: 1}, Policy: &parsed})
	}
	return applied
}

// artifactFacts are the facts of an artifact that flows know. Each flow has the attestations 0 to n-1, all compliant
// but the failing one.
func artifactFacts(flows, attestations, failing int) *policy.Facts {
	facts := &policy.Facts{Name: "app", Fingerprint: fingerprint("app")}
	for flow := range flows {
		one := policy.Flow{Name: fmt.Sprint("flow-", flow), Trail: "t", Status: evidence.Compliant, Tags: map[string]string{"kind": "build"}}
		for n := range attestations {
			one.Attestations = append(one.Attestations, evidence.Entry{
				ID: fmt.Sprint(flow, "-", n), Name: fmt.Sprint("check-", n), Type: "generic", Compliant: n != failing, Time: float64(n),
			})
		}
		facts.Flows = append(facts.Flows, one)
	}
	return facts
}

func TestDecisionsKeepOutcomesAndTheAttestationsOfFailures(t *testing.T) {
	applied := parsePolicies(t, `  provenance: {required: true}
  attestations:
    - {type: generic, name: check-0}
    - {type: generic, name: check-1}
    - {type: generic, name: check-9, if: "${{ flow.name == 'flow-1' }}"}
    - {type: generic, name: check-0, if: "${{ flow.tags.kind < 3 }}"}
`)
	for _, flows := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(flows, " flows"), func(t *testing.T) {
			facts := artifactFacts(flows, 2, 1)
			want := applied[0].Policy.Evaluate(facts)
			decision := newDecision(want, &decisionSpace{maxDecisionsSize, maxDecisionsSize})
			got := decision.Evaluation(flows)
			for number := range want {
				for flow, resolution := range want[number].Resolutions {
					kept := got[number].Resolutions[flow]
					if kept.Outcome != resolution.Outcome || kept.Flow != resolution.Flow || kept.Fault != resolution.Fault {
						t.Errorf("rule %d: %+v was kept as %+v", number, resolution, kept)
					}
					if resolution.Outcome.Failing() && !reflect.DeepEqual(kept.Attestation, resolution.Attestation) {
						t.Errorf("rule %d: %+v was kept as decided by %+v", number, resolution, kept.Attestation)
					}
				}
			}
			if decision.Compliant() != want.Compliant() || got.Compliant() != want.Compliant() {
				t.Errorf("compliant %t, want %t", decision.Compliant(), want.Compliant())
			}
		})
	}
}

func TestDecisionsStaySmall(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("  attestations:\n")
	for n := range 900 {
		// The rule applies to every other flow.
		fmt.Fprintf(&rules, "    - {type: generic, name: check-0, if: \"${{ flow.name in ['flow-%d', 'flow-%d'] }}\"}\n", n%7, n%5)
	}
	applied := parsePolicies(t, rules.String())
	evaluation := applied[0].Policy.Evaluate(artifactFacts(500, 1, 0))
	decision := newDecision(evaluation, &decisionSpace{maxDecisionsSize, maxDecisionsSize})
	if len(decision.Rules) > 2*maxRulesSize || len(decision.Reasons) > maxReasons {
		t.Errorf("%d letters, %d reasons", len(decision.Rules), len(decision.Reasons))
	}
	// Rules of which something was cut keep their verdicts.
	kept := decision.Evaluation(500)
	if decision.Compliant() || len(kept) != len(evaluation) {
		t.Fatalf("compliant %t, %d rules", decision.Compliant(), len(kept))
	}
	for number := range evaluation {
		if got, want := kept[number:number+1].Compliant(), evaluation[number:number+1].Compliant(); got != want {
			t.Errorf("rule %d: compliant %t, want %t", number, got, want)
		}
	}
}

func TestReasonsOfAnArtifactAreBoundedAndCounted(t *testing.T) {
	long := strings.Repeat("n", 255)
	var rules strings.Builder
	rules.WriteString("  attestations:\n")
	for range 30 {
		rules.WriteString("    - {type: generic, name: check-0}\n")
	}
	contents := make([]string, 100)
	for i := range contents {
		contents[i] = rules.String()
	}
	facts := artifactFacts(20, 1, 0)
	for i := range facts.Flows {
		facts.Flows[i].Name, facts.Flows[i].Trail = long, long
	}
	decisions, compliant := EvaluatePolicies(parsePolicies(t, contents...), facts, false)
	size, kept, leftOut := 0, 0, 0
	for i := range decisions {
		size += decisions[i].size()
		kept, leftOut = kept+len(decisions[i].Reasons), leftOut+decisions[i].LeftOut
		if decisions[i].Compliant() {
			t.Errorf("policy %d: what is left out changes the verdict", i)
		}
	}
	if size > 3*maxDecisionsSize || *compliant {
		t.Errorf("%d bytes, compliant %t", size, *compliant)
	}
	if kept == 0 || kept+leftOut != 100*30*20 {
		t.Errorf("%d reasons are kept, %d left out", kept, leftOut)
	}
}

func TestDecisionsKeepTheBeginningOfLongFaults(t *testing.T) {
	applied := parsePolicies(t, "  attestations: [{type: generic, name: check-0, if: \"${{ flow.tags.kind < 3 or artifact.name == '"+strings.Repeat("ä", 4000)+"' }}\"}]\n")
	decision := newDecision(applied[0].Policy.Evaluate(artifactFacts(1, 1, 5)), &decisionSpace{maxDecisionsSize, maxDecisionsSize})
	if len(decision.Reasons) != 1 || len([]rune(decision.Reasons[0].Fault)) != maxFault || !strings.HasPrefix(decision.Reasons[0].Fault, "the condition") {
		t.Errorf("kept %+v", decision.Reasons)
	}
}

func TestDecisionsOfOriginsThatWereCutStillFail(t *testing.T) {
	applied := parsePolicies(t, "  attestations: [{type: generic, name: check-0, if: \"${{ flow.name == 'flow-2' }}\"}]\n")
	decision := newDecision(applied[0].Policy.Evaluate(artifactFacts(3, 1, 0)), &decisionSpace{maxDecisionsSize, maxDecisionsSize})
	for origins := range 4 {
		if evaluation := decision.Evaluation(origins); evaluation.Compliant() || len(evaluation[0].Resolutions) != max(origins, 1) {
			t.Errorf("with %d origins kept: %+v", origins, evaluation)
		}
	}
}

func TestArtifactsComplyWithAllPoliciesOrAreAllowed(t *testing.T) {
	good, bad := "  provenance: {required: true}\n", "  attestations: [{type: snyk}]\n"
	for name, c := range map[string]struct {
		policies []string
		allowed  bool
		want     string
	}{
		"no policy":               {nil, false, "null"},
		"no policy, allowed":      {nil, true, "null"},
		"one that is satisfied":   {[]string{good}, false, "true"},
		"one of two fails":        {[]string{good, bad}, false, "false"},
		"one of two, and allowed": {[]string{good, bad}, true, "true"},
	} {
		t.Run(name, func(t *testing.T) {
			_, compliant := EvaluatePolicies(parsePolicies(t, c.policies...), artifactFacts(1, 1, 5), c.allowed)
			if got := string(encode(compliant)); got != c.want {
				t.Errorf("compliant is %s, want %s", got, c.want)
			}
		})
	}
}

// BenchmarkPolicies evaluates artifacts that two flows know by 5 policies of 10 rules.
func BenchmarkPolicies(b *testing.B) {
	content := "  provenance: {required: true, exceptions: [{if: \"${{ matches(artifact.name, 'kube-system/') }}\"}]}\n" +
		"  trail-compliance: {required: true, exceptions: [{if: \"${{ flow.tags.kind == 'manual' }}\"}]}\n  attestations:\n"
	for n := range 8 {
		content += fmt.Sprintf("    - {type: generic, name: check-%d, if: \"${{ flow.tags.kind == 'build' and artifact.name != 'legacy' }}\"}\n", n)
	}
	applied := parsePolicies(b, content, content, content, content, content)
	for _, artifacts := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(artifacts, " artifacts"), func(b *testing.B) {
			facts := artifactFacts(2, 8, 3)
			for b.Loop() {
				for range artifacts {
					if _, compliant := EvaluatePolicies(applied, facts, false); *compliant {
						b.Fatal("compliant")
					}
				}
			}
		})
	}
}

func TestDeploymentsKeepFewAndShortFailures(t *testing.T) {
	const long = 2000
	rules := "  provenance: {required: true}\n  trail-compliance: {required: true}\n  attestations:\n"
	facts := artifactFacts(1, 0, 0)
	for i := range 20 {
		rules += fmt.Sprintf("    - {type: generic, name: check-%d}\n", i)
		facts.Flows[0].Attestations = append(facts.Flows[0].Attestations, evidence.Entry{
			ID: fmt.Sprint(i), Name: fmt.Sprint("check-", i), Type: "generic", Finding: strings.Repeat("x", long),
		})
	}
	facts.Flows[0].Status = evidence.NonCompliant
	applied := parsePolicies(t, rules)
	artifact := Artifact{Since: 7, Origins: []Origin{{Shortfall: &policy.Shortfall{Missing: []string{"scan"}}}}}
	artifact.Decisions, artifact.Compliant = EvaluatePolicies(applied, facts, false)
	made := Snapshot{Number: 7, Policies: policy.References(applied)}
	start := made.Deployments(&artifact)[0].Start
	if start == nil || len(start.Failures) != maxFailures || start.Compliant == nil || *start.Compliant {
		t.Fatalf("the verdict of the beginning is %+v", start)
	}
	if want := "policy-0: non_compliant_in_trail (missing: 'scan')"; start.Failures[0] != want {
		t.Errorf("the first failure is %q, want %q", start.Failures[0], want)
	}
	for _, failure := range start.Failures[1:] {
		if !strings.HasPrefix(failure, "policy-0: non_compliant_attestation 'check-") || len(failure) > 300 {
			t.Errorf("%d bytes: %s", len(failure), failure)
		}
	}
	made.Number = 8
	if later := made.Deployments(&artifact)[0].Start; later != nil {
		t.Errorf("what runs on has the verdict %+v of a beginning", later)
	}
}

func TestRulesHaveALetterForEachFlowAsLongAsTheyFit(t *testing.T) {
	for flows, want := range map[int]int{16<<10 - 1: 16<<10 - 1, 16 << 10: 1} { // a blank follows each rule
		resolutions := make([]policy.Resolution, flows)
		resolutions[0].Outcome, resolutions[1].Outcome = policy.Satisfied, policy.MissingAttestation
		for i := range resolutions[2:] {
			resolutions[i+2].Outcome = policy.Satisfied
		}
		decision := newDecision(policy.Evaluation{{Resolutions: resolutions}}, &decisionSpace{rules: maxDecisionsSize, reasons: maxDecisionsSize})
		if len(decision.Rules) != want || want == 1 && decision.Rules != "m" {
			t.Errorf("%d flows have %d letters", flows, len(decision.Rules))
		}
	}
}
