package governance

import (
	"context"
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/evidence/signing"
	"attestry/evidence/verdict"
)

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
