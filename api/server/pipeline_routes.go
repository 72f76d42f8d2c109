package server

import "slices"

// PipelineRoutes are those of flows, trails, artifacts, repositories, tags and the search.
func PipelineRoutes(base *Base) []Route {
	h := &handlers{base}
	return slices.Concat(
		h.flowRoutes(),
		h.trailRoutes(),
		h.artifactReportRoutes(),
		h.artifactRoutes(),
		h.repoRoutes(),
		h.tagRoutes(),
		h.searchRoutes(),
	)
}
