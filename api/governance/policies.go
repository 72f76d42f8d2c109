package governance

import (
	"context"
	"errors"
	"slices"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/storage"
	"attestry/storage/governance"
)

const (
	// policyField is the part of the form with the policy's file.
	policyField = "policy_file"
	// policyType is the only type of policies.
	policyType = "env"
)

// PolicyPutInput is the data of put_policy (docs/semantics.md 18.4).
type PolicyPutInput struct {
	Name        string `json:"name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\-_\\.~]*$"`
	Description string `json:"description,omitempty" default:"" format:"plain-text"`
	Type        string `json:"type,omitempty" enum:"env" default:"env"`
	Comment     string `json:"comment,omitempty" default:"" format:"plain-text"`
}

// NamedPolicyPutInput is the data of put_named_policy, whose path has the name.
type NamedPolicyPutInput struct {
	Name        *string `json:"name,omitempty" nullable:"true"`
	Description string  `json:"description,omitempty" default:"" format:"plain-text"`
	Type        string  `json:"type,omitempty" enum:"env" default:"env"`
	Comment     string  `json:"comment,omitempty" default:"" format:"plain-text"`
}

// NamedPolicyPath is the path of put_named_policy. The policy may not exist yet.
type NamedPolicyPath struct {
	server.OrgPath
	Name string `path:"name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\-_\\.~]*$" doc:"Name of the policy."`
}

// PolicyPath is the path of get_policy.
type PolicyPath struct {
	server.OrgPath
	Policy string `path:"policy_name" doc:"Name of the policy."`
}

// PolicyResponse is a policy in answers (docs/semantics.md 18.4). Its times are whole seconds; the stored ones are not,
// so that events within a second are in order.
type PolicyResponse struct {
	Name           string                           `json:"name"`
	Description    string                           `json:"description"`
	Type           string                           `json:"type"`
	CreatedBy      string                           `json:"created_by"`
	CreatedAt      int64                            `json:"created_at"`
	LastModifiedAt int64                            `json:"last_modified_at"`
	Archived       bool                             `json:"archived"`
	Versions       jsonstream.List[VersionedPolicy] `json:"versions" doc:"Oldest first."`
	Events         jsonstream.List[PolicyEvent]     `json:"events" doc:"Oldest first."`
	ConsumingEnvs  []string                         `json:"consuming_envs" doc:"Names of the environments that it is attached to."`
}

// VersionedPolicy is a version of a policy's file.
type VersionedPolicy struct {
	Version    int    `json:"version"`
	Comment    string `json:"comment"`
	Timestamp  int64  `json:"timestamp"`
	CreatedBy  string `json:"created_by"`
	PolicyYAML string `json:"policy_yaml" doc:"The file as it was sent."`
}

// PolicyEvent is an event of a policy.
type PolicyEvent struct {
	Type      string         `json:"type" enum:"policy_created,metadata_update,new_version,renaming,archiving"`
	Timestamp int64          `json:"timestamp"`
	User      string         `json:"user"`
	Data      map[string]any `json:"data"`
}

// putPolicy creates a policy, or changes the one with that name.
func (h *handlers) putPolicy(ctx context.Context, _ *server.OrgPath, f *server.Form[PolicyPutInput]) (*server.StatusAnswer[PolicyResponse], error) {
	return h.storePolicy(ctx, governance.Change{Name: f.Data.Name, Description: f.Data.Description, Comment: f.Data.Comment}, f.File)
}

func (h *handlers) putNamedPolicy(ctx context.Context, in *NamedPolicyPath, f *server.Form[NamedPolicyPutInput]) (*server.StatusAnswer[PolicyResponse], error) {
	if f.Data.Name != nil && *f.Data.Name != in.Name {
		return nil, validation.Fault("name", "Value error, the name must be that of the path, '"+in.Name+"'", *f.Data.Name)
	}
	return h.storePolicy(ctx, governance.Change{Name: in.Name, Description: f.Data.Description, Comment: f.Data.Comment}, f.File)
}

// storePolicy stores the policy of a form. If the form has a file, it bumps the generation, so that each environment's
// next report is evaluated by the new version. It also does so for an unchanged file, because an earlier request may
// have failed after it stored the version.
func (h *handlers) storePolicy(ctx context.Context, change governance.Change, file func(func(server.FormFile) error) error) (*server.StatusAnswer[PolicyResponse], error) {
	org := server.Access(ctx)
	change.Org, change.By, change.At = org.OrgID, server.Principal(ctx).Name, evidence.Seconds(h.Clock())
	err := server.ReadFile(ctx, file, policy.MaxSize, func(content []byte) error {
		parsed, err := h.checkPolicy(ctx, change.Name, content)
		if err != nil {
			return err
		}
		change.Content, change.Controls = content, parsed.Controls()
		return nil
	})
	if err != nil {
		return nil, err
	}
	created, err := h.Policies.Put(ctx, change)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, policyFileRequired()
	}
	if err != nil {
		return nil, err
	}
	if change.Content != nil {
		if err := h.Generations.Bump(ctx, org.OrgID); err != nil {
			return nil, err
		}
	}
	return h.answerPolicy(ctx, change.Name, created)
}

