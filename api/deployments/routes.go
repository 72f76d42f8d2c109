// Package deployments has the operations on deployments, builds and what runs.
package deployments

import (
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
)

type handlers struct{ *resource.Base }

// Routes are those of deployments, builds and what runs.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	return slices.Concat(h.deploymentRoutes(), h.buildRoutes(), h.liveArtifactRoutes())
}
