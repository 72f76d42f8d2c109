package governance

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/app/facts"
	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/policy"
	"attestry/evidence/signing"
	"attestry/evidence/verdict"
	"attestry/storage"
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

// AssertArtifactFlowResponse is an artifact in a flow.
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
		Flows: resource.Map(found.flows, func(number *int) AssertArtifactFlowResponse {
			return h.showFlow(org, in.Fingerprint, found, *number)
		}),
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

// The scopes of asserts (docs/semantics.md 18.7).
const (
	flowScope        = "flow"
	environmentScope = "environment"
	policyScope      = "policy"
)

// assertInput says what an artifact is to be compared with.
type assertInput struct {
	server.OrgPath
	Fingerprint     string   `path:"fingerprint" doc:"SHA-256 of the artifact."`
	FlowName        string   `query:"flow_name" doc:"Shows the artifact in this flow alone."`
	EnvironmentName string   `query:"environment_name" doc:"Evaluates the artifact by the policies of this environment."`
	PolicyName      []string `query:"policy_name,explode" maxItems:"100" doc:"Evaluates the artifact by these policies, in this order."`
}

// assessment is what an assert has found.
type assessment struct {
	scope       string
	environment string // name
	artifact    facts.Artifact
	origins     []evidence.Origin
	// flows are the numbers of those that are shown.
	flows       []int
	applied     []policy.Applied
	evaluations []policy.Evaluation // one per policy that is applied
	// allowance is nil unless the environment's allow list has the artifact.
	allowance *evidence.Allowance
}

// compliant is the verdict: that of the policies, or of the flows where no policy is applied.
func (a *assessment) compliant() bool {
	if len(a.applied) == 0 {
		return !slices.ContainsFunc(a.flows, func(flow int) bool { return a.artifact.Flows[flow].Status != evidence.Compliant })
	}
	return a.allowance != nil || !slices.ContainsFunc(a.evaluations, func(e policy.Evaluation) bool { return !e.Compliant() })
}

// assess evaluates an artifact. Policies see it under the file name of its newest report.
func (h *handlers) assess(ctx context.Context, org evidence.OrgAccess, in *assertInput) (*assessment, error) {
	found, err := h.scopeOf(ctx, org, in)
	if err != nil {
		return nil, err
	}
	if err := h.loadArtifact(ctx, org, in, found); err != nil {
		return nil, err
	}
	if err := h.limitFlows(ctx, org, in, found); err != nil {
		return nil, err
	}
	for _, one := range found.applied {
		// Policies can be made to take long; the request has a time limit.
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found.evaluations = append(found.evaluations, one.Policy.Evaluate(&found.artifact.Facts))
	}
	return found, nil
}

// scopeOf finds out which policies apply.
func (h *handlers) scopeOf(ctx context.Context, org evidence.OrgAccess, in *assertInput) (*assessment, error) {
	switch {
	case in.EnvironmentName != "" && len(in.PolicyName) > 0:
		return nil, resource.FieldError("query.policy_name", "Give either an environment or policies [input: %s]", in.PolicyName[0])
	case in.EnvironmentName != "":
		return h.environmentScope(ctx, org, in)
	case len(in.PolicyName) > 0:
		applied, err := h.latestPolicies(ctx, org, in.PolicyName)
		return &assessment{scope: policyScope, applied: applied}, err
	}
	return &assessment{scope: flowScope}, nil
}

func (h *handlers) environmentScope(ctx context.Context, org evidence.OrgAccess, in *assertInput) (*assessment, error) {
	environment, err := h.LoadEnvironment(ctx, org, in.EnvironmentName)
	if err != nil {
		return nil, err
	}
	found := &assessment{scope: environmentScope, environment: environment.Name}
	if found.applied, err = h.Policies.Latest(ctx, org.OrgID, environment.Policies); err != nil {
		return nil, err
	}
	allowed, err := h.Allowlist.Of(ctx, environment.ID, []string{in.Fingerprint})
	if allowance, ok := allowed[in.Fingerprint]; ok {
		found.allowance = &allowance
	}
	return found, err
}

// latestPolicies returns the latest versions of policies, all of which must exist.
func (h *handlers) latestPolicies(ctx context.Context, org evidence.OrgAccess, names []string) ([]policy.Applied, error) {
	names = storage.Distinct(names)
	applied, err := h.Policies.Latest(ctx, org.OrgID, names)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if i >= len(applied) || applied[i].Name != name {
			return nil, policyNotFound(org, name, storage.ErrNotFound)
		}
	}
	return applied, nil
}

