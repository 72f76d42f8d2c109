package governance

import (
	"context"
	"slices"

	"attestry/api/assessment"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/policy"
	"attestry/evidence/signing"
	"attestry/evidence/verdict"
	"attestry/storage"
)

// AssertArtifactResponse says whether an artifact is compliant (docs/semantics.md 18.7).
type AssertArtifactResponse struct {
	Fingerprint string `json:"fingerprint"`
	// AssertArtifactFlowResponse is the first of Flows, with the verdict of the assert.
	AssertArtifactFlowResponse
	Flows             []AssertArtifactFlowResponse          `json:"flows"`
	Scope             string                                `json:"scope" enum:"flow,environment,policy"`
	Environment       *string                               `json:"environment" nullable:"true"`
	PolicyEvaluations []resource.PolicyEvaluation           `json:"policy_evaluations"`
	AllowListing      resource.OrNull[AllowlistInformation] `json:"allow_listing"`
}

// AssertArtifactFlowResponse is an artifact in a flow.
type AssertArtifactFlowResponse struct {
	Flow             string                            `json:"flow"`
	Trail            string                            `json:"trail"`
	Compliant        bool                              `json:"compliant"`
	ComplianceStatus resource.ArtifactComplianceStatus `json:"compliance_status"`
	HTMLURL          string                            `json:"html_url"`
}

// AllowlistInformation is the entry of the allow list that allows the artifact.
type AllowlistInformation struct {
	AllowlistID     string  `json:"allowlist_id"`
	AllowedByUserID string  `json:"allowed_by_user_id"`
	Timestamp       float64 `json:"timestamp"`
	Description     string  `json:"description"`
}

// assertArtifact answers 200 for each verdict. It shows all flows of the artifact, first the one that built it.
func (h *handlers) assertArtifact(ctx context.Context, in *assertInput, found *assessment.Assessment) (*server.Answer[AssertArtifactResponse], error) {
	body := AssertArtifactResponse{
		Fingerprint: in.Fingerprint, Scope: found.Scope,
		Environment: resource.NilIfEmpty(found.Environment.Name), PolicyEvaluations: []resource.PolicyEvaluation{},
		Flows: resource.Map(found.Flows, func(number *int) AssertArtifactFlowResponse {
			return h.showFlow(server.Access(ctx), in.Fingerprint, found, *number)
		}),
	}
	body.AssertArtifactFlowResponse = body.Flows[0]
	body.Compliant = found.Compliant()
	list := resource.OneList()
	for i, view := range resource.NewPolicyViews(found.Applied) {
		body.PolicyEvaluations = append(body.PolicyEvaluations, view.Show(found.Evaluations[i], found.Artifact.Flows, list))
	}
	if allowance := found.Allowance; allowance != nil {
		body.AllowListing.Value = &AllowlistInformation{
			AllowlistID: allowance.ID, AllowedByUserID: allowance.UserID, Timestamp: allowance.At, Description: allowance.Description,
		}
	}
	return server.Answered(body), nil
}

func (h *handlers) showFlow(org evidence.OrgAccess, fingerprint string, found *assessment.Assessment, number int) AssertArtifactFlowResponse {
	state, flow := &found.Artifact.States[number], &found.Artifact.Flows[number]
	status := compliance.DescribeArtifact(state.Template, state.Trail, &state.Slot, state.Artifact)
	return AssertArtifactFlowResponse{
		Flow: flow.Name, Trail: flow.Trail, Compliant: flow.Status == evidence.Compliant,
		ComplianceStatus: resource.ShowArtifactStatus(status, state.Trail.Template),
		HTMLURL:          h.Links.Artifact(org.OrgName, flow.Name, fingerprint, found.Origins[number].Record),
	}
}

// assertInput selects the artifact of an assert and what it is evaluated by.
type assertInput struct {
	server.OrgPath
	Fingerprint     string   `path:"fingerprint" doc:"SHA-256 of the artifact."`
	FlowName        string   `query:"flow_name" doc:"Shows the artifact in this flow alone."`
	EnvironmentName string   `query:"environment_name" doc:"Evaluates the artifact by the policies of this environment."`
	PolicyName      []string `query:"policy_name,explode" maxItems:"100" doc:"Evaluates the artifact by these policies, in this order."`
}

