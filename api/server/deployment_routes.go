package server

import "slices"

// DeploymentRoutes are those of deployments, builds and what runs.
func DeploymentRoutes(base *Base) []Route {
	h := &handlers{base}
	return slices.Concat(
		h.deploymentRoutes(),
		h.buildRoutes(),
		h.liveArtifactRoutes(),
	)
}
