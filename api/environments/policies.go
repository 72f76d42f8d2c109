package environments

import (
	"context"
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/storage/environments"
)

// AttachPoliciesPutInput is the body of attach_policy_to_env and detach_policy_from_env (docs/semantics.md 18.6).
type AttachPoliciesPutInput struct {
	PolicyNames []string `json:"policy_names" maxItems:"100"`
}

// changePolicies makes an operation that changes the attached policies and waits for a snapshot evaluated by them.
func (h *handlers) changePolicies(change func(e *evidence.Environment, names []string) (bool, error)) server.Binder {
	return resource.FoundWithBody(h.ResolveEnvironment, func(ctx context.Context, in *resource.EnvironmentPath, ref environments.EnvironmentRef, body *AttachPoliciesPutInput) (*server.TextAnswer, error) {
		names, err := h.resolvePolicies(ctx, ref.Type, &body.PolicyNames)
		if err != nil {
			return nil, err
		}
		err = h.Environments.Modify(ctx, ref.ID, evidence.Seconds(h.Clock()), func(e *evidence.Environment) (bool, error) { return change(e, *names) })
		if err == nil {
			err = h.applyPolicies(ctx, ref)
		}
		return environmentChanged(ctx, in.Environment, err)
	})
}

// resolvePolicies returns the sent names of policies without duplicates, nil if none were sent. All must exist. Logical
// environments have no policies.
func (h *handlers) resolvePolicies(ctx context.Context, kind evidence.EnvironmentType, sent *[]string) (*[]string, error) {
	if sent == nil {
		return nil, nil
	}
	org := server.Access(ctx)
	names := evidence.Distinct(*sent)
	known, err := h.Policies.GetMany(ctx, org.OrgID, names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, ok := known[name]; !ok {
			return nil, evidence.Errorf(evidence.NotFound, "Policy '%s' does not exist in organization '%s'", name, org.OrgName)
		}
	}
	if kind == evidence.LogicalType && len(names) > 0 {
		return nil, evidence.FieldError("policies", "Only physical environments have policies [input: logical]")
	}
	return &names, nil
}

// applyPolicies evaluates the environment again and waits for the snapshot, unless the last snapshot was evaluated by
// the attached policies. It compares with the snapshot and not with the environment before the request, so that a
// repeated request completes an interrupted one. A worker that has the lease may have read other policies.
func (h *handlers) applyPolicies(ctx context.Context, ref environments.EnvironmentRef) error {
	if ref.Type == evidence.LogicalType {
		return nil
	}
	environment, err := h.Environments.Get(ctx, ref.ID)
	if err != nil {
		return err
	}
	head, err := h.Heads.Get(ctx, ref.ID)
	if err != nil {
		return err
	}
	if head.Lease.Holder == "" && slices.EqualFunc(head.Policies, environment.Policies, func(r policy.Reference, name string) bool { return r.Name == name }) {
		return nil
	}
	if err := h.Generations.Bump(ctx, environment.Org); err != nil {
		return err
	}
	return h.Intake.Reevaluate(ctx, environment.Org, ref.ID, ref.Type, server.Principal(ctx).Name)
}
