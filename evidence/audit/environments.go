package audit

import (
	"cmp"
	"fmt"
	"slices"

	"attestry/evidence/policy"
)

// EnvironmentDocument is a running artifact in an environment, in the member at EnvironmentsPath, with its evaluation
// by the environment's policies.
type EnvironmentDocument struct {
	Environment string `json:"environment"` // name
	Fingerprint string `json:"fingerprint"`
	// Since is the number of the snapshot with which the artifact began to run, and StartedAt its time in Unix seconds.
	Since     int64   `json:"since_snapshot"`
	StartedAt float64 `json:"started_at"`
	HTMLURL   string  `json:"html_url"`
	// ChildOf are the fingerprints of the reported artifacts whose child runs (docs/semantics.md 5.5), if Fingerprint
	// itself was not reported.
	ChildOf []string `json:"child_of,omitempty"`
	// Compliant is nil where no policy is attached.
	Compliant *bool `json:"compliant"`
	// Allowed is set if the artifact is on the environment's allow list; then it is compliant.
	Allowed *Allowance `json:"allow_listed,omitempty"`
	// Trails are those of the package that have the artifact. Their facts are derived from the other members.
	Trails []TrailReference `json:"trails"`
	// Facts are the other facts that the policies evaluate.
	Facts    policy.Facts       `json:"facts"`
	Policies []PolicyEvaluation `json:"policies"`
}

// TrailReference is a trail of the package that has an artifact.
type TrailReference struct {
	TrailID      string `json:"trail_id"`
	ArtifactName string `json:"artifact_name"`
	// Fingerprint is that of the reported artifact if a child of it runs, else "".
	Fingerprint string `json:"fingerprint,omitempty"`
	// Position is the index of the trail's flow in the facts of policies.
	Position int `json:"position"`
	// Unapproved are the names of the unapproved trails that the snapshot recorded for the artifact's origin.
	Unapproved []string `json:"unapproved_trails,omitempty"`
}

// Allowance is who allowed an artifact to run, and why.
type Allowance struct {
	Reason string  `json:"reason"`
	By     string  `json:"allowed_by"`
	At     float64 `json:"allowed_at"` // Unix seconds
	// Until is when the permission ends, in Unix seconds, 0 for never.
	Until float64 `json:"allowed_until,omitempty"`
}

// PolicyEvaluation is the evaluation of an artifact by a policy.
type PolicyEvaluation struct {
	Policy    string     `json:"policy"` // name
	Version   int        `json:"version"`
	Compliant bool       `json:"compliant"`
	Findings  []Sentence `json:"explanation"`
}

// Sentence explains the result of a policy's rule for one flow.
type Sentence struct {
	Rule    int            `json:"rule"`
	Cause   policy.Outcome `json:"cause"`
	Failing bool           `json:"failing"`
	Text    string         `json:"text"`
	Remedy  string         `json:"remedy,omitempty"`
}

// Judge evaluates the artifact by policies, in their order, and sets the results. evaluations are those of the
// package's trails, by id. A trail that does not have the artifact is an error.
func (d *EnvironmentDocument) Judge(applied []policy.Applied, evaluations map[string]*Evaluation) error {
	facts, err := d.allFacts(evaluations)
	if err != nil {
		return err
	}
	d.Policies, d.Compliant = []PolicyEvaluation{}, nil
	compliant := true
	for i := range applied {
		evaluation := applied[i].Policy.Evaluate(&facts)
		one := PolicyEvaluation{
			Policy: applied[i].Name, Version: applied[i].Version, Compliant: evaluation.Compliant(), Findings: []Sentence{},
		}
		for number, rule := range evaluation {
			for _, resolution := range rule.Resolutions {
				found := applied[i].Policy.Explain(number, resolution, &facts)
				one.Findings = append(one.Findings, Sentence{
					Rule: number, Cause: found.Outcome, Failing: found.Outcome.Failing(), Text: found.Full(), Remedy: found.Remedy,
				})
			}
		}
		compliant = compliant && one.Compliant
		d.Policies = append(d.Policies, one)
	}
	if len(applied) > 0 {
		compliant = compliant || d.Allowed != nil
		d.Compliant = &compliant
	}
	return nil
}

// allFacts are the facts, with those of the package's trails.
func (d *EnvironmentDocument) allFacts(evaluations map[string]*Evaluation) (policy.Facts, error) {
	facts := d.Facts
	facts.Flows = slices.Clone(facts.Flows)
	for _, trail := range d.Trails {
		evaluation := evaluations[trail.TrailID]
		if evaluation == nil || trail.Position < 0 || trail.Position > len(facts.Flows) {
			return policy.Facts{}, fmt.Errorf("the package does not have trail %s", trail.TrailID)
		}
		known, ok := evaluation.Flow(trail.ArtifactName, cmp.Or(trail.Fingerprint, d.Fingerprint))
		if !ok {
			return policy.Facts{}, fmt.Errorf("trail %s does not have it under the name '%s'", trail.TrailID, trail.ArtifactName)
		}
		known.Unapproved = trail.Unapproved
		facts.Flows = slices.Insert(facts.Flows, trail.Position, known)
	}
	return facts, nil
}
