package policy_test

import (
	"slices"
	"testing"

	"attestry/evidence"
	"attestry/evidence/policy"
)

// TestRulesOnApprovalAndSeparationAreExplained evaluates rules that look at more than the verdicts of attestations.
func TestRulesOnApprovalAndSeparationAreExplained(t *testing.T) {
	const (
		approval   = "type: pull_request, name: pr, independent_approval: true"
		release    = "type: pull_request, name: pr, independent_approval: {since_last_release: true}"
		separation = "type: decision, name: go, separation_of_duties: true"
		where      = "In trail 't1' of flow 'build' "
		earlier    = "nobody else had approved the earlier trails that it brings since the last release: v1, v2"
		again      = "Attest again once it has been put right, or override the attestation with a reason."
		approve    = "Have somebody approve the pull request after its last commit who wrote none of it, and attest it again."
		others     = "Have others approve the pull requests of these trails, attest them, and release again, or put the artifact on the allow list."
		decide     = "Record a compliant decision on control 'R1' once it is fulfilled, or override the last one with a reason. " +
			"Whoever decides must have neither written nor approved the code."
	)
	pr := evidence.Entry{ID: "1", Name: "pr", Type: "pull_request", Compliant: true, Approvers: 1, Involved: "wrote ada\napproved bob"}
	alone, failing, decision := pr, pr, evidence.Entry{ID: "2", Name: "go", Type: "system:decision", Compliant: true, Involved: "decided ada"}
	alone.Approvers, alone.Unapproved = 0, "ada has no approval"
	failing.Compliant, failing.Finding = false, "no pull request"
	other := decision
	other.Involved = "decided eve"
	for name, row := range map[string]struct {
		rule                  string
		flow                  policy.Flow
		dropped               bool // the snapshot has left out the attestation that decided
		text, finding, remedy string
	}{
		"approved":                          {approval, policy.Flow{Attestations: []evidence.Entry{pr}}, false, where + "there is the compliant attestation 'pr' of type pull_request.", "", ""},
		"not approved":                      {approval, policy.Flow{Attestations: []evidence.Entry{alone}}, false, where + "the attestation 'pr' of type pull_request has no independent approval.", "ada has no approval", approve},
		"without a pull request":            {approval, policy.Flow{Attestations: []evidence.Entry{failing}}, false, where + "the attestation 'pr' of type pull_request is non-compliant.", "no pull request", again},
		"left out":                          {approval, policy.Flow{Attestations: []evidence.Entry{alone}}, true, where + "the attestation 'pr' of type pull_request is non-compliant.", "", again},
		"machine account":                   {approval, policy.Flow{Author: "svc_x", Attestations: []evidence.Entry{failing}}, false, "The commit of trail 't1' of flow 'build' is of a machine account, which needs no approval.", "", ""},
		"earlier trails not asked for":      {approval, policy.Flow{Attestations: []evidence.Entry{pr}, Unapproved: []string{"v1", "v2"}}, false, where + "there is the compliant attestation 'pr' of type pull_request.", "", ""},
		"earlier trails":                    {release, policy.Flow{Attestations: []evidence.Entry{pr}, Unapproved: []string{"v1", "v2"}}, false, where + "the artifact brings changes without independent approval.", earlier, others},
		"earlier trails and its own":        {release, policy.Flow{Attestations: []evidence.Entry{alone}, Unapproved: []string{"v1", "v2"}}, false, where + "the attestation 'pr' of type pull_request has no independent approval.", "ada has no approval", approve},
		"earlier trails, a machine account": {release, policy.Flow{Author: "svc_x", Unapproved: []string{"v1", "v2"}}, false, where + "the artifact brings changes without independent approval.", earlier, others},
		"decided by an author":              {separation, policy.Flow{Attestations: []evidence.Entry{pr, decision}}, false, where + "the attestation 'go' of type system:decision is non-compliant.", "ada decided, and wrote the code", again},
		"decided by another":                {separation, policy.Flow{Attestations: []evidence.Entry{pr, other}}, false, where + "there is the compliant attestation 'go' of type system:decision.", "", ""},
		"control decided by an author":      {separation + ", for_control: R1", policy.Flow{Attestations: []evidence.Entry{pr, decision}}, false, "The latest decision on control 'R1', 'go' in trail 'd1' of flow 'deploy', is non-compliant.", "ada decided, and wrote the code", decide},
		"control decided by another":        {separation + ", for_control: R1", policy.Flow{Attestations: []evidence.Entry{pr, other}}, false, "The latest decision on control 'R1', 'go' in trail 'd1' of flow 'deploy', is compliant.", "", ""},
		"control, left out":                 {separation + ", for_control: R1", policy.Flow{Attestations: []evidence.Entry{pr, decision}}, true, where + "the attestation 'go' of type decision is non-compliant.", "", decide},
	} {
		t.Run(name, func(t *testing.T) {
			parsed := parsePolicy(t, head+"artifacts: {attestations: [{"+row.rule+"}]}")
			row.flow.Name, row.flow.Trail = "build", "t1"
			facts := policy.Facts{Flows: []policy.Flow{row.flow}, Decisions: map[string]policy.Decision{}}
			if i := slices.IndexFunc(row.flow.Attestations, func(e evidence.Entry) bool { return e.Name == "go" }); i >= 0 {
				facts.Decisions["R1"] = policy.Decision{Entry: row.flow.Attestations[i], Flow: "deploy", Trail: "d1"}
			}
			resolution := parsed.Evaluate(&facts)[2].Resolutions[0]
			if row.dropped {
				resolution.Attestation = nil
			}
			said := parsed.Explain(2, resolution, &facts)
			if said.Text != row.text || said.Finding != row.finding || said.Remedy != row.remedy || said.Outcome.Failing() != (row.remedy != "") {
				t.Errorf("%+v", said)
			}
		})
	}
}
