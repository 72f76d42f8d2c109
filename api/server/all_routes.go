package server

import "slices"

// routes lists every operation of the API.
func routes(h *handlers) []Route {
	return slices.Concat(
		h.organizationRoutes(),
		h.environmentLifeRoutes(),
		h.eventRoutes(),
		h.allowlistRoutes(),
		h.reportRoutes(),
		h.snapshotRoutes(),
		h.envDiffRoutes(),
		h.flowRoutes(),
		h.schemaRoutes(),
		h.tagRoutes(),
		h.attestationTypeRoutes(),
		h.trailRoutes(),
		h.artifactReportRoutes(),
		h.attestationRoutes(),
		h.attestationReadRoutes(),
		h.repoRoutes(),
		h.deploymentRoutes(),
		h.buildRoutes(),
		h.liveArtifactRoutes(),
		h.artifactRoutes(),
		h.searchRoutes(),
	)
}

// handlers serves the operations.
type handlers struct{ *Base }
