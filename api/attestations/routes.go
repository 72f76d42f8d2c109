// Package attestations has the operations on attestations, their evidence and their types.
package attestations

import (
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
)

// Routes are those of attestations and their types.
func Routes(base *resource.Base, stores Stores) []server.Route {
	h := &handlers{Base: base, Stores: stores}
	return slices.Concat(
		h.attestationTypeRoutes(),
		h.attestationRoutes(),
		h.attestationReadRoutes(),
	)
}
