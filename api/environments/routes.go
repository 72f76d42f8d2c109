// Package environments has the operations on environments, their reports, snapshots and
// events, and allow lists.
package environments

import (
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
)

// Routes are those of environments, reports, snapshots, events and allow lists.
func Routes(base *resource.Base, stores Stores) []server.Route {
	h := &handlers{Base: base, Stores: stores}
	return slices.Concat(
		h.environmentLifeRoutes(),
		h.eventRoutes(),
		h.allowlistRoutes(),
		h.reportRoutes(),
		h.snapshotRoutes(),
		h.envDiffRoutes(),
	)
}
