package governance

import (
	"context"
	"fmt"
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/app/facts"
	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/storage"
)

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

// assess evaluates an artifact as an assert asks. An artifact is known to policies by the file
// name of its newest report.
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
		return nil, evidence.ValidationError(map[string]string{
			"query.policy_name": fmt.Sprintf("Give either an environment or policies [input: %s]", in.PolicyName[0]),
		})
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

// loadArtifact reads what is known of an artifact. Flows must know it.
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
