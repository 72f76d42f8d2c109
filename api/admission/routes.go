// Package admission has the operations of admission control for Kubernetes clusters (docs/semantics.md 25).
package admission

import (
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/storage/cache"
)

// reviewLimit bounds a review in bytes. A cluster sends the old and the new object, of at most 3 MiB each.
const reviewLimit = 8 << 20

type handlers struct {
	*resource.Base
	verdicts verdicts
}

// Routes returns the routes of admission control.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base, verdicts{cache.NewTTL[bool](verdictAge, maxVerdicts)}}
	return server.Routes(map[string]server.Binder{
		"get_admission_settings": resource.Found(h.LoadEnvironment, h.getSettings),
		"put_admission_settings": resource.FoundWithBody(h.ResolveEnvironment, h.putSettings),
		"list_admissions":        resource.Found(h.ResolveEnvironment, h.listRecords),
		"validate_admission":     server.Limited(reviewLimit, resource.FoundWithBody(h.LoadEnvironment, h.validate)),
		"review_images":          server.Limited(reviewLimit, resource.FoundWithBody(h.LoadEnvironment, h.reviewImages)),
		"provide_to_gatekeeper":  server.Limited(reviewLimit, resource.FoundWithBody(h.LoadEnvironment, h.provide)),
	})
}
