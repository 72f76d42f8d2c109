// Package pipelines has the operations on flows, trails, artifacts, repositories and their
// tags, and the search.
package pipelines

import (
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
)

type handlers struct{ *resource.Base }

// Routes are those of flows, trails, artifacts, repositories, tags and the search.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	return slices.Concat(h.flowRoutes(), h.trailRoutes(), h.artifactRoutes(), h.repoRoutes(),
		h.tagRoutes(), h.searchRoutes())
}
