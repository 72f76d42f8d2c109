package attestations

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/attestation"
)

// CustomAttestationPostInput is the data of post_custom_attestation (docs/semantics.md 6.1).
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

// SystemAttestationPostInput is the data of post_system_attestation. Unlike the others, it accepts unknown members.
type SystemAttestationPostInput struct {
	_ struct{} `json:"-" additionalProperties:"true"`
	resource.AttestationBase
	TypeName        string          `json:"type_name" enum:"decision"`
	Control         *string         `json:"control,omitempty" nullable:"true" doc:"Identifier of the control that is decided."`
	AttestationData AttestationData `json:"attestation_data"`
}

// AttestationPayload holds the members that only one type has.
type AttestationPayload struct {
	ProcessedSnykResults json.RawMessage `json:"processed_snyk_results,omitempty"`
	GitProvider          json.RawMessage `json:"git_provider,omitempty"`
	PullRequests         json.RawMessage `json:"pull_requests,omitempty"`
	JUnitResults         json.RawMessage `json:"junit_results,omitempty"`
	JiraResults          json.RawMessage `json:"jira_results,omitempty"`
	SonarResults         json.RawMessage `json:"sonar_results,omitempty"`
	AttestationData      json.RawMessage `json:"attestation_data,omitempty" doc:"Of custom types and decisions."`
	TypeVersion          int             `json:"type_version,omitempty" doc:"Version of the custom type that judged."`
	Control              json.RawMessage `json:"control,omitempty" doc:"Identifier of the control that a decision decides, or null."`
	ControlVersion       json.RawMessage `json:"control_version,omitempty" doc:"Version that the control had when the decision was recorded; null if it did not exist."`
}

func showPayload(a *evidence.Attestation) AttestationPayload {
	shown := AttestationPayload{
		ProcessedSnykResults: a.Payload["processed_snyk_results"],
		GitProvider:          a.Payload["git_provider"],
		PullRequests:         a.Payload["pull_requests"],
		JUnitResults:         a.Payload["junit_results"],
		JiraResults:          a.Payload["jira_results"],
		SonarResults:         a.Payload["sonar_results"],
		AttestationData:      a.Payload[attestation.DataMember],
		TypeVersion:          a.TypeVersion,
	}
	if a.Type == evidence.TypeDecision && a.Override == nil {
		shown.Control, shown.ControlVersion = jsonOrNull(a.Control), jsonOrNull(a.ControlVersion)
	}
	return shown
}

// evaluateBuiltIn adds a value to the payload and evaluates it by the rule of a built-in type.
func evaluateBuiltIn(kind string, base *resource.AttestationBase, members payload, value any) (verdict, error) {
	of, _ := attestation.TypeOf(kind)
	encoded, err := json.Marshal(value)
	if err != nil {
		return verdict{}, fmt.Errorf("encode %s: %w", of.Member, err)
	}
	members[of.Member] = encoded
	compliant, err := of.IsCompliant(members)
	return verdict{base: base, kind: kind, compliant: compliant, payload: members}, err
}

func (h *handlers) evaluateGeneric(_ context.Context, body *GenericAttestationPostInput) (verdict, error) {
	return verdict{base: &body.AttestationBase, kind: evidence.TypeGeneric, compliant: body.IsCompliant}, nil
}

func (h *handlers) evaluatePullRequests(_ context.Context, body *PullRequestAttestationPostInput) (verdict, error) {
	if err := validation.Invalid(body.PullRequests.check()); err != nil {
		return verdict{}, err
	}
	members := payload{"git_provider": json.RawMessage(`"` + body.GitProvider + `"`)}
	return evaluateBuiltIn(evidence.TypePullRequest, &body.AttestationBase, members, body.PullRequests)
}

// evaluateSystem judges a decision, the only type of system attestations.
func (h *handlers) evaluateSystem(_ context.Context, body *SystemAttestationPostInput) (verdict, error) {
	data, err := attestation.ReadData(body.AttestationData.RawMessage)
	if err != nil {
		return verdict{}, err
	}
	decision, err := attestation.ReadDecision(data)
	return verdict{
		base: &body.AttestationBase, kind: evidence.TypeDecision, compliant: decision.IsCompliant,
		payload: payload{attestation.DataMember: data}, version: attestation.DecisionVersion, control: evidence.ZeroIfNil(body.Control),
	}, err
}

// evaluateCustom evaluates a payload by the current version of a custom type. It logs failed rules without the payload.
func (h *handlers) evaluateCustom(ctx context.Context, body *CustomAttestationPostInput) (verdict, error) {
	data, err := attestation.ReadData(body.AttestationData.RawMessage)
	if err != nil {
		return verdict{}, err
	}
	org := server.Access(ctx)
	kind, version, definition, err := h.AttestationTypes.Current(ctx, org.OrgID, body.TypeName)
	switch {
	case err != nil:
		return verdict{}, attestationTypeNotFound(err, org, body.TypeName)
	case kind.Archived:
		return verdict{}, evidence.Errorf(evidence.Invalid, "Custom attestation type '%s' has been archived for org '%s'", body.TypeName, org.OrgName)
	}
	judged, err := h.Evaluator.Evaluate(ctx, org.OrgID, definition, data)
	if err != nil {
		return verdict{}, err
	}
	if len(judged.Reasons) > 0 {
		h.Log.InfoContext(ctx, "custom attestation is not compliant", slog.String("request_id", server.RequestID(ctx)),
			slog.String("type", body.TypeName), slog.Int("version", version), slog.Any("reasons", judged.Reasons))
	}
	return verdict{
		base: &body.AttestationBase, kind: evidence.CustomPrefix + body.TypeName, compliant: judged.Compliant,
		payload: payload{attestation.DataMember: data}, version: version, failed: judged.Failed,
	}, nil
}

// OverrideAttestationPostInput is the body of post_override_attestation.
type OverrideAttestationPostInput struct {
	resource.AttestationBase
	Reason                  string          `json:"reason" format:"plain-text"`
	NewComplianceStatus     bool            `json:"new_compliance_status"`
	OriginalAttestationType AttestationType `json:"original_attestation_type"`
}

// AttestationData is the payload of a custom or system attestation: JSON, or a string that holds JSON.
type AttestationData struct{ json.RawMessage }

// Schema describes the forms that clients send.
func (AttestationData) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeObject, AdditionalProperties: true},
		{Type: huma.TypeArray, Items: &huma.Schema{}},
		{Type: huma.TypeString, Extensions: map[string]any{"contentMediaType": "application/json"}},
	}}
}

// AttestationType is the type of the attestation that an override replaces.
type AttestationType string

// Schema accepts the built-in types, and all names of custom and system types.
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
