package audit

import (
	"attestry/evidence/policy"
)

// EnvironmentDocument is an environment in which an artifact of the package runs, in the member
// environments.json: how its policies judge the artifact by what is known.
type EnvironmentDocument struct {
	Environment string `json:"environment"` // name
	Fingerprint string `json:"fingerprint"`
	// Since is the number of the snapshot with which the artifact began to run, and StartedAt its
	// time in Unix seconds.
	Since     int64   `json:"since_snapshot"`
	StartedAt float64 `json:"started_at"`
	HTMLURL   string  `json:"html_url"`
	// Compliant is nil where no policy is attached.
	Compliant *bool `json:"compliant"`
	// Allowed is set if the environment's allow list has the artifact, which then is compliant.
	Allowed *Allowance `json:"allow_listed,omitempty"`
	// Slot is the name under which the trail of the package has the artifact.
	Slot string `json:"artifact_name"`
	// Facts are what the policies evaluate. Those about trails of the package follow from the other
	// members.
	Facts    policy.Facts       `json:"facts"`
	Policies []PolicyEvaluation `json:"policies"`
}

// Allowance says who allowed an artifact to run, and why.
type Allowance struct {
	Reason string  `json:"reason"`
	By     string  `json:"allowed_by"`
	At     float64 `json:"allowed_at"` // Unix seconds
}

// PolicyEvaluation is what a policy says of an artifact.
type PolicyEvaluation struct {
	Policy    string     `json:"policy"` // name
	Version   int        `json:"version"`
	Compliant bool       `json:"compliant"`
	Findings  []Sentence `json:"explanation"`
}

// Sentence explains what a rule of a policy has come to for one flow.
type Sentence struct {
	Rule    int            `json:"rule"`
	Cause   policy.Outcome `json:"cause"`
	Failing bool           `json:"failing"`
	Text    string         `json:"text"`
	Remedy  string         `json:"remedy,omitempty"`
}

// Judge evaluates the document's facts by policies, in their order, and sets what they come to.
func (d *EnvironmentDocument) Judge(applied []policy.Applied) {
	d.Policies, d.Compliant = []PolicyEvaluation{}, nil
	compliant := true
	for i := range applied {
		one := evaluatePolicy(&applied[i], &d.Facts)
		compliant = compliant && one.Compliant
		d.Policies = append(d.Policies, one)
	}
	if len(applied) > 0 {
		compliant = compliant || d.Allowed != nil
		d.Compliant = &compliant
	}
}

func evaluatePolicy(applied *policy.Applied, facts *policy.Facts) PolicyEvaluation {
	evaluation := applied.Policy.Evaluate(facts)
	one := PolicyEvaluation{Policy: applied.Name, Version: applied.Version, Compliant: evaluation.Compliant(), Findings: []Sentence{}}
	for number, rule := range evaluation {
		for _, resolution := range rule.Resolutions {
			sentence := applied.Policy.Explain(number, resolution, facts)
			one.Findings = append(one.Findings, Sentence{
				Rule: number, Cause: sentence.Outcome, Failing: sentence.Outcome.Failing(), Text: sentence.Text, Remedy: sentence.Remedy,
			})
		}
	}
	return one
}
