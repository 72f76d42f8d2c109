// Package governance has the operations on policies and controls.
package governance

import (
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
)

type handlers struct {
	*resource.Base
	dryRuns dryRuns
}

// Routes are those of policies and controls.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{Base: base}
	return slices.Concat(h.policyRoutes(), h.evaluationRoutes(), h.controlRoutes(), h.assertRoutes(), h.approvalRoutes())
}
