package governance

import (
	"context"
	"fmt"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/policy"
)

// Causes of sentences that are about no rule of a policy.
const (
	allowListed = "allow_listed"
	noPolicies  = "no_policies"
)

// ArtifactExplanation explains the answer of an assert (docs/semantics.md 18.8).
type ArtifactExplanation struct {
	Fingerprint string                 `json:"fingerprint"`
	Scope       string                 `json:"scope" enum:"flow,environment,policy"`
	Environment *string                `json:"environment" nullable:"true"`
	Compliant   bool                   `json:"compliant"`
	Explanation []resource.Explanation `json:"explanation" doc:"What fails first."`
}

type explanationAnswer struct {
	Body ArtifactExplanation
}

// explainArtifact explains what assertArtifact answers to the same question.
func (h *handlers) explainArtifact(ctx context.Context, in *assertInput) (*explanationAnswer, error) {
	org := server.Access(ctx)
	found, err := h.assess(ctx, org, in)
	if err != nil {
		return nil, err
	}
	body := ArtifactExplanation{
		Fingerprint: in.Fingerprint, Scope: found.scope, Environment: resource.NilIfEmpty(found.environment), Compliant: found.compliant(),
	}
	sentences := h.explain(org, found)
	for _, failing := range []bool{true, false} {
		for _, sentence := range sentences {
			if sentence.Failing == failing {
				body.Explanation = append(body.Explanation, sentence)
			}
		}
	}
	return &explanationAnswer{Body: body}, nil
}

// explain lists what was found, in the order in which it was evaluated.
func (h *handlers) explain(org evidence.OrgAccess, found *assessment) []resource.Explanation {
	var sentences []resource.Explanation
	if allowance := found.allowance; allowance != nil {
		sentences = append(sentences, resource.Explanation{
			Cause: allowListed, Links: map[string]string{"environment": h.Links.Environment(org.OrgName, found.environment)},
			Text: fmt.Sprintf("'%s' has allowed the artifact in environment '%s', whatever policies say: %s",
				allowance.UserName, found.environment, allowance.Description),
		})
	}
	if len(found.applied) == 0 {
		return append(sentences, h.explainFlows(org, found)...)
	}
	for i := range found.applied {
		sentences = append(sentences,
			resource.Explain(h.Links, org, &found.applied[i], found.evaluations[i], &found.artifact.Facts, false)...)
	}
	return sentences
}

// explainFlows explains the artifact's own compliance, as a policy does that asks for it.
func (h *handlers) explainFlows(org evidence.OrgAccess, found *assessment) []resource.Explanation {
	var sentences []resource.Explanation
	if found.scope == environmentScope {
		sentences = append(sentences, resource.Explanation{
			Cause: noPolicies, Links: map[string]string{"environment": h.Links.Environment(org.OrgName, found.environment)},
			Text: fmt.Sprintf("No policy is attached to environment '%s', so the compliance of the artifact's trails decides.", found.environment),
		})
	}
	asked := policy.Policy{TrailCompliance: policy.Requirement{Required: true}}
	facts := found.artifact.Facts
	facts.Flows = nil
	for _, number := range found.flows {
		facts.Flows = append(facts.Flows, found.artifact.Flows[number])
	}
	evaluation := asked.Evaluate(&facts)
	for _, sentence := range resource.Explain(h.Links, org, &policy.Applied{Policy: &asked}, evaluation, &facts, false) {
		if *sentence.Rule != policy.TrailComplianceNumber {
			continue
		}
		sentence.PolicyName, sentence.PolicyVersion, sentence.Rule = nil, nil, nil
		delete(sentence.Links, "policy")
		sentences = append(sentences, sentence)
	}
	return sentences
}
