// Package environments has the operations on environments, their reports and allow lists.
package environments

import (
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
)

type handlers struct{ *resource.Base }

// Routes returns the routes of environments, reports and allow lists.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	serve := map[string]server.Binder{
		"create_env":               server.WithBody(h.createEnvironment),
		"list_envs":                server.Handle(h.listEnvironments),
		"get_environment":          resource.Found(h.ResolveEnvironment, h.getEnvironment),
		"update_env":               resource.FoundWithBody(h.ResolveEnvironment, h.updateEnvironment),
		"archive_env":              resource.Found(h.ResolveEnvironment, h.archiveEnvironment),
		"rename_environment":       server.WithBody(h.renameEnvironment),
		"join_physical_to_logical": resource.FoundWithBody(h.ResolveEnvironment, h.joinEnvironment),
		"list_allowlist":           server.Handle(h.listAllowlist),
		"allow_artifact_for_env":   resource.FoundWithBody(h.ResolveEnvironment, h.allowArtifact),
		"attach_policy_to_env":     h.changePolicies((*evidence.Environment).AttachPolicies),
		"detach_policy_from_env":   h.changePolicies(func(e *evidence.Environment, names []string) (bool, error) { return e.DetachPolicies(names), nil }),
	}
	for i := range reportTypes {
		one := &reportTypes[i]
		serve[one.operation] = server.Limited(server.ReportLimit, one.serve(h, one))
	}
	return server.Routes(serve)
}
