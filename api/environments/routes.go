// Package environments has the operations on environments, their reports and allow lists.
package environments

import (
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
)

// Routes are those of environments, reports and allow lists.
func Routes(base *resource.Base, stores Stores) []server.Route {
	h := &handlers{Base: base, Stores: stores}
	return slices.Concat(
		h.environmentLifeRoutes(),
		h.allowlistRoutes(),
		h.policyRoutes(),
		h.reportRoutes(),
	)
}
