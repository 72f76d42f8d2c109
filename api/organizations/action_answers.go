package organizations

import (
	"context"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence/notification"
	"attestry/storage/notifications"
)

// ActionResponse is an action as answers show it (docs/semantics.md 20.1).
type ActionResponse struct {
	ActionHead
	Flows        *[]string `json:"flows" nullable:"true" doc:"Names of flows, null for an action about environments."`
	Environments *[]string `json:"environments" nullable:"true" doc:"Names of environments, null for an action about flows."`
}

// ActionHead is what answers show of actions of both types.
type ActionHead struct {
	Name                  string           `json:"name"`
	Type                  string           `json:"type" enum:"env,flow"`
	Number                int64            `json:"number"`
	Targets               []TargetResponse `json:"targets"`
	Triggers              []string         `json:"triggers"`
	CreatedBy             string           `json:"created_by"`
	IsCreatedFromSlackApp bool             `json:"is_created_from_slack_app" doc:"Always false."`
	IsFailing             *bool            `json:"is_failing" nullable:"true" doc:"Whether one of the targets fails. Null before any of them was told something."`
	LastSuccessTimestamp  *float64         `json:"last_success_timestamp" nullable:"true" doc:"The latest of all targets, Unix seconds."`
	LastFailureTimestamp  *float64         `json:"last_failure_timestamp" nullable:"true" doc:"The latest of all targets, Unix seconds."`
	CreatedAt             float64          `json:"created_at"`
	LastModifiedAt        float64          `json:"last_modified_at"`
}

func (h *handlers) showActions(ctx context.Context, actions []notification.Action) (*server.Answer[jsonstream.List[ActionResponse]], error) {
	read, err := h.readAround(ctx, actions...)
	return server.Answered(jsonstream.Show(actions, read.show)), err
}

// actionReader holds what is read beside actions to show them.
type actionReader struct {
	// names are those of environments and flows by id.
	names  map[string]string
	states map[notifications.TargetKey]notification.TargetState
	// addresses tells that the addresses of webhooks are shown.
	addresses bool
}

// readAround reads what actions are shown with: at most three commands per storage.MaxMany
// environments, flows and targets.
func (h *handlers) readAround(ctx context.Context, actions ...notification.Action) (*actionReader, error) {
	names, err := h.subjectNames(ctx, actions)
	if err != nil {
		return &actionReader{}, err
	}
	access := server.Access(ctx)
	states, err := h.Targets.States(ctx, access.OrgID, actions...)
	return &actionReader{names: names, states: states, addresses: seesAddresses(access)}, err
}

func (r *actionReader) show(a *notification.Action) ActionResponse {
	shown := ActionResponse{ActionHead: r.head(a)}
	subjects := r.subjects(a)
	if a.Kind == notification.OfFlows {
		shown.Flows = &subjects
	} else {
		shown.Environments = &subjects
	}
	return shown
}

// head shows what actions of both types have.
func (r *actionReader) head(a *notification.Action) ActionHead {
	shown := ActionHead{
		Name: a.Name, Type: string(a.Kind), Number: a.Number, Targets: []TargetResponse{}, Triggers: []string{},
		CreatedBy: a.CreatedBy, CreatedAt: a.CreatedAt, LastModifiedAt: a.LastModifiedAt,
	}
	for _, trigger := range a.Triggers {
		shown.Triggers = append(shown.Triggers, string(trigger))
	}
	var health notification.Health
	for i := range a.Targets {
		target := &a.Targets[i]
		state := r.states[notifications.TargetKey{Action: a.Number, Target: target.ID()}]
		health.Add(&state)
		shown.Targets = append(shown.Targets, showTarget(target, &state, r.addresses))
	}
	if health.Told {
		shown.IsFailing = &health.Failing
	}
	shown.LastSuccessTimestamp = resource.NilUnlessPositive(health.LastSuccessAt)
	shown.LastFailureTimestamp = resource.NilUnlessPositive(health.LastFailureAt)
	return shown
}

// subjects are the names of the action's environments or flows, without archived ones.
func (r *actionReader) subjects(a *notification.Action) []string {
	names := []string{}
	for _, id := range a.Subjects {
		if name, ok := r.names[id]; ok {
			names = append(names, name)
		}
	}
	return names
}