func policyFileRequired() error {
	return evidence.FieldError(policyField, "Field required [input: None]")
}

// checkPolicy parses a file of the named policy. Only controls that its latest version does not name must exist.
func (h *handlers) checkPolicy(ctx context.Context, name string, content []byte) (*policy.Policy, error) {
	parsed, err := policy.Parse(content)
	if err != nil {
		return nil, resource.FileFault(policyField, err)
	}
	if err := server.RequestOf(ctx).Memory.Take(int64(parsed.PatternSize)); err != nil {
		return nil, err
	}
	stored, err := h.Policies.GetMany(ctx, server.Access(ctx).OrgID, []string{name})
	if err != nil {
		return nil, err
	}
	return &parsed, h.CheckControls(ctx, policyField, parsed.Controls(), stored[name].Controls)
}

func (h *handlers) getPolicy(ctx context.Context, in *PolicyPath) (*server.StatusAnswer[PolicyResponse], error) {
	return h.answerPolicy(ctx, in.Policy, false)
}

func (h *handlers) answerPolicy(ctx context.Context, name string, created bool) (*server.StatusAnswer[PolicyResponse], error) {
	history, err := h.Policies.History(ctx, server.Access(ctx).OrgID, name)
	if err != nil {
		return nil, policyNotFound(ctx, name, err)
	}
	consuming, err := h.consumingEnvironments(ctx)
	return server.Stored(created, h.showPolicy(history, consuming)), err
}

func policyNotFound(ctx context.Context, name string, err error) error {
	return resource.NotFound(err, "Policy '%s' does not exist in organization '%s'", name, server.Access(ctx).OrgName)
}

// consumingEnvironments returns the names of the environments that each policy is attached to, sorted.
func (h *handlers) consumingEnvironments(ctx context.Context) (map[string][]string, error) {
	environments, err := h.Environments.List(ctx, server.Access(ctx).OrgID)
	if err != nil {
		return nil, err
	}
	consuming := map[string][]string{}
	for _, environment := range environments {
		for _, name := range environment.Policies {
			consuming[name] = append(consuming[name], environment.Name)
		}
	}
	for name := range consuming {
		slices.Sort(consuming[name])
	}
	return consuming, nil
}

// showPolicy shows a policy. Its versions are read while the answer is sent. The answer has the events after the
// versions, because the events are derived from the versions that were read.
func (h *handlers) showPolicy(history governance.History, consuming map[string][]string) PolicyResponse {
	var shown []policy.Version // without their content
	versions := server.ListOf(h.BatchBytes, history.Versions, func(_ context.Context, batch []policy.Version) ([]VersionedPolicy, error) {
		listed := resource.Map(batch, showPolicyVersion)
		for _, version := range batch {
			version.Content = nil
			shown = append(shown, version)
		}
		return listed, nil
	})
	events := jsonstream.NewList(func(context.Context) ([]PolicyEvent, bool, error) {
		return resource.Map(history.Events(shown), showPolicyEvent), false, nil
	})
	return PolicyResponse{
		Name: history.Name, Description: history.Description, Type: policyType, CreatedBy: history.CreatedBy,
		CreatedAt: int64(history.CreatedAt), LastModifiedAt: int64(history.LastModifiedAt),
		Versions: versions, Events: events, ConsumingEnvs: append([]string{}, consuming[history.Name]...),
	}
}

func showPolicyVersion(version *policy.Version) VersionedPolicy {
	return VersionedPolicy{
		Version: version.Version, Comment: version.Comment, Timestamp: int64(version.CreatedAt),
		CreatedBy: version.CreatedBy, PolicyYAML: string(version.Content),
	}
}

func showPolicyEvent(event *policy.Event) PolicyEvent {
	shown := PolicyEvent{Type: string(event.Type), Timestamp: int64(event.At), User: event.By, Data: map[string]any{}}
	if event.Version > 0 {
		shown.Data["version"] = event.Version
	}
	return shown
}

// listPolicies lists policies by name, with all their versions.
func (h *handlers) listPolicies(ctx context.Context, _ *server.OrgPath) (*server.Answer[jsonstream.List[PolicyResponse]], error) {
	consuming, err := h.consumingEnvironments(ctx)
	if err != nil {
		return nil, err
	}
	show := func(_ context.Context, batch []governance.History) ([]PolicyResponse, error) {
		return resource.Map(batch, func(history *governance.History) PolicyResponse { return h.showPolicy(*history, consuming) }), nil
	}
	return server.Answered(server.ListOf(h.BatchBytes, h.Policies.Histories(server.Access(ctx).OrgID), show)), nil
}