// loadArtifact reads the facts about an artifact, which must have been reported to a flow.
func (h *handlers) loadArtifact(ctx context.Context, org evidence.OrgAccess, in *assertInput, into *assessment) error {
	fingerprint := in.Fingerprint
	provenances, err := h.Provenances.GetMany(ctx, org.OrgID, []string{fingerprint})
	switch {
	case err != nil:
		return err
	case len(provenances) == 0 && in.FlowName != "":
		return resource.ArtifactNotFound(org, in.FlowName, fingerprint, storage.ErrNotFound)
	case len(provenances) == 0:
		return artifactNotFound(org, fingerprint)
	}
	into.origins = provenances[0].Origins()
	loaded, err := h.Facts.Load(ctx, org.OrgID, []facts.Subject{{Fingerprint: fingerprint, Origins: into.origins}}, policy.ControlsOf(into.applied))
	if err != nil {
		return err
	}
	into.artifact = loaded[0]
	into.artifact.Name = facts.NewestName(into.origins, into.artifact.States)
	return nil
}

// limitFlows selects the flows that are shown: that of the request, by a former name too, or all.
func (h *handlers) limitFlows(ctx context.Context, org evidence.OrgAccess, in *assertInput, found *assessment) error {
	for number, flow := range found.artifact.Flows {
		if in.FlowName == "" || flow.Name == in.FlowName {
			found.flows = append(found.flows, number)
		}
	}
	if len(found.flows) > 0 {
		return nil
	}
	ref, err := h.Flows.Resolve(ctx, org.OrgID, in.FlowName)
	if err != nil {
		return resource.ArtifactNotFound(org, in.FlowName, in.Fingerprint, err)
	}
	for number := range found.origins {
		if found.origins[number].Flow == ref.ID {
			found.flows = []int{number}
			return nil
		}
	}
	return resource.ArtifactNotFound(org, in.FlowName, in.Fingerprint, storage.ErrNotFound)
}

func artifactNotFound(org evidence.OrgAccess, fingerprint string) error {
	return evidence.NewError(evidence.NotFound,
		fmt.Sprintf("Artifact with fingerprint '%s' does not exist in organization '%s'", fingerprint, org.OrgName))
}

// Causes of sentences that are about no rule of a policy.
const (
	allowListed = "allow_listed"
	noPolicies  = "no_policies"
)

// ArtifactExplanation explains the answer of an assert (docs/semantics.md 18.8).
type ArtifactExplanation struct {
	Fingerprint string                 `json:"fingerprint"`
	Scope       string                 `json:"scope" enum:"flow,environment,policy"`
	Environment *string                `json:"environment" nullable:"true"`
	Compliant   bool                   `json:"compliant"`
	Explanation []resource.Explanation `json:"explanation" doc:"What fails first."`
	LeftOut     int                    `json:"explanation_left_out,omitempty" doc:"How many sentences are not shown, as there are too many."`
}

// explainArtifact explains what assertArtifact answers to the same question.
func (h *handlers) explainArtifact(ctx context.Context, in *assertInput) (*server.Answer[ArtifactExplanation], error) {
	org := server.Access(ctx)
	found, err := h.assess(ctx, org, in)
	if err != nil {
		return nil, err
	}
	body := ArtifactExplanation{
		Fingerprint: in.Fingerprint, Scope: found.scope, Environment: resource.NilIfEmpty(found.environment), Compliant: found.compliant(),
	}
	list := resource.OneList()
	for _, failing := range []bool{true, false} {
		sentences, leftOut := h.explain(org, found, failing, list)
		body.Explanation = append(body.Explanation, sentences...)
		body.LeftOut += leftOut
	}
	return server.Answered(body), nil
}

// explain lists what fails, or what does not, in the order in which it was evaluated. It also returns
// how many sentences do not fit in the list.
func (h *handlers) explain(org evidence.OrgAccess, found *assessment, failing bool, list *resource.ReasonList) (sentences []resource.Explanation, leftOut int) {
	if allowance := found.allowance; allowance != nil && !failing {
		sentences = append(sentences, resource.Explanation{
			Cause: allowListed, Links: map[string]string{"environment": h.Links.Environment(org.OrgName, found.environment)},
			Text: fmt.Sprintf("'%s' has allowed the artifact in environment '%s', whatever policies say: %s",
				allowance.UserName, found.environment, allowance.Description),
		})
	}
	if len(found.applied) == 0 {
		explained, leftOut := h.explainFlows(org, found, failing, list)
		return append(sentences, explained...), leftOut
	}
	for i := range found.applied {
		explained, more := resource.Explain(h.Links, org, &found.applied[i], found.evaluations[i], &found.artifact.Facts, failing, list)
		sentences, leftOut = append(sentences, explained...), leftOut+more
	}
	return sentences, leftOut
}

