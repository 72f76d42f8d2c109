// Package snapshots has the operations on snapshots, their differences and events.
package snapshots

import (
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
)

// Routes are those of snapshots, their differences and events.
func Routes(base *resource.Base, stores Stores) []server.Route {
	h := &handlers{Base: base, Stores: stores}
	return slices.Concat(h.eventRoutes(), h.snapshotRoutes(), h.envDiffRoutes())
}
