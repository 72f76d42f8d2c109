package organizations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/storage/notifications"
)

// ActionPath is the path of an action.
type ActionPath struct {
	server.OrgPath
	Number int64 `path:"action_number" doc:"Number of the action in its organization."`
}

// Ref is the number of the action.
func (p ActionPath) Ref() int64 { return p.Number }

// EnvActionPutInput is the body that creates or replaces an environment action (docs/semantics.md 20.1).
type EnvActionPutInput struct {
	Name         string         `json:"name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\-_\\.~/]*$"`
	Targets      []ActionTarget `json:"targets" minItems:"1"`
	Type         string         `json:"type,omitempty" enum:"env" default:"env"`
	Environments []string       `json:"environments" maxItems:"1000" maxLength:"255" doc:"Names of environments."`
	Triggers     []string       `json:"triggers" maxItems:"100" enum:"ON_STARTED_ARTIFACT,ON_EXITED_ARTIFACT,ON_SCALED_ARTIFACT,ON_ALLOWED_ARTIFACT,ON_NON_COMPLIANT_ENV,ON_COMPLIANT_ENV,ON_ADMISSION_BREAK_GLASS"`
}

// FlowActionPutInput is the body that creates or replaces a flow action (docs/semantics.md 20.1).
type FlowActionPutInput struct {
	Name     string         `json:"name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\-_\\.~/]*$"`
	Targets  []ActionTarget `json:"targets" minItems:"1"`
	Type     string         `json:"type,omitempty" enum:"flow" default:"flow"`
	Flows    []string       `json:"flows" maxItems:"1000" maxLength:"255" doc:"Names of flows."`
	Triggers []string       `json:"triggers" maxItems:"100" enum:"ON_STARTED_TRAIL,ON_ATTESTED_PROVENANCE,ON_ATTESTATION,ON_APPROVAL,ON_RELEASE"`
}

func actionNotFound() error { return evidence.NewError(evidence.NotFound, "Action not found") }

func (h *handlers) listActions(ctx context.Context, _ *server.OrgPath) (*server.Answer[jsonstream.List[ActionResponse]], error) {
	stored, err := h.Actions.Of(ctx, server.Access(ctx).OrgID)
	if err != nil {
		return nil, err
	}
	actions := stored.OfKind(notification.OfEnvironments, notification.OfFlows)
	view, err := h.newActionView(ctx, actions...)
	return server.Answered(jsonstream.Show(actions, view.show)), err
}

func (h *handlers) getAction(ctx context.Context, _ *ActionPath, found notification.Action) (*server.Answer[ActionResponse], error) {
	if found.Kind == notification.OfKeys {
		return nil, actionNotFound()
	}
	view, err := h.newActionView(ctx, found)
	return server.Answered(view.show(&found)), err
}

// findAction returns the action by its number, or an evidence.NotFound error. That about keys is only for administrators.
func (h *handlers) findAction(ctx context.Context, number int64) (notification.Action, error) {
	access := server.Access(ctx)
	stored, err := h.Actions.Of(ctx, access.OrgID)
	if err != nil {
		return notification.Action{}, err
	}
	found, ok := stored.Find(number)
	if !ok || found.Kind == notification.OfKeys && !access.Role.Allows(evidence.Admin) {
		return notification.Action{}, actionNotFound()
	}
	return found, nil
}

func (h *handlers) putEnvAction(ctx context.Context, _ *server.OrgPath, body *EnvActionPutInput) (*server.TextAnswer, error) {
	sent, err := h.envAction(ctx, body)
	if err != nil {
		return nil, err
	}
	return h.putAction(ctx, sent)
}

func (h *handlers) putFlowAction(ctx context.Context, _ *server.OrgPath, body *FlowActionPutInput) (*server.TextAnswer, error) {
	sent, err := h.newAction(ctx, notification.OfFlows, body.Name, body.Targets, body.Flows, body.Triggers)
	if err != nil {
		return nil, err
	}
	return h.putAction(ctx, sent)
}

func (h *handlers) envAction(ctx context.Context, body *EnvActionPutInput) (notification.Action, error) {
	return h.newAction(ctx, notification.OfEnvironments, body.Name, body.Targets, body.Environments, body.Triggers)
}

// newAction makes the action of a request. subjects are names of environments or flows.
func (h *handlers) newAction(ctx context.Context, kind notification.Kind, name string, targets []ActionTarget, subjects, triggers []string) (notification.Action, error) {
	by := server.Principal(ctx)
	now := evidence.Seconds(h.Clock())
	action := notification.Action{Name: name, Kind: kind, CreatedBy: by.Name, CreatedAt: now, LastModifiedAt: now}
	for _, trigger := range triggers {
		action.Triggers = append(action.Triggers, notification.Trigger(trigger))
	}
	found := validation.Findings{}
	action.Targets = h.targets.readAll(targets, found)
	var err error
	action.Subjects, err = h.subjectIDs(ctx, kind, subjects, found)
	return action, cmp.Or(err, validation.Invalid(found))
}

