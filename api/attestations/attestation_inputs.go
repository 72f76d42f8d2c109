package attestations

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/attestation"
)

// OverrideAttestationPostInput is the body of post_override_attestation.
type OverrideAttestationPostInput struct {
	resource.AttestationBase
	Reason                  string          `json:"reason" format:"plain-text"`
	NewComplianceStatus     bool            `json:"new_compliance_status"`
	OriginalAttestationType AttestationType `json:"original_attestation_type"`
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
	var names []any
	for i := range attestation.Types {
		if name := attestation.Types[i].Recorded; !strings.HasPrefix(name, evidence.SystemPrefix) {
			names = append(names, name)
		}
	}
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeString, Enum: names},
		{Type: huma.TypeString, MaxLength: &longest, Pattern: "^custom:.*$"},
		{Type: huma.TypeString, MaxLength: &longest, Pattern: "^system:.*$"},
	}}
}

// FoundPullRequests are pull requests of either version, as they were sent.
type FoundPullRequests []json.RawMessage

// Schema describes the versions by an extension, which the validator ignores. Clients mix the members of both
// versions; attestation.CheckPullRequest decides which mixtures are valid.
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
