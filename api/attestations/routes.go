// Package attestations has the operations on attestations, their evidence and their types.
package attestations

import (
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
)

type handlers struct{ *resource.Base }

// Routes are those of attestations and their types.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	return slices.Concat(h.attestationTypeRoutes(), h.attestationRoutes(), h.attestationReadRoutes())
}
