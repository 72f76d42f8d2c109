package governance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/control"
	"attestry/storage"
)

// controlRoutes are those of controls. Only administrators change them.
func (h *handlers) controlRoutes() []server.Route {
	return []server.Route{
		{Method: http.MethodGet, Path: "/controls/{org}", OperationID: "list_controls", Tag: "Controls",
			Summary: "List controls", MinRole: evidence.Reader, Beta: true, Serve: server.Handle(h.listControls)},
		{Method: http.MethodPost, Path: "/controls/{org}", OperationID: "post_control", Tag: "Controls",
			Summary: "Create a control", MinRole: evidence.Admin, Beta: true, Statuses: []int{http.StatusCreated},
			Serve: server.WithBody(h.postControl)},
		{Method: http.MethodGet, Path: "/controls/{org}/tags", OperationID: "list_control_tag_choices", Tag: "Controls",
			Summary: "List the tags that controls have", MinRole: evidence.Reader, Beta: true, BasicToo: true,
			Serve: server.Handle(h.listControlTagChoices)},
		{Method: http.MethodGet, Path: "/controls/{org}/{identifier}", OperationID: "get_control", Tag: "Controls",
			Summary: "Read a control", MinRole: evidence.Reader, Beta: true, Serve: server.Handle(h.getControl)},
		{Method: http.MethodPut, Path: "/controls/{org}/{identifier}", OperationID: "put_control", Tag: "Controls",
			Summary: "Change a control", MinRole: evidence.Admin, Beta: true, Serve: server.WithBody(h.putControl)},
		{Method: http.MethodPost, Path: "/controls/{org}/{identifier}/archive", OperationID: "archive_control", Tag: "Controls",
			Summary: "Archive a control", MinRole: evidence.Admin, Beta: true, Serve: server.Handle(h.archiveControl)},
		{Method: http.MethodPost, Path: "/controls/{org}/{identifier}/unarchive", OperationID: "unarchive_control", Tag: "Controls",
			Summary: "Bring an archived control back", MinRole: evidence.Admin, Beta: true, Serve: server.Handle(h.unarchiveControl)},
		{Method: http.MethodGet, Path: "/controls/{org}/{identifier}/versions", OperationID: "list_control_versions", Tag: "Controls",
			Summary: "List the versions of a control", MinRole: evidence.Reader, Beta: true, Serve: server.Handle(h.listControlVersions)},
		{Method: http.MethodGet, Path: "/controls/{org}/{identifier}/versions/{version_number}", OperationID: "get_control_version", Tag: "Controls",
			Summary: "Read a version of a control", MinRole: evidence.Reader, Beta: true, Serve: server.Handle(h.getControlVersion)},
		{Method: http.MethodGet, Path: "/controls/{org}/{identifier}/coverage", OperationID: "get_control_coverage", Tag: "Controls",
			Summary: "List which environments a control covers", MinRole: evidence.Reader, Beta: true, Serve: server.Handle(h.getControlCoverage)},
		{Method: http.MethodGet, Path: "/controls/{org}/{identifier}/decisions", OperationID: "list_control_decisions", Tag: "Controls",
			Summary: "List the decisions on a control", MinRole: evidence.Reader, Beta: true, Serve: server.Handle(h.listControlDecisions)},
		{Method: http.MethodGet, Path: "/controls/{org}/{identifier}/decisions/{decision_id}", OperationID: "get_control_decision", Tag: "Controls",
			Summary: "Read a decision on a control", MinRole: evidence.Reader, Beta: true, Serve: server.Handle(h.getControlDecision)},
	}
}

// ControlPostInput is the body of post_control (docs/semantics.md 18.5).
type ControlPostInput struct {
	Identifier  string       `json:"identifier" maxLength:"256" pattern:"^[a-zA-Z0-9\\-._~]+$"`
	Name        string       `json:"name" minLength:"1" format:"plain-text"`
	Description *string      `json:"description,omitempty" nullable:"true" format:"plain-text"`
	Links       ControlLinks `json:"links,omitempty"`
}

// ControlPutInput is the body of put_control (docs/semantics.md 18.5). What is left out
// stays as it is; a null description is removed.
type ControlPutInput struct {
	Name        *string                `json:"name,omitempty" minLength:"1" nullable:"true" format:"plain-text"`
	Description resource.SentOrRemoved `json:"description,omitempty"`
	Links       ControlLinks           `json:"links,omitempty"`
}

// ControlLinks maps labels to URLs. It may be absent or null.
type ControlLinks map[string]string

// Schema describes the values.
func (ControlLinks) Schema(huma.Registry) *huma.Schema {
	return resource.KeyedBy("", &huma.Schema{Type: huma.TypeString})
}

