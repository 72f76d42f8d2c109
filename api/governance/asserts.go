package governance

import (
	"context"
	"net/http"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/compliance"
)

// assertRoutes are those that answer whether an artifact is compliant, and why.
func (h *handlers) assertRoutes() []server.Route {
	return []server.Route{
		{Method: http.MethodGet, Path: "/asserts/{org}/fingerprint/{fingerprint}", OperationID: "assert_artifact", Tag: "Asserts",
			Summary: "Tell whether an artifact is compliant", MinRole: evidence.Reader, Serve: server.Handle(h.assertArtifact)},
		{Method: http.MethodGet, Path: "/asserts/{org}/fingerprint/{fingerprint}/explanation", OperationID: "explain_artifact", Tag: "Asserts",
			Summary: "Explain whether an artifact is compliant", MinRole: evidence.Reader, Serve: server.Handle(h.explainArtifact)},
		{Method: http.MethodGet, Path: "/asserts/{org}/fingerprint/{fingerprint}/vsa", OperationID: "sign_verdict", Tag: "Asserts",
			Summary: "Sign whether an artifact is compliant, as a SLSA verification summary", MinRole: evidence.Reader,
			Serve: server.Handle(h.signVerdict)},
		{Method: http.MethodGet, Path: "/signing-key", OperationID: "get_signing_key", Tag: "Asserts",
			Summary: "Read the public key that verdicts are verified with", Public: true, Serve: server.Handle(h.getSigningKey)},
	}
}

// AssertArtifactResponse says whether an artifact is compliant (docs/semantics.md 18.7).
type AssertArtifactResponse struct {
	Fingerprint       string                                `json:"fingerprint"`
	Flow              string                                `json:"flow"`
	Trail             string                                `json:"trail"`
	Compliant         bool                                  `json:"compliant"`
	ComplianceStatus  resource.ArtifactComplianceStatus     `json:"compliance_status"`
	HTMLURL           string                                `json:"html_url"`
	Flows             []AssertArtifactFlowResponse          `json:"flows"`
	Scope             string                                `json:"scope" enum:"flow,environment,policy"`
	Environment       *string                               `json:"environment" nullable:"true"`
	PolicyEvaluations []resource.PolicyEvaluation           `json:"policy_evaluations"`
	AllowListing      resource.OrNull[AllowlistInformation] `json:"allow_listing"`
}

// AssertArtifactFlowResponse is an artifact as a flow knows it.
type AssertArtifactFlowResponse struct {
	Flow             string                            `json:"flow"`
	Trail            string                            `json:"trail"`
	Compliant        bool                              `json:"compliant"`
	ComplianceStatus resource.ArtifactComplianceStatus `json:"compliance_status"`
	HTMLURL          string                            `json:"html_url"`
}

// AllowlistInformation says who has allowed an artifact in an environment.
type AllowlistInformation struct {
	AllowlistID     string  `json:"allowlist_id"`
	AllowedByUserID string  `json:"allowed_by_user_id"`
	Timestamp       float64 `json:"timestamp"`
	Description     string  `json:"description"`
}

// assertArtifact answers 200 whatever the verdict is. Beside the flow that built the artifact,
// it shows all others.
func (h *handlers) assertArtifact(ctx context.Context, in *assertInput) (*server.Answer[AssertArtifactResponse], error) {
	org := server.Access(ctx)
	found, err := h.assess(ctx, org, in)
	if err != nil {
		return nil, err
	}
	body := AssertArtifactResponse{
		Fingerprint: in.Fingerprint, Compliant: found.compliant(), Scope: found.scope,
		Environment: resource.NilIfEmpty(found.environment), PolicyEvaluations: []resource.PolicyEvaluation{},
	}
	for _, number := range found.flows {
		body.Flows = append(body.Flows, h.showFlow(org, in.Fingerprint, found, number))
	}
	first := &body.Flows[0]
	body.Flow, body.Trail, body.ComplianceStatus, body.HTMLURL = first.Flow, first.Trail, first.ComplianceStatus, first.HTMLURL
	list := resource.OneList()
	for i, view := range resource.NewPolicyViews(found.applied) {
		body.PolicyEvaluations = append(body.PolicyEvaluations, view.Show(found.evaluations[i], found.artifact.Flows, list))
	}
	if allowance := found.allowance; allowance != nil {
		body.AllowListing.Value = &AllowlistInformation{
			AllowlistID: allowance.ID, AllowedByUserID: allowance.UserID, Timestamp: allowance.At, Description: allowance.Description,
		}
	}
	return server.Answered(body), nil
}

func (h *handlers) showFlow(org evidence.OrgAccess, fingerprint string, found *assessment, number int) AssertArtifactFlowResponse {
	state, flow := &found.artifact.States[number], &found.artifact.Flows[number]
	status := compliance.DescribeArtifact(state.Template, state.Trail, &state.Slot, state.Artifact)
	return AssertArtifactFlowResponse{
		Flow: flow.Name, Trail: flow.Trail, Compliant: flow.Status == evidence.Compliant,
		ComplianceStatus: resource.ShowArtifactStatus(status, state.Trail.Template),
		HTMLURL:          h.Links.Artifact(org.OrgName, flow.Name, fingerprint, found.origins[number].Record),
	}
}
