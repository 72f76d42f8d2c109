package audit_test

import (
	"fmt"
	"testing"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/policy"
	"attestry/evidence/template"
)

func TestRunningArtifactIsJudgedByTheFactsOfItsTrail(t *testing.T) {
	rule, err := policy.Parse([]byte("_schema: https://example.com/v1\nartifacts:\n  attestations:\n" +
		"    - {type: pull_request, name: pr, independent_approval: {since_last_release: true}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	trail := audit.NewTrail(audit.FlowDocument{Name: "build"}, "one", nil, "", template.Template{})
	trail.Report(&evidence.ArtifactRecord{Name: "web", Fingerprint: "f"})
	trail.AttestEntry(evidence.SlotEntry{Entry: evidence.Entry{ID: "1", Name: "pr", Type: evidence.TypePullRequest, Compliant: true, Approvers: 1}}, nil)
	evaluations := map[string]*audit.Evaluation{"t1": trail.Evaluate()}
	for name, c := range map[string]struct {
		change func(*audit.EnvironmentDocument)
		want   string
	}{
		"approved":                 {func(*audit.EnvironmentDocument) {}, "true"},
		"a child of the artifact":  {func(d *audit.EnvironmentDocument) { d.Fingerprint, d.Trails[0].Fingerprint = "c", "f" }, "true"},
		"unapproved trails before": {func(d *audit.EnvironmentDocument) { d.Trails[0].Unapproved = []string{"zero"} }, "false"},
		"unapproved, but allowed": {func(d *audit.EnvironmentDocument) {
			d.Trails[0].Unapproved, d.Allowed = []string{"zero"}, &audit.Allowance{}
		}, "true"},
		"a trail that the package lacks": {func(d *audit.EnvironmentDocument) { d.Trails[0].TrailID = "t2" }, "the package does not have trail t2"},
		"a negative position":            {func(d *audit.EnvironmentDocument) { d.Trails[0].Position = -1 }, "the package does not have trail t1"},
		"a position behind the end":      {func(d *audit.EnvironmentDocument) { d.Trails[0].Position = 1 }, "the package does not have trail t1"},
		"an artifact that it lacks":      {func(d *audit.EnvironmentDocument) { d.Fingerprint = "g" }, "trail t1 does not have it under the name 'web'"},
	} {
		t.Run(name, func(t *testing.T) {
			document := audit.EnvironmentDocument{Fingerprint: "f", Trails: []audit.TrailReference{{TrailID: "t1", ArtifactName: "web"}}}
			c.change(&document)
			// The artifact meets the second policy, which requires nothing.
			err := document.Judge([]policy.Applied{{Policy: &rule}, {Policy: &policy.Policy{}}}, evaluations)
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(*document.Compliant)
			}
			if got != c.want {
				t.Errorf("its verdict is %s", got)
			}
		})
	}
}
