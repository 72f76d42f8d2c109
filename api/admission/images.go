package admission

import (
	"cmp"
	"context"
	"encoding/json"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/admission"
)

const (
	imageReviewVersion = "imagepolicy.k8s.io/v1alpha1"
	imageReviewKind    = "ImageReview"
)

// imageReview has the members of a Kubernetes ImageReview that are used.
type imageReview struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       *struct {
		Containers []struct {
			Image string `json:"image"`
		} `json:"containers"`
		Annotations map[string]string `json:"annotations"`
		Namespace   string            `json:"namespace"`
	} `json:"spec"`
}

// ImageReviewResponse is an ImageReview with a status.
type ImageReviewResponse struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Status     ImageReviewStatus `json:"status"`
}

// ImageReviewStatus says whether images may run.
type ImageReviewStatus struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty" doc:"Why they may not, at most 2 KiB."`
}

// reviewImages answers an ImageReview, in which a cluster sends only annotations with .image-policy.k8s.io/ in the key.
func (h *handlers) reviewImages(ctx context.Context, _ *resource.EnvironmentPath, environment evidence.Environment, body *AnyReview) (*server.Answer[ImageReviewResponse], error) {
	org := server.Access(ctx)
	var sent imageReview
	err := json.Unmarshal(body.RawMessage, &sent)
	answer := ImageReviewResponse{APIVersion: cmp.Or(sent.APIVersion, imageReviewVersion), Kind: cmp.Or(sent.Kind, imageReviewKind)}
	if err != nil || sent.APIVersion != imageReviewVersion || sent.Kind != imageReviewKind || sent.Spec == nil {
		answer.Status = ImageReviewStatus{
			Allowed: failureAdmits(&environment), Reason: "The review is not an " + imageReviewKind + " of " + imageReviewVersion,
		}
		return server.Answered(answer), nil
	}
	var images []string
	for _, container := range sent.Spec.Containers {
		images = append(images, container.Image)
	}
	workload := admission.NewWorkload("Pod", sent.Spec.Namespace, sent.Spec.Annotations, images...)
	decision, err := h.judge(ctx, &request{org: org, environment: environment, workload: workload})
	if err != nil {
		return nil, err
	}
	if answer.Status.Allowed = decision.Allowed(); !answer.Status.Allowed {
		answer.Status.Reason = decision.Message(environment.Name, h.Links.Environment(org.OrgName, environment.Name))
	}
	return server.Answered(answer), nil
}

const (
	providerVersion = "externaldata.gatekeeper.sh/v1beta1"
	providerRequest = "ProviderRequest"
)

// ProviderResponse is the response of an external data provider to Gatekeeper.
type ProviderResponse struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Response   ProvidedResponse `json:"response"`
}

// ProvidedResponse has an item for each key of the request.
type ProvidedResponse struct {
	Idempotent  bool           `json:"idempotent"`
	Items       []ProvidedItem `json:"items,omitempty"`
	SystemError string         `json:"systemError,omitempty" doc:"Why nothing could be said of any key."`
}

// ProvidedItem says whether an image may run.
type ProvidedItem struct {
	Key   string `json:"key" doc:"The reference of the image."`
	Value string `json:"value,omitempty" doc:"allowed, or warned with the reason."`
	Error string `json:"error,omitempty" doc:"Why it may not run."`
}

// provide answers a ProviderRequest, whose keys are image references. Gatekeeper does not send the workload, so nothing
// is recorded.
func (h *handlers) provide(ctx context.Context, _ *resource.EnvironmentPath, environment evidence.Environment, body *AnyReview) (*server.Answer[ProviderResponse], error) {
	answer := ProviderResponse{APIVersion: providerVersion, Kind: "ProviderResponse"}
	var sent struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    struct {
			Keys []string `json:"keys"`
		} `json:"request"`
	}
	if err := json.Unmarshal(body.RawMessage, &sent); err != nil || sent.APIVersion != providerVersion || sent.Kind != providerRequest {
		answer.Response.SystemError = "The request is not a " + providerRequest + " of " + providerVersion
		return server.Answered(answer), nil
	}
	decision, err := h.judge(ctx, &request{org: server.Access(ctx), environment: environment, dryRun: true, workload: admission.NewWorkload("Pod", "", nil, sent.Request.Keys...)})
	if err != nil {
		return nil, err
	}
	refused := evidence.ByKey(decision.Refusals, func(refusal *admission.Refusal) string { return refusal.Image })
	answer.Response.Items = resource.Map(sent.Request.Keys, func(key *string) ProvidedItem {
		return provided(*key, refused, environment.AdmissionOf().Mode)
	})
	return server.Answered(answer), nil
}

func provided(key string, refused map[string]admission.Refusal, mode evidence.AdmissionMode) ProvidedItem {
	refusal, found := refused[key]
	switch {
	case !found:
		return ProvidedItem{Key: key, Value: "allowed"}
	case refusal.Denied && mode == evidence.AdmissionDeny:
		return ProvidedItem{Key: key, Error: refusal.Reason}
	}
	return ProvidedItem{Key: key, Value: "warned: " + refusal.Reason}
}
