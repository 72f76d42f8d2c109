// Package snapshots has the operations on snapshots, their differences and events.
package snapshots

import (
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
)

type handlers struct{ *resource.Base }

// Routes are those of snapshots, their differences and events.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	return slices.Concat(h.eventRoutes(), h.snapshotRoutes(), h.envDiffRoutes())
}
