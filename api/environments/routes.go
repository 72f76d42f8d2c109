// Package environments has the operations on environments, their reports and allow lists.
package environments

import (
	"attestry/api/resource"
	"attestry/api/server"
)

type handlers struct{ *resource.Base }

// Routes are those of environments, reports and allow lists.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	serve := map[string]server.Binder{
		"create_env":               server.WithBody(h.createEnvironment),
		"list_envs":                server.Handle(h.listEnvironments),
		"get_environment":          server.Handle(h.getEnvironment),
		"update_env":               server.WithBody(h.updateEnvironment),
		"archive_env":              server.Handle(h.archiveEnvironment),
		"rename_environment":       server.WithBody(h.renameEnvironment),
		"join_physical_to_logical": server.WithBody(h.joinEnvironment),
		"list_allowlist":           server.Handle(h.listAllowlist),
		"allow_artifact_for_env":   server.WithBody(h.allowArtifact),
		"attach_policy_to_env":     server.WithBody(h.attachPolicies),
		"detach_policy_from_env":   server.WithBody(h.detachPolicies),
	}
	for i := range reportTypes {
		one := &reportTypes[i]
		serve[one.operation] = server.Limited(server.ReportLimit, one.serve(h, one))
	}
	return server.Routes(serve)
}