// Control is a control as answers show it (docs/semantics.md 18.5).
type Control struct {
	Identifier  string            `json:"identifier"`
	Name        string            `json:"name"`
	Version     int               `json:"version"`
	CreatedAt   *float64          `json:"created_at" nullable:"true"`
	CreatedBy   string            `json:"created_by"`
	Description *string           `json:"description" nullable:"true"`
	Links       map[string]string `json:"links"`
	Tags        map[string]string `json:"tags"`
	Archived    bool              `json:"archived"`
	// PoliciesReferencing are the names of the policies whose latest version names the
	// control; null in lists.
	PoliciesReferencing []string `json:"policies_referencing" nullable:"true"`
}

func showControl(c *control.Control) Control {
	return Control{
		Identifier: c.Identifier, Name: c.Name, Version: c.Version, CreatedAt: &c.CreatedAt, CreatedBy: c.CreatedBy,
		Description: c.Description, Links: resource.EmptyIfNil(c.Links), Tags: resource.EmptyIfNil(c.Tags), Archived: c.Archived,
	}
}

// answerControl shows a control with the policies that name it.
func (h *handlers) answerControl(ctx context.Context, org evidence.OrgAccess, c *control.Control) (*server.Answer[Control], error) {
	policies, err := h.Policies.List(ctx, org.OrgID)
	if err != nil {
		return nil, err
	}
	shown := showControl(c)
	shown.PoliciesReferencing = []string{}
	for _, head := range policies {
		if slices.Contains(head.Controls, c.Identifier) {
			shown.PoliciesReferencing = append(shown.PoliciesReferencing, head.Name)
		}
	}
	return server.Answered(shown), nil
}

// ControlPath is the path of an operation on a control.
type ControlPath struct {
	server.OrgPath
	Identifier string `path:"identifier" doc:"Identifier of the control."`
}

// controlNotFound words that a control does not exist; other errors it returns as they are.
func controlNotFound(org evidence.OrgAccess, identifier string, err error) error {
	return resource.NotFound(err, "Control '%s' does not exist in organization '%s'", identifier, org.OrgName)
}

func (h *handlers) loadControl(ctx context.Context, org evidence.OrgAccess, identifier string) (control.Control, error) {
	found, err := h.Controls.Get(ctx, org.OrgID, identifier)
	return found, controlNotFound(org, identifier, err)
}

// postControl creates a control. An identifier is taken for ever.
func (h *handlers) postControl(ctx context.Context, _ *server.OrgPath, body *ControlPostInput) (*server.Answer[Control], error) {
	org := server.Access(ctx)
	created, err := h.Controls.Create(ctx, control.Control{
		Org: org.OrgID, Identifier: body.Identifier, Name: body.Name, Description: body.Description, Links: body.Links,
		CreatedBy: server.Principal(ctx).Name, CreatedAt: evidence.Seconds(h.Clock()),
	})
	if errors.Is(err, storage.ErrExists) {
		return nil, evidence.NewError(evidence.Conflict,
			fmt.Sprintf("A control with identifier '%s' already exists in organization '%s'", body.Identifier, org.OrgName))
	}
	if err != nil {
		return nil, err
	}
	return h.answerControl(ctx, org, &created)
}

func (h *handlers) getControl(ctx context.Context, in *ControlPath) (*server.Answer[Control], error) {
	org := server.Access(ctx)
	found, err := h.loadControl(ctx, org, in.Identifier)
	if err != nil {
		return nil, err
	}
	return h.answerControl(ctx, org, &found)
}

// putControl changes what is sent of a control.
func (h *handlers) putControl(ctx context.Context, in *ControlPath, body *ControlPutInput) (*server.Answer[Control], error) {
	change := control.Change{Name: body.Name}
	if body.Description.Sent {
		change.Description = &body.Description.Value
	}
	if body.Links != nil {
		change.Links = (*map[string]string)(&body.Links)
	}
	return h.changeControl(ctx, in, change)
}

func (h *handlers) archiveControl(ctx context.Context, in *ControlPath) (*server.Answer[Control], error) {
	return h.changeControl(ctx, in, control.Change{Archived: new(true)})
}

func (h *handlers) unarchiveControl(ctx context.Context, in *ControlPath) (*server.Answer[Control], error) {
	return h.changeControl(ctx, in, control.Change{Archived: new(false)})
}

func (h *handlers) changeControl(ctx context.Context, in *ControlPath, change control.Change) (*server.Answer[Control], error) {
	org := server.Access(ctx)
	changed, err := h.Controls.Change(ctx, org.OrgID, in.Identifier, change, server.Principal(ctx).Name, evidence.Seconds(h.Clock()))
	if err != nil {
		return nil, controlNotFound(org, in.Identifier, err)
	}
	return h.answerControl(ctx, org, &changed)
}
