package attestations

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/attestation"
)

// CustomAttestationPostInput is the data of post_custom_attestation
// (docs/semantics.md 6.1), and so are the following of their operations.
type CustomAttestationPostInput struct {
	resource.AttestationBase
	TypeName        string          `json:"type_name"`
	AttestationData AttestationData `json:"attestation_data"`
}

// GenericAttestationPostInput is the data of post_generic_attestation.
type GenericAttestationPostInput struct {
	resource.AttestationBase
	IsCompliant bool `json:"is_compliant"`
}

// JiraAttestationPostInput is the data of post_jira_attestation.
type JiraAttestationPostInput struct {
	resource.AttestationBase
	JiraResults []attestation.JiraItem `json:"jira_results"`
}

// JUnitAttestationPostInput is the data of post_junit_attestation.
type JUnitAttestationPostInput struct {
	resource.AttestationBase
	JUnitResults []attestation.JUnitResult `json:"junit_results"`
}

// OverrideAttestationPostInput is the body of post_override_attestation.
type OverrideAttestationPostInput struct {
	resource.AttestationBase
	Reason                  string          `json:"reason" format:"plain-text"`
	NewComplianceStatus     bool            `json:"new_compliance_status"`
	OriginalAttestationType AttestationType `json:"original_attestation_type"`
}

// PullRequestAttestationPostInput is the data of post_pull_request_attestation.
type PullRequestAttestationPostInput struct {
	resource.AttestationBase
	GitProvider  string            `json:"git_provider" enum:"github,gitlab,bitbucket,azure"`
	PullRequests FoundPullRequests `json:"pull_requests"`
}

// SnykAttestationPostInput is the data of post_snyk_attestation.
type SnykAttestationPostInput struct {
	resource.AttestationBase
	SnykResults attestation.SnykResultsSummary `json:"snyk_results"`
}

// SonarAttestationPostInput is the data of post_sonar_attestation.
type SonarAttestationPostInput struct {
	resource.AttestationBase
	SonarResults attestation.SonarResults `json:"sonar_results"`
}

// SystemAttestationPostInput is the data of post_system_attestation. Unlike the
// others it lets members pass that it does not know.
type SystemAttestationPostInput struct {
	_ struct{} `json:"-" additionalProperties:"true"`
	resource.AttestationBase
	TypeName        string          `json:"type_name" enum:"decision"`
	Control         *string         `json:"control,omitempty" nullable:"true" doc:"Identifier of the control that is decided."`
	AttestationData AttestationData `json:"attestation_data"`
}

// AttestationData is the payload of a custom or system attestation: JSON, or a
// string that holds JSON.
type AttestationData struct{ json.RawMessage }

// Schema describes all forms that clients send.
func (AttestationData) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeObject, AdditionalProperties: true},
		{Type: huma.TypeArray, Items: &huma.Schema{}},
		{Type: huma.TypeString, Extensions: map[string]any{"contentMediaType": "application/json"}},
	}}
}

// AttestationType is a type of attestation as overrides name it.
type AttestationType string

// Schema admits the built-in types, and any name of a custom or system type.
func (AttestationType) Schema(huma.Registry) *huma.Schema {
	longest := len("custom:") + evidence.MaxResourceName
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeString, Enum: []any{"generic", "junit", "snyk", "pull_request", "jira", "sonar"}},
		{Type: huma.TypeString, MaxLength: &longest, Pattern: "^custom:.*$"},
		{Type: huma.TypeString, MaxLength: &longest, Pattern: "^system:.*$"},
	}}
}

// FoundPullRequests are pull requests of either version, as they were sent.
type FoundPullRequests []json.RawMessage

// Schema describes the versions by an extension, which the validator passes over:
// clients send members between the versions, which attestation.CheckPullRequest
// knows to tell from wrong ones.
func (FoundPullRequests) Schema(registry huma.Registry) *huma.Schema {
	versions := []*huma.Schema{
		registry.Schema(reflect.TypeFor[attestation.FoundPullRequestV1](), true, ""),
		registry.Schema(reflect.TypeFor[attestation.FoundPullRequestV2](), true, ""),
	}
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{
		Type: huma.TypeObject, Extensions: map[string]any{"anyOf": versions},
	}}
}

// check returns what is wrong with the pull requests, by location.
func (p FoundPullRequests) check() validation.Findings {
	found := validation.Findings{}
	for i, request := range p {
		for at, text := range attestation.CheckPullRequest(request) {
			if len(found) < validation.MaxFindings {
				found[validation.Join(fmt.Sprintf("pull_requests[%d]", i), at)] = text
			}
		}
	}
	return found
}
