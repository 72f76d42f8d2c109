package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"attestry/evidence"
	"attestry/evidence/policy"
)

// drawnPolicies are the policies by which random facts are evaluated.
var drawnPolicies = []string{
	"{provenance: {required: true}, trail-compliance: {required: true}}",
	"{attestations: [{type: snyk, name: a0}, {type: '*', name: a1}]}",
	"{attestations: [{type: junit}, {type: decision, for_control: R1}]}",
	"{attestations: [{type: snyk, if: \"${{ flow.tags.kind == 'build' }}\"}, {type: generic, must_be_compliant: false}]}",
}

var drawnTypes = []string{"snyk", "junit", "generic", "system:decision"}

// drawFacts draws an artifact with up to two flows. The type of an attestation follows from its name, so a replacement
// has the same type.
func drawFacts(random *rand.Rand) policy.Facts {
	facts := policy.Facts{Name: "app", Decisions: map[string]policy.Decision{}}
	for i := range random.IntN(3) {
		flow := policy.Flow{Name: fmt.Sprint("flow", i), Trail: "t", Status: evidence.Compliant, Tags: map[string]string{"kind": []string{"build", "deploy"}[i]}}
		for n := range 4 {
			if random.IntN(2) == 0 {
				flow.Attestations = append(flow.Attestations, drawEntry(random, n, random.IntN(2) == 0))
			}
		}
		flow.Status = statusOf(flow.Attestations)
		facts.Flows = append(facts.Flows, flow)
	}
	if random.IntN(2) == 0 {
		facts.Decisions["R1"] = policy.Decision{Entry: drawEntry(random, 3, random.IntN(2) == 0)}
	}
	return facts
}

func drawEntry(random *rand.Rand, n int, compliant bool) evidence.Entry {
	return evidence.Entry{
		ID: fmt.Sprint(random.Int64()), Time: random.Float64(), Name: fmt.Sprint("a", n), Type: drawnTypes[n], Compliant: compliant,
	}
}

func statusOf(entries []evidence.Entry) evidence.Status {
	if slices.ContainsFunc(entries, func(e evidence.Entry) bool { return !e.Compliant }) {
		return evidence.NonCompliant
	}
	return evidence.Compliant
}

// eachDrawn calls check for each policy and many random facts.
func eachDrawn(t *testing.T, check func(random *rand.Rand, parsed *policy.Policy, facts policy.Facts)) {
	t.Helper()
	for _, content := range drawnPolicies {
		t.Run(content, func(t *testing.T) {
			parsed := parsePolicy(t, head+"artifacts: "+content)
			for seed := range uint64(2000) {
				random := rand.New(rand.NewPCG(seed, 0))
				check(random, &parsed, drawFacts(random))
			}
		})
	}
}

func TestCompliantAttestationNeverMakesAnArtifactNonCompliant(t *testing.T) {
	eachDrawn(t, func(random *rand.Rand, parsed *policy.Policy, facts policy.Facts) {
		if !parsed.Evaluate(&facts).Compliant() || len(facts.Flows) == 0 {
			return
		}
		flow := &facts.Flows[random.IntN(len(facts.Flows))]
		added := drawEntry(random, random.IntN(4), true)
		added.Time = 2
		flow.Attestations = evidence.AddEntry(slices.Clone(flow.Attestations), added)
		flow.Status = statusOf(flow.Attestations)
		if !parsed.Evaluate(&facts).Compliant() {
			t.Fatalf("adding %+v makes it non-compliant: %+v", added, facts)
		}
	})
}

func TestOrderOfAttestationsDoesNotMatter(t *testing.T) {
	eachDrawn(t, func(random *rand.Rand, parsed *policy.Policy, facts policy.Facts) {
		before := parsed.Evaluate(&facts).Compliant()
		for _, flow := range facts.Flows {
			random.Shuffle(len(flow.Attestations), func(i, j int) {
				flow.Attestations[i], flow.Attestations[j] = flow.Attestations[j], flow.Attestations[i]
			})
		}
		if parsed.Evaluate(&facts).Compliant() != before {
			t.Fatalf("another order makes another verdict: %+v", facts)
		}
	})
}

func TestCompliantVerdictHasNoFailingResolution(t *testing.T) {
	eachDrawn(t, func(_ *rand.Rand, parsed *policy.Policy, facts policy.Facts) {
		evaluation := parsed.Evaluate(&facts)
		failing := false
		for number, rule := range evaluation {
			if len(rule.Resolutions) != max(1, len(facts.Flows)) {
				t.Fatalf("rule %d has %d resolutions for %d flows", number, len(rule.Resolutions), len(facts.Flows))
			}
			for _, resolution := range rule.Resolutions {
				sentence := parsed.Explain(number, resolution, &facts)
				failing = failing || resolution.Outcome.Failing()
				if (sentence.Remedy != "") != resolution.Outcome.Failing() || sentence.Text == "" {
					t.Fatalf("%s is explained as %+v", resolution.Outcome, sentence)
				}
			}
		}
		if evaluation.Compliant() == failing {
			t.Fatalf("compliant %v with a failing resolution %v", evaluation.Compliant(), failing)
		}
	})
}
