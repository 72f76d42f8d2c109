// Package admission answers clusters that ask whether something may run, and has the settings and the records of it
// (docs/semantics.md 25).
package admission

import (
	"net/http"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
)

const tag = "Admission"

// reviewLimit bounds a review in bytes: a cluster sends an object, of at most 3 MiB, in its old and its new state.
const reviewLimit = 8 << 20

type handlers struct {
	*resource.Base
	verdicts verdicts
}

// Routes are those of the admission of what clusters are to run.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base, newVerdicts()}
	return []server.Route{
		{Method: http.MethodGet, Path: "/environments/{org}/{env_name}/admission", OperationID: "get_admission_settings", Tag: tag,
			Summary: "Read how an environment answers clusters that ask whether something may run", MinRole: evidence.Reader,
			Serve: server.Handle(h.getSettings)},
		{Method: http.MethodPut, Path: "/environments/{org}/{env_name}/admission", OperationID: "put_admission_settings", Tag: tag,
			Summary: "Set how an environment answers clusters that ask whether something may run", MinRole: evidence.Admin,
			Serve: server.WithBody(h.putSettings)},
		{Method: http.MethodGet, Path: "/environments/{org}/{env_name}/admissions", OperationID: "list_admissions", Tag: tag,
			Summary: "List what clusters were refused or warned of in 30 days", MinRole: evidence.Reader, Serve: server.Handle(h.listRecords)},
		{Method: http.MethodPost, Path: "/admission/{org}/{env_name}/validate", OperationID: "validate_admission", Tag: tag,
			Summary: "Answer an AdmissionReview of Kubernetes", MinRole: evidence.Snapshotter, BodyLimit: reviewLimit,
			Serve: server.WithBody(h.validate)},
		{Method: http.MethodPost, Path: "/admission/{org}/{env_name}/image-review", OperationID: "review_images", Tag: tag,
			Summary: "Answer an ImageReview of Kubernetes", MinRole: evidence.Snapshotter, BodyLimit: reviewLimit,
			Serve: server.WithBody(h.reviewImages)},
		{Method: http.MethodPost, Path: "/admission/{org}/{env_name}/gatekeeper", OperationID: "provide_to_gatekeeper", Tag: tag,
			Summary: "Answer a ProviderRequest of Gatekeeper", MinRole: evidence.Snapshotter, BodyLimit: reviewLimit,
			Serve: server.WithBody(h.provide)},
	}
}
