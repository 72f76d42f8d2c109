package environments

import (
	"context"
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/environments"
)

// UpdateEnvironmentPatchInput is the body of update_env (docs/semantics.md 9.2). Omitted or null means unchanged.
type UpdateEnvironmentPatchInput struct {
	Description          *string   `json:"description,omitempty" nullable:"true" format:"plain-text"`
	IncludeScaling       *bool     `json:"include_scaling,omitempty" nullable:"true" deprecated:"true"`
	IncludedEnvironments *[]string `json:"included_environments,omitempty" nullable:"true" maxItems:"1000"`
	Policies             *[]string `json:"policies,omitempty" nullable:"true" maxItems:"100"`
}

// RenameEnvironmentPutInput is the body of rename_environment (docs/semantics.md 1.5).
type RenameEnvironmentPutInput struct {
	NewName string `json:"new_name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\.\\-_]*$"`
}

// JoinPhysicalToLogicalPutInput is the body of join_physical_to_logical (docs/semantics.md 12.1).
type JoinPhysicalToLogicalPutInput struct {
	PhysicalEnvironment string `json:"physical_env_name"`
}

// updateEnvironment changes the sent members of an environment. Unlike in the PUT, an empty description
// clears the stored one.
func (h *handlers) updateEnvironment(ctx context.Context, in *resource.EnvironmentPath, ref environments.EnvironmentRef, body *UpdateEnvironmentPatchInput) (*server.TextAnswer, error) {
	policies, err := h.resolvePolicies(ctx, ref.Type, body.Policies)
	if err != nil {
		return nil, err
	}
	included, err := h.resolveMembers(ctx, in.Environment, ref.Type, body.IncludedEnvironments)
	if err != nil {
		return nil, err
	}
	err = h.Environments.Modify(ctx, ref.ID, evidence.Seconds(h.Clock()), func(e *evidence.Environment) (bool, error) {
		return e.Apply(evidence.EnvironmentChange{
			Description: body.Description, IncludeScaling: body.IncludeScaling, Included: included, Policies: policies,
		}), nil
	})
	if err == nil && policies != nil {
		err = h.applyPolicies(ctx, ref)
	}
	if err == nil && included != nil {
		err = h.Logical.Update(ctx, ref.ID)
	}
	return environmentChanged(ctx, in.Environment, err)
}

// archiveEnvironment archives an environment and removes it from the snapshots of logical environments.
func (h *handlers) archiveEnvironment(ctx context.Context, in *resource.EnvironmentPath, ref environments.EnvironmentRef) (*server.TextAnswer, error) {
	org := server.Access(ctx)
	err := h.Environments.Archive(ctx, org.OrgID, in.Environment, evidence.Seconds(h.Clock()))
	if err == nil {
		err = h.Logical.MemberArchived(ctx, org.OrgID, ref.ID)
	}
	return environmentChanged(ctx, in.Environment, err)
}

func (h *handlers) renameEnvironment(ctx context.Context, in *resource.EnvironmentPath, body *RenameEnvironmentPutInput) (*server.TextAnswer, error) {
	org := server.Access(ctx)
	err := h.Environments.Rename(ctx, org.OrgID, in.Environment, body.NewName, evidence.Seconds(h.Clock()))
	if err == nil {
		err = h.Logical.UpdateIncludingArchived(ctx, org.OrgID, body.NewName)
	}
	return environmentChanged(ctx, in.Environment, err)
}

func (h *handlers) joinEnvironment(ctx context.Context, in *resource.EnvironmentPath, logical environments.EnvironmentRef, body *JoinPhysicalToLogicalPutInput) (*server.TextAnswer, error) {
	member, err := h.ResolveEnvironment(ctx, body.PhysicalEnvironment)
	if err != nil {
		return nil, err
	}
	if logical.Type != evidence.LogicalType || member.Type == evidence.LogicalType {
		return nil, errNotPhysical
	}
	err = h.Environments.Modify(ctx, logical.ID, evidence.Seconds(h.Clock()), func(e *evidence.Environment) (bool, error) { return e.Join(member.ID) })
	if err == nil {
		err = h.Logical.Update(ctx, logical.ID)
	}
	return environmentChanged(ctx, in.Environment, err)
}

func environmentChanged(ctx context.Context, name string, err error) (*server.TextAnswer, error) {
	return server.OK(), resource.EnvironmentNotFound(ctx, name, err)
}

var errNotPhysical = evidence.NewError(evidence.Invalid, "Can only add physical environments to logical environments")

// resolveMembers resolves names of members, nil if none were sent. owner is the environment, kind its type.
func (h *handlers) resolveMembers(ctx context.Context, owner string, kind evidence.EnvironmentType, names *[]string) (*[]string, error) {
	if names == nil {
		return nil, nil
	}
	if kind != evidence.LogicalType && len(*names) > 0 {
		return nil, evidence.FieldError("included_environments", "Only logical environments include others [input: %s]", kind)
	}
	members, err := h.physicalMembers(ctx, owner, *names)
	return &members, err
}

// physicalMembers resolves the names of the new members of the logical environment owner. It keeps their order and
// repetitions, as clients compare the list with what they sent. A current member may be archived, so that clients can
// send the current list again.
func (h *handlers) physicalMembers(ctx context.Context, owner string, names []string) ([]string, error) {
	distinct := resource.SortUnique(slices.Clone(names))
	refs, err := h.Environments.ResolveMany(ctx, server.Access(ctx).OrgID, distinct)
	if err == nil && len(refs) < len(distinct) {
		err = h.addArchivedMembers(ctx, owner, refs)
	}
	if err != nil {
		return nil, err
	}
	picked, err := h.PickEnvironments(ctx, names, refs)
	if slices.ContainsFunc(picked, func(ref environments.EnvironmentRef) bool { return ref.Type == evidence.LogicalType }) {
		return nil, errNotPhysical
	}
	return resource.Map(picked, func(ref *environments.EnvironmentRef) string { return ref.ID }), err
}

// addArchivedMembers adds to refs the archived members of the environment owner, if it exists, by their last names.
func (h *handlers) addArchivedMembers(ctx context.Context, owner string, refs map[string]environments.EnvironmentRef) error {
	ref, err := h.Environments.Resolve(ctx, server.Access(ctx).OrgID, owner)
	if err != nil {
		return storage.IgnoreMissing(err)
	}
	logical, err := h.Environments.Get(ctx, ref.ID)
	if err != nil {
		return err
	}
	members, err := h.Environments.GetMany(ctx, logical.Included)
	for _, member := range members {
		if _, taken := refs[member.Name]; member.Archived && !taken {
			refs[member.Name] = environments.EnvironmentRef{ID: member.ID, Type: member.Type}
		}
	}
	return err
}
