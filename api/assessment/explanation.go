package assessment

import (
	"fmt"

	"attestry/api/resource"
	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/links"
)

// noPolicies is the cause of the sentence that no policy is attached.
const noPolicies = "no_policies"

// Explain explains the verdict in the order of evaluation (docs/semantics.md 18.8): what fails if failing is set, else
// what does not fail. leftOut is how many sentences do not fit in the list.
func (a *Assessment) Explain(l links.Links, org evidence.OrgAccess, failing bool, list *resource.ReasonList) (sentences []resource.Explanation, leftOut int) {
	if allowance := a.Allowance; allowance != nil && !failing {
		sentences, leftOut = resource.ExplainAllowance(l, org, a.Environment.Name, allowance, allowance.At, list)
	}
	if len(a.Applied) == 0 {
		explained, more := a.explainFlows(l, org, failing, list)
		return append(sentences, explained...), leftOut + more
	}
	for i := range a.Applied {
		explained, more := resource.Explain(l, org, &a.Applied[i], a.Evaluations[i], &a.Artifact.Facts, failing, list)
		sentences, leftOut = append(sentences, explained...), leftOut+more
	}
	return sentences, leftOut
}

// explainFlows explains the compliance of the artifact's trails as a policy that requires compliant trails would.
func (a *Assessment) explainFlows(l links.Links, org evidence.OrgAccess, failing bool, list *resource.ReasonList) (sentences []resource.Explanation, leftOut int) {
	if a.Scope == EnvironmentScope && !failing {
		sentences = append(sentences, resource.Explanation{
			Cause: noPolicies, Links: map[string]string{"environment": l.Environment(org.OrgName, a.Environment.Name)},
			Text: fmt.Sprintf("No policy is attached to environment '%s', so the compliance of the artifact's trails decides.", a.Environment.Name),
		})
	}
	required := policy.Policy{TrailCompliance: policy.Requirement{Required: true}}
	facts := a.Artifact.Facts
	facts.Flows = resource.Map(a.Flows, func(number *int) policy.Flow { return a.Artifact.Flows[*number] })
	evaluation := required.Evaluate(&facts)
	for number := range evaluation {
		if number != policy.TrailComplianceNumber {
			evaluation[number].Resolutions = nil
		}
	}
	explained, leftOut := resource.Explain(l, org, &policy.Applied{Policy: &required}, evaluation, &facts, failing, list)
	for _, sentence := range explained {
		sentence.PolicyName, sentence.PolicyVersion, sentence.Rule = nil, nil, nil
		delete(sentence.Links, "policy")
		sentences = append(sentences, sentence)
	}
	return sentences, leftOut
}