// Ref is the whole input.
func (in assertInput) Ref() *assertInput { return &in }

// assess evaluates an artifact, which must have been reported to a flow.
func (h *handlers) assess(ctx context.Context, in *assertInput) (*assessment.Assessment, error) {
	basis, err := h.basisOf(ctx, in)
	if err != nil {
		return nil, err
	}
	assessed, err := assessment.Assess(ctx, h.Base, server.Access(ctx).OrgID, basis, []assessment.Image{{Fingerprint: in.Fingerprint}})
	switch {
	case err != nil:
		return nil, err
	case len(assessed[0].Origins) > 0:
		return assessed[0], h.limitFlows(ctx, in, assessed[0])
	case in.FlowName != "":
		return nil, resource.ArtifactNotFound(ctx, in.FlowName, in.Fingerprint, storage.ErrNotFound)
	}
	return nil, artifactNotFound(ctx, in.Fingerprint)
}

func artifactNotFound(ctx context.Context, fingerprint string) error {
	return evidence.Errorf(evidence.NotFound, "Artifact with fingerprint '%s' does not exist in organization '%s'", fingerprint, server.Access(ctx).OrgName)
}

func (h *handlers) basisOf(ctx context.Context, in *assertInput) (*assessment.Basis, error) {
	switch {
	case in.EnvironmentName != "" && len(in.PolicyName) > 0:
		return nil, validation.Fault("query.policy_name", "Give either an environment or policies", in.PolicyName[0])
	case in.EnvironmentName != "":
		environment, err := h.LoadEnvironment(ctx, in.EnvironmentName)
		if err != nil {
			return nil, err
		}
		return assessment.OfEnvironment(ctx, h.Base, environment)
	case len(in.PolicyName) > 0:
		applied, err := h.latestPolicies(ctx, in.PolicyName)
		return &assessment.Basis{Scope: assessment.PolicyScope, Applied: applied}, err
	}
	return &assessment.Basis{Scope: assessment.FlowScope}, nil
}

// latestPolicies returns the latest versions of policies, all of which must exist.
func (h *handlers) latestPolicies(ctx context.Context, names []string) ([]policy.Applied, error) {
	names = evidence.Distinct(names)
	applied, err := h.Policies.Latest(ctx, server.Access(ctx).OrgID, names)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if i >= len(applied) || applied[i].Name != name {
			return nil, policyNotFound(ctx, name, storage.ErrNotFound)
		}
	}
	return applied, nil
}

// limitFlows limits found.Flows to the flow of the request, if it has one. The request may have a former name of it.
func (h *handlers) limitFlows(ctx context.Context, in *assertInput, found *assessment.Assessment) error {
	if in.FlowName == "" {
		return nil
	}
	found.Flows = slices.DeleteFunc(found.Flows, func(number int) bool { return found.Artifact.Flows[number].Name != in.FlowName })
	if len(found.Flows) > 0 {
		return nil
	}
	ref, err := h.Flows.Resolve(ctx, server.Access(ctx).OrgID, in.FlowName)
	if err != nil {
		return resource.ArtifactNotFound(ctx, in.FlowName, in.Fingerprint, err)
	}
	for number := range found.Origins {
		if found.Origins[number].Flow == ref.ID {
			found.Flows = []int{number}
			return nil
		}
	}
	return resource.ArtifactNotFound(ctx, in.FlowName, in.Fingerprint, storage.ErrNotFound)
}

// ArtifactExplanation explains the answer of an assert (docs/semantics.md 18.8).
type ArtifactExplanation struct {
	Fingerprint string                 `json:"fingerprint"`
	Scope       string                 `json:"scope" enum:"flow,environment,policy"`
	Environment *string                `json:"environment" nullable:"true"`
	Compliant   bool                   `json:"compliant"`
	Explanation []resource.Explanation `json:"explanation" doc:"What fails first."`
	LeftOut     int                    `json:"explanation_left_out,omitempty" doc:"How many sentences are not shown, as there are too many."`
}

