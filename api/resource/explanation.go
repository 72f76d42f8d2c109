package resource

import (
	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/links"
)

// Explanation says in plain English why an artifact is compliant or not, for one rule and
// flow (docs/semantics.md 18.8).
type Explanation struct {
	Cause         string                `json:"cause" doc:"The type of the resolution, or allow_listed or no_policies."`
	Failing       bool                  `json:"failing" doc:"Whether it keeps the artifact from being compliant."`
	Text          string                `json:"text"`
	Remedy        *string               `json:"remedy" nullable:"true" doc:"What would make it compliant; null if nothing is wrong."`
	PolicyName    *string               `json:"policy_name" nullable:"true"`
	PolicyVersion *int                  `json:"policy_version" nullable:"true"`
	Rule          *int                  `json:"rule" nullable:"true" doc:"Number of the rule in the policy's evaluation, from 0."`
	FlowName      *string               `json:"flow_name" nullable:"true"`
	TrailName     *string               `json:"trail_name" nullable:"true"`
	Attestation   *ExplainedAttestation `json:"attestation,omitempty" doc:"The attestation that decided."`
	Control       *string               `json:"control" nullable:"true"`
	Links         map[string]string     `json:"links" doc:"Addresses of what is named, by flow, trail, attestation, policy, control and environment."`
}

// ExplainedAttestation is an attestation that decided about a rule.
type ExplainedAttestation struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
}

// Explain explains how a policy evaluated an artifact: what fails, or what does not. It also
// returns how many explanations do not fit in the list.
func Explain(l links.Links, org evidence.OrgAccess, applied *policy.Applied, evaluation policy.Evaluation, facts *policy.Facts, failing bool, list *ReasonList) (explained []Explanation, leftOut int) {
	for number, rule := range evaluation {
		for _, resolution := range rule.Resolutions {
			if resolution.Outcome.Failing() != failing {
				continue
			}
			if !list.full {
				if one := explain(l, org, applied, number, resolution, facts); list.take(one.size()) {
					explained = append(explained, one)
					continue
				}
			}
			leftOut++
		}
	}
	return explained, leftOut
}

func explain(l links.Links, org evidence.OrgAccess, applied *policy.Applied, number int, resolution policy.Resolution, facts *policy.Facts) Explanation {
	sentence := applied.Policy.Explain(number, resolution, facts)
	shown := Explanation{
		Cause: string(sentence.Outcome), Failing: sentence.Outcome.Failing(), Text: sentence.Text, Remedy: NilIfEmpty(sentence.Remedy),
		PolicyName: &applied.Name, PolicyVersion: &applied.Version, Rule: &number,
		Links: map[string]string{"policy": l.PolicySelf(org.OrgName, applied.Name)},
	}
	if resolution.Flow != policy.NoFlow {
		shown.addFlow(l, org, &facts.Flows[resolution.Flow])
	}
	if _, _, rule := applied.Policy.Rule(number); rule != nil && rule.ForControl != "" {
		shown.Control = &rule.ForControl
		shown.Links["control"] = l.ControlSelf(org.OrgName, rule.ForControl)
	}
	if found := resolution.Attestation; found != nil {
		shown.Attestation = &ExplainedAttestation{ID: found.ID, Name: found.Name, Type: found.Type}
		shown.Links["attestation"] = l.Attestation(org.OrgName, found.Flow, found.Trail, found.ID)
	}
	return shown
}

func (e *Explanation) addFlow(l links.Links, org evidence.OrgAccess, flow *policy.Flow) {
	e.FlowName, e.TrailName = &flow.Name, &flow.Trail
	e.Links["flow"], e.Links["trail"] = l.Flow(org.OrgName, flow.Name), l.Trail(org.OrgName, flow.Name, flow.Trail)
}
