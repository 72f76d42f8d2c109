// Package deployments has the operations on deployments, builds and running artifacts.
package deployments

import (
	"attestry/api/resource"
	"attestry/api/server"
)

type handlers struct{ *resource.Base }

// Routes returns the routes of deployments, builds and running artifacts.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	return server.Routes(map[string]server.Binder{
		"list_deployments":               server.Handle(h.listDeployments),
		"get_deployment":                 resource.Found(h.loadCurrentEnvironment, h.getDeployment),
		"list_env_deployments":           server.Handle(h.listEnvironmentDeployments),
		"get_deployment_frequency":       server.Handle(h.getDeploymentFrequency),
		"list_repo_deployments":          server.Handle(h.listRepoDeployments),
		"get_repo_deployment_statistics": server.Handle(h.getRepoDeploymentStatistics),
		"list_builds":                    server.Handle(h.listBuilds),
		"build_statistics":               server.Handle(h.getBuildStatistics),
		"get_repo_live_artifacts":        server.Handle(h.getLiveArtifacts),
	})
}
