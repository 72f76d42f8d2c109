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
	LeftOut     int                    `json:"explanation_left_out,omitempty" doc:"How many sentences are not shown, as there are too many."`
}

// explainArtifact explains what assertArtifact answers to the same question.
func (h *handlers) explainArtifact(ctx context.Context, in *assertInput) (*server.Answer[ArtifactExplanation], error) {
	org := server.Access(ctx)
	found, err := h.assess(ctx, org, in)
	if err != nil {
		return nil, err
	}
	body := ArtifactExplanation{
		Fingerprint: in.Fingerprint, Scope: found.scope, Environment: resource.NilIfEmpty(found.environment), Compliant: found.compliant(),
	}
	list := resource.OneList()
	for _, failing := range []bool{true, false} {
		sentences, leftOut := h.explain(org, found, failing, list)
		body.Explanation = append(body.Explanation, sentences...)
		body.LeftOut += leftOut
	}
	return server.Answered(body), nil
}

// explain lists what fails, or what does not, in the order in which it was evaluated. It also returns
// how many sentences do not fit in the list.
func (h *handlers) explain(org evidence.OrgAccess, found *assessment, failing bool, list *resource.ReasonList) (sentences []resource.Explanation, leftOut int) {
	if allowance := found.allowance; allowance != nil && !failing {
		sentences = append(sentences, resource.Explanation{
			Cause: allowListed, Links: map[string]string{"environment": h.Links.Environment(org.OrgName, found.environment)},
			Text: fmt.Sprintf("'%s' has allowed the artifact in environment '%s', whatever policies say: %s",
				allowance.UserName, found.environment, allowance.Description),
		})
	}
	if len(found.applied) == 0 {
		explained, leftOut := h.explainFlows(org, found, failing, list)
		return append(sentences, explained...), leftOut
	}
	for i := range found.applied {
		explained, more := resource.Explain(h.Links, org, &found.applied[i], found.evaluations[i], &found.artifact.Facts, failing, list)
		sentences, leftOut = append(sentences, explained...), leftOut+more
	}
	return sentences, leftOut
}

// explainFlows explains the artifact's own compliance in the words of a policy that requires it.
func (h *handlers) explainFlows(org evidence.OrgAccess, found *assessment, failing bool, list *resource.ReasonList) (sentences []resource.Explanation, leftOut int) {
	if found.scope == environmentScope && !failing {
		sentences = append(sentences, resource.Explanation{
			Cause: noPolicies, Links: map[string]string{"environment": h.Links.Environment(org.OrgName, found.environment)},
			Text: fmt.Sprintf("No policy is attached to environment '%s', so the compliance of the artifact's trails decides.", found.environment),
		})
	}
	required := policy.Policy{TrailCompliance: policy.Requirement{Required: true}}
	facts := found.artifact.Facts
	facts.Flows = nil
	for _, number := range found.flows {
		facts.Flows = append(facts.Flows, found.artifact.Flows[number])
	}
	evaluation := required.Evaluate(&facts)
	for number := range evaluation {
		if number != policy.TrailComplianceNumber {
			evaluation[number].Resolutions = nil
		}
	}
	explained, leftOut := resource.Explain(h.Links, org, &policy.Applied{Policy: &required}, evaluation, &facts, failing, list)
	for _, sentence := range explained {
		sentence.PolicyName, sentence.PolicyVersion, sentence.Rule = nil, nil, nil
		delete(sentence.Links, "policy")
		sentences = append(sentences, sentence)
	}
	return sentences, leftOut
}
