package server

import "slices"

// AttestationRoutes are those of attestations and their types.
func AttestationRoutes(base *Base) []Route {
	h := &handlers{base}
	return slices.Concat(
		h.attestationTypeRoutes(),
		h.attestationRoutes(),
		h.attestationReadRoutes(),
	)
}
