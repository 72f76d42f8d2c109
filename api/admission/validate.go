package admission

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/admission"
)

const (
	reviewVersion = "admission.k8s.io/v1"
	reviewKind    = "AdmissionReview"
)

// AnyReview is a body whose members are not validated: the settings decide about malformed reviews.
type AnyReview struct{ json.RawMessage }

// Schema is the schema of any object.
func (AnyReview) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// Check reports whether the body is an object, as its schema requires.
func (r AnyReview) Check() bool { return bytes.HasPrefix(r.RawMessage, []byte("{")) }

// review has the members of a Kubernetes AdmissionReview that are used.
type review struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Request    *reviewRequest `json:"request"`
}

type reviewRequest struct {
	UID  string `json:"uid"`
	Kind struct {
		Kind string `json:"kind"`
	} `json:"kind"`
	Namespace string          `json:"namespace"`
	Object    json.RawMessage `json:"object"`
	OldObject json.RawMessage `json:"oldObject"`
	DryRun    bool            `json:"dryRun"`
	UserInfo  struct {
		Username string `json:"username"`
	} `json:"userInfo"`
}

// AdmissionReviewResponse is an AdmissionReview with a response.
type AdmissionReviewResponse struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Response   AdmissionAnswer `json:"response"`
}

// AdmissionAnswer says whether an object is admitted.
type AdmissionAnswer struct {
	UID      string           `json:"uid"`
	Allowed  bool             `json:"allowed"`
	Status   *AdmissionStatus `json:"status,omitempty" doc:"Why it is denied."`
	Warnings []string         `json:"warnings,omitempty" doc:"What the person at the terminal is told, at most 256 characters each."`
}

// AdmissionStatus says why an object is denied.
type AdmissionStatus struct {
	Code    int    `json:"code"`
	Message string `json:"message" doc:"At most 2 KiB."`
}

// validate answers an AdmissionReview. The settings decide about malformed ones.
func (h *handlers) validate(ctx context.Context, _ *resource.EnvironmentPath, environment evidence.Environment, body *AnyReview) (*server.Answer[AdmissionReviewResponse], error) {
	org := server.Access(ctx)
	var sent review
	workload, fault := readReview(body.RawMessage, &sent)
	if fault != "" {
		return server.Answered(sent.malformed(&environment, fault)), nil
	}
	decision, err := h.judge(ctx, &request{
		org: org, environment: environment, workload: workload, user: sent.Request.UserInfo.Username, dryRun: sent.Request.DryRun,
	})
	if err != nil {
		return nil, err
	}
	answer := AdmissionAnswer{UID: sent.Request.UID, Allowed: decision.Allowed()}
	if answer.Allowed {
		answer.Warnings = decision.Warnings()
	} else {
		page := h.Links.Environment(org.OrgName, environment.Name)
		answer.Status = &AdmissionStatus{Code: http.StatusForbidden, Message: decision.Message(environment.Name, page)}
	}
	return server.Answered(sent.answer(answer)), nil
}

func readReview(content json.RawMessage, into *review) (workload *admission.Workload, fault string) {
	if err := json.Unmarshal(content, into); err != nil {
		return nil, "The review cannot be read: " + jsonFault(err)
	}
	switch {
	case into.APIVersion != reviewVersion || into.Kind != reviewKind:
		return nil, "The review is not an " + reviewKind + " of " + reviewVersion
	case into.Request == nil || into.Request.UID == "":
		return nil, "The review has no request"
	}
	sent := into.Request
	workload, err := admission.ReadWorkload(sent.Kind.Kind, sent.Object)
	if err != nil {
		return nil, "The object of the review cannot be read: " + jsonFault(err)
	}
	if running, err := admission.ReadWorkload(sent.Kind.Kind, sent.OldObject); err == nil {
		workload.Without(running)
	}
	workload.Namespace = cmp.Or(sent.Namespace, workload.Namespace)
	return workload, ""
}

func jsonFault(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return cmp.Or(wrong.Field, "it") + " should not be of the type " + wrong.Value
	}
	return "it is not valid JSON"
}

// answer has the version and kind of the review, so that clusters of other versions can read it.
func (r *review) answer(answer AdmissionAnswer) AdmissionReviewResponse {
	return AdmissionReviewResponse{APIVersion: cmp.Or(r.APIVersion, reviewVersion), Kind: cmp.Or(r.Kind, reviewKind), Response: answer}
}

// malformed answers a malformed review by the environment's settings.
func (r *review) malformed(environment *evidence.Environment, fault string) AdmissionReviewResponse {
	answer := AdmissionAnswer{Allowed: failureAdmits(environment)}
	if r.Request != nil {
		answer.UID = r.Request.UID
	}
	if !answer.Allowed {
		answer.Status = &AdmissionStatus{Code: http.StatusBadRequest, Message: fault}
	} else if environment.AdmissionOf().Mode != evidence.AdmissionOff {
		answer.Warnings = []string{fault}
	}
	return r.answer(answer)
}

// failureAdmits reports whether malformed reviews are admitted. They always are unless the mode is deny.
func failureAdmits(environment *evidence.Environment) bool {
	settings := environment.AdmissionOf()
	return settings.Mode != evidence.AdmissionDeny || settings.Failure == evidence.RuleAdmit
}
