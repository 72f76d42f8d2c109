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

// subjectIDs resolves the names of environments or flows in their order; those that do not exist
// are findings.
func (h *handlers) subjectIDs(ctx context.Context, kind notification.Kind, names []string, found validation.Findings) ([]string, error) {
	resolve, noun := h.environmentIDs, "Environment"
	if kind == notification.OfFlows {
		resolve, noun = h.flowIDs, "Flow"
	}
	org := server.Access(ctx)
	ids, err := resolve(ctx, org.OrgID, resource.SortUnique(slices.Clone(names)))
	if err != nil {
		return nil, err
	}
	subjects := make([]string, 0, len(names))
	for i, name := range names {
		id, ok := ids[name]
		if !ok {
			text := fmt.Sprintf("%s named '%s' does not exist for organization '%s'", noun, validation.Cut(name), org.OrgName)
			found.Add(fmt.Sprintf("%s[%d]", kind.Subjects(), i), text, name)
		}
		subjects = append(subjects, id)
	}
	return subjects, nil
}

// environmentIDs are the ids of the environments that exist, by name.
func (h *handlers) environmentIDs(ctx context.Context, org string, names []string) (map[string]string, error) {
	refs, err := h.Environments.ResolveMany(ctx, org, names)
	ids := make(map[string]string, len(refs))
	for name, ref := range refs {
		ids[name] = ref.ID
	}
	return ids, err
}

// flowIDs are the ids of the flows that exist, by name.
func (h *handlers) flowIDs(ctx context.Context, org string, names []string) (map[string]string, error) {
	refs, err := h.Flows.ResolveMany(ctx, org, names)
	ids := make(map[string]string, len(refs))
	for _, ref := range refs {
		ids[ref.Name] = ref.ID
	}
	return ids, err
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
