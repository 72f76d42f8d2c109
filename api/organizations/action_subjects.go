package organizations

import (
	"context"
	"fmt"
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence/notification"
)

// environmentIDs resolves the names of environments in their order; those that do not exist are
// findings.
func (h *handlers) environmentIDs(ctx context.Context, names []string, found validation.Findings) ([]string, error) {
	refs, err := h.Environments.ResolveMany(ctx, server.Access(ctx).OrgID, resource.SortUnique(slices.Clone(names)))
	ids := make(map[string]string, len(refs))
	for name, ref := range refs {
		ids[name] = ref.ID
	}
	if err != nil {
		return nil, err
	}
	return subjectIDs(ctx, notification.OfEnvironments, "Environment", names, ids, found), nil
}

// flowIDs resolves the names of flows in their order; those that do not exist are findings.
func (h *handlers) flowIDs(ctx context.Context, names []string, found validation.Findings) ([]string, error) {
	refs, err := h.Flows.ResolveMany(ctx, server.Access(ctx).OrgID, resource.SortUnique(slices.Clone(names)))
	ids := make(map[string]string, len(refs))
	for _, ref := range refs {
		ids[ref.Name] = ref.ID
	}
	if err != nil {
		return nil, err
	}
	return subjectIDs(ctx, notification.OfFlows, "Flow", names, ids, found), nil
}

func subjectIDs(ctx context.Context, kind notification.Kind, noun string, names []string, ids map[string]string, found validation.Findings) []string {
	subjects := make([]string, 0, len(names))
	for i, name := range names {
		id, ok := ids[name]
		if !ok {
			text := fmt.Sprintf("%s named '%s' does not exist for organization '%s'", noun, validation.Cut(name), server.Access(ctx).OrgName)
			found.Add(fmt.Sprintf("%s[%d]", kind.Subjects(), i), text, name)
		}
		subjects = append(subjects, id)
	}
	return subjects
}

// subjectNames returns the names that the environments and flows of actions have now, by id.
// Archived ones are left out.
func (h *handlers) subjectNames(ctx context.Context, actions []notification.Action) (map[string]string, error) {
	ids := map[notification.Kind][]string{}
	for i := range actions {
		ids[actions[i].Kind] = append(ids[actions[i].Kind], actions[i].Subjects...)
	}
	names := map[string]string{}
	org := server.Access(ctx).OrgID
	environments, err := h.Environments.Names(ctx, org, resource.SortUnique(ids[notification.OfEnvironments]))
	if err != nil {
		return nil, err
	}
	for id, environment := range environments {
		if !environment.Archived {
			names[id] = environment.Name
		}
	}
	flows, err := h.Flows.Names(ctx, org, resource.SortUnique(ids[notification.OfFlows]))
	for id, flow := range flows {
		if !flow.Archived {
			names[id] = flow.Name
		}
	}
	return names, err
}
