// Package governance has the operations on policies, controls, asserts and approvals.
package governance

import (
	"attestry/api/resource"
	"attestry/api/server"
)

type handlers struct {
	*resource.Base
	dryRuns dryRuns
}

// Routes returns the routes of policies, controls, asserts and approvals.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{Base: base, dryRuns: newDryRuns()}
	return server.Routes(map[string]server.Binder{
		"list_policies":                  server.Handle(h.listPolicies),
		"put_policy":                     server.WithForm("payload", policyField, h.putPolicy),
		"put_named_policy":               server.WithForm("payload", policyField, h.putNamedPolicy),
		"get_policy":                     server.Handle(h.getPolicy),
		"evaluate_policy":                server.WithForm("payload", policyField, h.evaluatePolicy),
		"list_controls":                  server.Handle(h.listControls),
		"post_control":                   server.WithBody(h.postControl),
		"list_control_tag_choices":       server.Handle(h.listControlTagChoices),
		"get_control":                    resource.Found(h.loadControl, h.getControl),
		"put_control":                    server.WithBody(h.putControl),
		"archive_control":                h.setArchived(true),
		"unarchive_control":              h.setArchived(false),
		"list_control_versions":          resource.Found(h.loadControl, h.listControlVersions),
		"get_control_version":            resource.Found(h.loadControl, h.getControlVersion),
		"get_control_coverage":           resource.Found(h.loadControl, h.getControlCoverage),
		"list_control_decisions":         resource.Found(h.loadControl, h.listControlDecisions),
		"get_control_decision":           resource.Found(h.loadControl, h.getControlDecision),
		"assert_artifact":                resource.Found(h.assess, h.assertArtifact),
		"explain_artifact":               resource.Found(h.assess, h.explainArtifact),
		"sign_verdict":                   server.Handle(h.signVerdict),
		"get_signing_key":                server.Handle(h.getSigningKey),
		"list_approvals":                 resource.Found(h.ResolveFlow, h.listApprovals),
		"post_approval":                  resource.FoundWithBody(h.ResolveActiveFlow, h.postApproval),
		"get_approval":                   resource.Found(h.ResolveFlow, h.getApproval),
		"get_commit_of_running_artifact": resource.Found(h.ResolveFlow, h.getCommitOfRunningArtifact),
		"list_artifact_approvals":        resource.Found(h.ResolveFlow, h.listArtifactApprovals),
	})
}