// explainArtifact explains the verdict of assertArtifact for the same input.
func (h *handlers) explainArtifact(ctx context.Context, in *assertInput, found *assessment.Assessment) (*server.Answer[ArtifactExplanation], error) {
	body := ArtifactExplanation{
		Fingerprint: in.Fingerprint, Scope: found.Scope, Environment: resource.NilIfEmpty(found.Environment.Name), Compliant: found.Compliant(),
	}
	list := resource.OneList()
	for _, failing := range []bool{true, false} {
		sentences, leftOut := found.Explain(h.Links, server.Access(ctx), failing, list)
		body.Explanation = append(body.Explanation, sentences...)
		body.LeftOut += leftOut
	}
	return server.Answered(body), nil
}

// errNoSigningKey is 404, because a retry cannot help: the operator must set a key.
var errNoSigningKey = evidence.NewError(evidence.NotFound, "No signing key is configured, so verdicts are not signed")

// SigningKeyResponse is the public key of a service.
type SigningKeyResponse struct {
	PublicKey string `json:"public_key" doc:"ECDSA P-256 key in PEM form."`
	Hint      string `json:"hint" doc:"The hint in bundles that are signed with it: SHA-256 of the key in DER form, in base64."`
}

func (h *handlers) getSigningKey(context.Context, *struct{}) (*server.Answer[SigningKeyResponse], error) {
	if h.SigningKey == nil {
		return nil, errNoSigningKey
	}
	return server.Answered(SigningKeyResponse{PublicKey: h.SigningKey.PublicKey(), Hint: h.SigningKey.Hint()}), nil
}

// signVerdict signs the verdict of assertArtifact for the same input.
func (h *handlers) signVerdict(ctx context.Context, in *assertInput) (*server.Answer[signing.Bundle], error) {
	if h.SigningKey == nil {
		return nil, errNoSigningKey
	}
	found, err := h.assess(ctx, in)
	if err != nil {
		return nil, err
	}
	decided, err := h.verdictOf(ctx, in, found)
	if err != nil {
		return nil, err
	}
	if err := h.addEntries(ctx, found, decided); err != nil {
		return nil, err
	}
	statement, err := decided.Statement()
	if err != nil {
		return nil, err
	}
	bundle, err := h.SigningKey.Bundle(verdict.PayloadType, statement)
	return server.Answered(bundle), err
}

func (h *handlers) verdictOf(ctx context.Context, in *assertInput, found *assessment.Assessment) (*verdict.Verdict, error) {
	org := server.Access(ctx)
	decided := &verdict.Verdict{
		Passed: found.Compliant(), Verifier: h.Links.Base, Resource: h.Links.AssertSelf(org.OrgName, in.Fingerprint),
		Name: found.Artifact.Name, Fingerprint: in.Fingerprint, At: h.Clock(), PolicyURI: h.policyURI(org, in, found),
	}
	if len(found.Applied) == 0 {
		return decided, nil
	}
	if found.Allowance != nil {
		decided.AllowlistID = found.Allowance.ID
	}
	files, err := h.Policies.Files(ctx, org.OrgID, policy.References(found.Applied))
	for _, file := range files {
		decided.Policies = append(decided.Policies, verdict.Policy{
			Name: file.Policy, Version: file.Version, URI: h.Links.PolicySelf(org.OrgName, file.Policy),
			Digest: verdict.DigestSet{SHA256: evidence.SHA256(file.Content)},
		})
	}
	if found.Scope == assessment.PolicyScope && len(decided.Policies) == 1 {
		decided.PolicySum = decided.Policies[0].Digest.SHA256
	}
	return decided, err
}

// policyURI identifies the basis of the verdict; it is the same for all artifacts. A verdict about one flow must have
// another URI than one about an environment without policies.
func (h *handlers) policyURI(org evidence.OrgAccess, in *assertInput, found *assessment.Assessment) string {
	switch {
	case len(found.Applied) == 0 && in.FlowName != "":
		return h.Links.FlowSelf(org.OrgName, found.Artifact.Flows[found.Flows[0]].Name)
	case found.Scope == assessment.EnvironmentScope:
		return h.Links.EnvironmentSelf(org.OrgName, found.Environment.Name)
	case found.Scope == assessment.FlowScope:
		return h.Links.FlowsSelf(org.OrgName)
	case len(found.Applied) == 1:
		return h.Links.PolicySelf(org.OrgName, found.Applied[0].Name)
	}
	names := resource.Map(found.Applied, func(one *policy.Applied) string { return one.Name })
	slices.Sort(names)
	return h.Links.PoliciesSelf(org.OrgName, names)
}