// explainFlows explains the artifact's own compliance in the words of a policy that requires it.
func (h *handlers) explainFlows(org evidence.OrgAccess, found *assessment, failing bool, list *resource.ReasonList) (sentences []resource.Explanation, leftOut int) {
	if found.scope == environmentScope && !failing {
		sentences = append(sentences, resource.Explanation{
			Cause: noPolicies, Links: map[string]string{"environment": h.Links.Environment(org.OrgName, found.environment)},
			Text: fmt.Sprintf("No policy is attached to environment '%s', so the compliance of the artifact's trails decides.", found.environment),
		})
	}
	required := policy.Policy{TrailCompliance: policy.Requirement{Required: true}}
	facts := found.artifact.Facts
	facts.Flows = resource.Map(found.flows, func(number *int) policy.Flow { return found.artifact.Flows[*number] })
	evaluation := required.Evaluate(&facts)
	for number := range evaluation {
		if number != policy.TrailComplianceNumber {
			evaluation[number].Resolutions = nil
		}
	}
	explained, leftOut := resource.Explain(h.Links, org, &policy.Applied{Policy: &required}, evaluation, &facts, failing, list)
	for _, sentence := range explained {
		sentence.PolicyName, sentence.PolicyVersion, sentence.Rule = nil, nil, nil
		delete(sentence.Links, "policy")
		sentences = append(sentences, sentence)
	}
	return sentences, leftOut
}

// errNoSigningKey is 404: the operator must set a key, so trying again does not help.
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

// signVerdict signs what assertArtifact answers to the same question.
func (h *handlers) signVerdict(ctx context.Context, in *assertInput) (*server.Answer[signing.Bundle], error) {
	if h.SigningKey == nil {
		return nil, errNoSigningKey
	}
	org := server.Access(ctx)
	found, err := h.assess(ctx, org, in)
	if err != nil {
		return nil, err
	}
	decided, err := h.verdictOf(ctx, org, in, found)
	if err != nil {
		return nil, err
	}
	statement, err := decided.Statement()
	if err != nil {
		return nil, err
	}
	bundle, err := h.SigningKey.Bundle(verdict.PayloadType, statement)
	return server.Answered(bundle), err
}

func (h *handlers) verdictOf(ctx context.Context, org evidence.OrgAccess, in *assertInput, found *assessment) (*verdict.Verdict, error) {
	decided := &verdict.Verdict{
		Passed: found.compliant(), Verifier: h.Links.Base, Resource: h.Links.AssertSelf(org.OrgName, in.Fingerprint),
		Name: found.artifact.Name, Fingerprint: in.Fingerprint, At: h.Clock(), PolicyURI: h.policyURI(org, in, found),
	}
	if len(found.applied) == 0 {
		return decided, nil
	}
	if found.allowance != nil {
		decided.AllowlistID = found.allowance.ID
	}
	files, err := h.Policies.Files(ctx, org.OrgID, policy.References(found.applied))
	for _, file := range files {
		decided.Policies = append(decided.Policies, verdict.Policy{
			Name: file.Policy, Version: file.Version, URI: h.Links.PolicySelf(org.OrgName, file.Policy),
			Digest: verdict.DigestSet{SHA256: policy.Sum(file.Content)},
		})
	}
	if found.scope == policyScope && len(decided.Policies) == 1 {
		decided.PolicySum = decided.Policies[0].Digest.SHA256
	}
	return decided, err
}

// policyURI identifies what has decided; it is the same for all artifacts. A verdict of one flow must not pass for
// that of an environment without policies.
func (h *handlers) policyURI(org evidence.OrgAccess, in *assertInput, found *assessment) string {
	switch {
	case len(found.applied) == 0 && in.FlowName != "":
		return h.Links.FlowSelf(org.OrgName, found.artifact.Flows[found.flows[0]].Name)
	case found.scope == environmentScope:
		return h.Links.EnvironmentSelf(org.OrgName, found.environment)
	case found.scope == flowScope:
		return h.Links.FlowsSelf(org.OrgName)
	case len(found.applied) == 1:
		return h.Links.PolicySelf(org.OrgName, found.applied[0].Name)
	}
	names := resource.Map(found.applied, func(one *policy.Applied) string { return one.Name })
	slices.Sort(names)
	return h.Links.PoliciesSelf(org.OrgName, names)
}
