package server

import "slices"

// EnvironmentRoutes are those of environments, reports, snapshots, events and allow lists.
func EnvironmentRoutes(base *Base) []Route {
	h := &handlers{base}
	return slices.Concat(
		h.environmentLifeRoutes(),
		h.eventRoutes(),
		h.allowlistRoutes(),
		h.reportRoutes(),
		h.snapshotRoutes(),
		h.envDiffRoutes(),
	)
}
