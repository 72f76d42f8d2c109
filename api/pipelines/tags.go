package pipelines

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/access"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
)

const tagKeyPattern = `^[a-zA-Z0-9][a-zA-Z0-9\-_\.~]*$`

// TagPatchInput is the body of patch_tags (docs/semantics.md 15.4). A tag that is both removed and set is set.
type TagPatchInput struct {
	SetTags    TagMap   `json:"set_tags,omitempty"`
	RemoveTags []string `json:"remove_tags,omitempty" nullable:"true"`
}

// TagMap maps keys to values. It may be absent or null.
type TagMap map[string]string

// Schema describes keys and values.
func (TagMap) Schema(huma.Registry) *huma.Schema {
	return resource.KeyedBy(tagKeyPattern, &huma.Schema{Type: huma.TypeString, Format: validation.PlainTextFormat})
}

type patchTagsInput struct {
	server.OrgPath
	Type string `path:"resource_type" enum:"flow,flows,env,environment,environments,control,controls,repo,repos"`
	ID   string `path:"resource_id" doc:"Name of the flow or environment, identifier of the control, or id of the repository."`
}

func (h *handlers) patchTags(ctx context.Context, in *patchTagsInput, body *TagPatchInput) (*server.TextAnswer, error) {
	org := server.Access(ctx)
	var err error
	switch in.Type {
	case "flow", "flows":
		err = h.tagFlow(ctx, in.ID, body)
	case "repo", "repos":
		err = h.Repos.SetTags(ctx, org.OrgID, in.ID, body.SetTags, body.RemoveTags)
		err = resource.NotFound(err, "Repo '%s' not found", in.ID)
	case "control", "controls":
		err = h.tagControl(ctx, org, in.ID, body)
	default:
		err = h.tagEnvironment(ctx, in.ID, body)
	}
	return server.OK(), err
}

// tagFlow changes the tags of a flow and bumps the generation, as policies may refer to the tags.
func (h *handlers) tagFlow(ctx context.Context, name string, body *TagPatchInput) error {
	flow, err := h.ResolveActiveFlow(ctx, name)
	if err != nil {
		return err
	}
	if err := h.Flows.SetTags(ctx, flow, body.SetTags, body.RemoveTags, evidence.Seconds(h.Clock())); err != nil {
		return err
	}
	return h.Generations.Bump(ctx, server.Access(ctx).OrgID)
}

func (h *handlers) tagEnvironment(ctx context.Context, name string, body *TagPatchInput) error {
	ref, err := h.ResolveEnvironment(ctx, name)
	if err != nil {
		return err
	}
	return h.Environments.SetTags(ctx, ref.ID, body.SetTags, body.RemoveTags, evidence.Seconds(h.Clock()))
}

// tagControl changes the tags of a control. The API has quotation marks around the message about a missing control.
func (h *handlers) tagControl(ctx context.Context, org evidence.OrgAccess, identifier string, body *TagPatchInput) error {
	if err := access.RequireBeta(org); err != nil {
		return err
	}
	err := h.Controls.SetTags(ctx, org.OrgID, identifier, body.SetTags, body.RemoveTags)
	return resource.NotFound(err, `"Control '%s' does not exist in organization '%s'"`, identifier, org.OrgName)
}
