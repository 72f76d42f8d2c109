// Package deployments has the operations on deployments, builds and what runs.
package deployments

import (
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
)

// Routes are those of deployments, builds and what runs.
func Routes(base *resource.Base, stores Stores) []server.Route {
	h := &handlers{Base: base, Stores: stores}
	return slices.Concat(
		h.deploymentRoutes(),
		h.buildRoutes(),
		h.liveArtifactRoutes(),
	)
}
