// Package admission answers clusters that ask whether something may run, and has the settings and the records of it
// (docs/semantics.md 25).
package admission

import (
	"attestry/api/resource"
	"attestry/api/server"
)

// reviewLimit bounds a review in bytes: a cluster sends an object, of at most 3 MiB, in its old and its new state.
const reviewLimit = 8 << 20

type handlers struct {
	*resource.Base
	verdicts verdicts
}

// Routes are those of the admission of what clusters are to run.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base, newVerdicts()}
	return server.Routes(map[string]server.Binder{
		"get_admission_settings": server.Handle(h.getSettings),
		"put_admission_settings": server.WithBody(h.putSettings),
		"list_admissions":        server.Handle(h.listRecords),
		"validate_admission":     server.Limited(reviewLimit, server.WithBody(h.validate)),
		"review_images":          server.Limited(reviewLimit, server.WithBody(h.reviewImages)),
		"provide_to_gatekeeper":  server.Limited(reviewLimit, server.WithBody(h.provide)),
	})
}