// putAction creates an action, or replaces the one with its name.
func (h *handlers) putAction(ctx context.Context, sent notification.Action) (*server.TextAnswer, error) {
	created := false
	err := h.storeAction(ctx, func(all *notification.Actions) (former, stored notification.Action, err error) {
		former, _ = all.Named(sent.Name)
		stored, created, err = all.Put(sent)
		return former, stored, err
	})
	return server.CreatedOrOK(created), err
}

// storeAction stores an action by put, which returns the former action, if any, and the stored one. It switches on all
// targets of the action, and deletes the state of targets that it no longer has.
func (h *handlers) storeAction(ctx context.Context, put func(*notification.Actions) (former, stored notification.Action, err error)) error {
	org := server.Access(ctx)
	var former, stored notification.Action
	_, err := h.Actions.Change(ctx, org, func(all *notification.Actions) (err error) {
		former, stored, err = put(all)
		return err
	})
	if err != nil {
		return err
	}
	if err := h.Targets.Remove(ctx, org.OrgID, stored.Number, former.TargetsNotIn(&stored)...); err != nil {
		return err
	}
	return h.Targets.SwitchOn(ctx, org.OrgID, stored)
}

func (h *handlers) deleteAction(ctx context.Context, in *ActionPath) (*server.TextAnswer, error) {
	return h.removeAction(ctx, in.Number, notification.OfEnvironments, notification.OfFlows)
}

