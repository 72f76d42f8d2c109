// Package environments has the operations on environments, their reports and allow lists.
package environments

import (
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
)

type handlers struct{ *resource.Base }

// Routes are those of environments, reports and allow lists.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	return slices.Concat(h.environmentLifeRoutes(), h.allowlistRoutes(), h.policyRoutes(), h.reportRoutes())
}