// removeAction deletes an action of one of the kinds, and the state of its targets.
func (h *handlers) removeAction(ctx context.Context, number int64, kinds ...notification.Kind) (*server.TextAnswer, error) {
	org := server.Access(ctx)
	var removed notification.Action
	_, err := h.Actions.Change(ctx, org, func(all *notification.Actions) error {
		var ok bool
		if removed, ok = all.Remove(number, kinds...); !ok {
			return actionNotFound()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return server.OK(), h.Targets.Remove(ctx, org.OrgID, number, removed.DistinctTargets()...)
}

// ActionResponse is an action in answers (docs/semantics.md 20.1).
type ActionResponse struct {
	ActionHead
	Flows        *[]string `json:"flows" nullable:"true" doc:"Names of flows, null for an action about environments."`
	Environments *[]string `json:"environments" nullable:"true" doc:"Names of environments, null for an action about flows."`
}

// ActionHead has the members that actions of both types have in answers.
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

// actionView has the data that answers about actions need.
type actionView struct {
	names     map[string]string // of environments and flows, by id
	states    map[notifications.TargetKey]notification.TargetState
	addresses bool // whether the addresses of webhooks are shown
}

// newActionView reads the data to show actions: at most three commands per storage.MaxMany subjects and targets.
func (h *handlers) newActionView(ctx context.Context, actions ...notification.Action) (*actionView, error) {
	names, err := h.subjectNames(ctx, actions)
	if err != nil {
		return &actionView{}, err
	}
	access := server.Access(ctx)
	states, err := h.Targets.States(ctx, access.OrgID, actions...)
	return &actionView{names: names, states: states, addresses: seesAddresses(access)}, err
}

func (v *actionView) show(a *notification.Action) ActionResponse {
	shown := ActionResponse{ActionHead: v.head(a)}
	subjects := v.subjects(a)
	if a.Kind == notification.OfFlows {
		shown.Flows = &subjects
	} else {
		shown.Environments = &subjects
	}
	return shown
}

func (v *actionView) head(a *notification.Action) ActionHead {
	shown := ActionHead{
		Name: a.Name, Type: string(a.Kind), Number: a.Number, Targets: []TargetResponse{},
		Triggers:  resource.Map(a.Triggers, func(t *notification.Trigger) string { return string(*t) }),
		CreatedBy: a.CreatedBy, CreatedAt: a.CreatedAt, LastModifiedAt: a.LastModifiedAt,
	}
	var health notification.Health
	for i := range a.Targets {
		target := &a.Targets[i]
		state := v.states[notifications.TargetKey{Action: a.Number, Target: target.ID()}]
		health.Add(&state)
		shown.Targets = append(shown.Targets, showTarget(target, &state, v.addresses))
	}
	if health.Attempted {
		shown.IsFailing = &health.Failing
	}
	shown.LastSuccessTimestamp = resource.NilIfEmpty(health.LastSuccessAt)
	shown.LastFailureTimestamp = resource.NilIfEmpty(health.LastFailureAt)
	return shown
}

// subjects returns the names of the action's environments or flows, without archived ones.
func (v *actionView) subjects(a *notification.Action) []string {
	names := []string{}
	for _, id := range a.Subjects {
		if name, ok := v.names[id]; ok {
			names = append(names, name)
		}
	}
	return names
}

// subjectIDs resolves the names of environments or flows, in their order. Names that do not exist are added to found.
func (h *handlers) subjectIDs(ctx context.Context, kind notification.Kind, names []string, found validation.Findings) ([]string, error) {
	resolve, noun := h.Environments.Registry.ResolveMany, "Environment"
	if kind == notification.OfFlows {
		resolve, noun = h.Flows.Registry.ResolveMany, "Flow"
	}
	org := server.Access(ctx)
	entries, err := resolve(ctx, org.OrgID, resource.SortUnique(slices.Clone(names)))
	if err != nil {
		return nil, err
	}
	ids := make(map[string]string, len(entries)) // by name
	for _, entry := range entries {
		ids[entry.Name] = entry.ID
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

// subjectNames returns the current names of the environments and flows of actions by id, without archived ones.
func (h *handlers) subjectNames(ctx context.Context, actions []notification.Action) (map[string]string, error) {
	ids := map[notification.Kind][]string{}
	for i := range actions {
		ids[actions[i].Kind] = append(ids[actions[i].Kind], actions[i].Subjects...)
	}
	org := server.Access(ctx).OrgID
	names, err := h.Environments.ActiveNames(ctx, org, resource.SortUnique(ids[notification.OfEnvironments]))
	if err != nil {
		return nil, err
	}
	flows, err := h.Flows.Names(ctx, org, resource.SortUnique(ids[notification.OfFlows]))
	for id, flow := range flows {
		if !flow.Archived {
			names[id] = flow.Name
		}
	}
	return names, err
}

// NotificationPath is the second path of an environment action.
type NotificationPath struct {
	server.OrgPath
	Number int64 `path:"notification_number" doc:"Number of the action in its organization."`
}

// Ref is the number of the action.
func (p NotificationPath) Ref() int64 { return p.Number }

// EnvNotificationsResponse is an environment action in answers of its second path.
type EnvNotificationsResponse struct {
	ActionHead
	Environments []string `json:"environments" doc:"Names of environments."`
}

func (v *actionView) showNotification(a *notification.Action) EnvNotificationsResponse {
	return EnvNotificationsResponse{v.head(a), v.subjects(a)}
}

func (h *handlers) listEnvironmentNotifications(ctx context.Context, _ *server.OrgPath) (*server.Answer[jsonstream.List[EnvNotificationsResponse]], error) {
	stored, err := h.Actions.Of(ctx, server.Access(ctx).OrgID)
	if err != nil {
		return nil, err
	}
	actions := stored.OfKind(notification.OfEnvironments)
	view, err := h.newActionView(ctx, actions...)
	return server.Answered(jsonstream.Show(actions, view.showNotification)), err
}

func (h *handlers) getEnvironmentNotification(ctx context.Context, _ *NotificationPath, found notification.Action) (*server.Answer[EnvNotificationsResponse], error) {
	if found.Kind != notification.OfEnvironments {
		return nil, actionNotFound()
	}
	view, err := h.newActionView(ctx, found)
	return server.Answered(view.showNotification(&found)), err
}

func (h *handlers) putEnvironmentNotification(ctx context.Context, in *server.OrgPath, body *EnvActionPutInput) (*server.TextAnswer, error) {
	answer, err := h.putEnvAction(ctx, in, body)
	return answer, invalidNotification(err)
}

// replaceEnvironmentNotification replaces the action with a number. The new action may have another name.
func (h *handlers) replaceEnvironmentNotification(ctx context.Context, in *NotificationPath, body *EnvActionPutInput) (*server.TextAnswer, error) {
	sent, err := h.envAction(ctx, body)
	if err != nil {
		return nil, invalidNotification(err)
	}
	sent.Number = in.Number
	err = h.storeAction(ctx, func(all *notification.Actions) (former, stored notification.Action, err error) {
		former, _ = all.Find(in.Number)
		stored, ok, err := all.Replace(sent)
		if !ok {
			return former, stored, actionNotFound()
		}
		return former, stored, err
	})
	return server.OK(), invalidNotification(err)
}

func (h *handlers) deleteEnvironmentNotification(ctx context.Context, in *NotificationPath) (*server.TextAnswer, error) {
	return h.removeAction(ctx, in.Number, notification.OfEnvironments)
}

// invalidNotification sets the API's message for invalid notification bodies. It returns other errors unchanged.
func invalidNotification(err error) error {
	if found, ok := errors.AsType[*evidence.Error](err); ok && found.Code == evidence.Invalid && found.Fields != nil {
		return &evidence.Error{Code: found.Code, Message: "Invalid notification payload", Fields: found.Fields}
	}
	return err
}
