package pipelines

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/template"
	"attestry/storage"
)

const (
	// defaultFlowsPerPage is the page size for a query with a page and no per_page.
	defaultFlowsPerPage = 20
	// flowsPerLookUp bounds the trails that are in memory at once while flows are sorted by activity.
	flowsPerLookUp = 100
)

// CreateFlow is the data of create_flow_with_template (docs/semantics.md 3.1).
type CreateFlow struct {
	_           struct{} `json:"-" additionalProperties:"true"`
	Name        string   `json:"name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\.\\-_~]*$"`
	Description string   `json:"description" format:"plain-text"`
	Visibility  *string  `json:"visibility,omitempty" enum:"public,private" nullable:"true"`
}

// CreateLegacyFlow is the body of the deprecated create_flow (docs/semantics.md 3.4).
type CreateLegacyFlow struct {
	_ struct{} `json:"-" additionalProperties:"true"`
	CreateFlow
	Template []string `json:"template,omitempty" nullable:"true" maxLength:"255" doc:"Names of the attestations of the one artifact."`
	RepoURL  *string  `json:"repo_url,omitempty" nullable:"true" format:"repository-url"`
}

// RenameFlow is the body of rename_flow (docs/semantics.md 1.5).
type RenameFlow struct {
	_       struct{} `json:"-" additionalProperties:"true"`
	NewName string   `json:"new_name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\.\\-_~]*$"`
}

// FlowGet is a flow in answers (docs/semantics.md 3.1).
type FlowGet struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Visibility  string            `json:"visibility" enum:"public,private"`
	Org         string            `json:"org"`
	Template    *string           `json:"template" nullable:"true" doc:"The YAML text as it was sent; null in lists when it is longer than 64 KiB."`
	RepoURL     *string           `json:"repo_url" nullable:"true"`
	Tags        map[string]string `json:"tags"`
}

// FlowList is a flow in lists, with the state of its latest trail, if there is one (docs/semantics.md 3.1).
type FlowList struct {
	FlowGet
	LatestActivityAt *float64 `json:"latest_activity_at" nullable:"true"`
	LatestState      *string  `json:"latest_state" nullable:"true"`
}

// createFlow creates a flow, or changes the one with that name. Without a file, an existing flow keeps its template.
func (h *handlers) createFlow(ctx context.Context, _ *server.OrgPath, f *server.Form[CreateFlow]) (*server.TextAnswer, error) {
	templateID, err := h.templateOf(ctx, server.Access(ctx), f.File)
	if err != nil {
		return nil, resource.FileFault(templateField, err)
	}
	return h.putFlow(ctx, evidence.Flow{
		Name: f.Data.Name, Description: f.Data.Description,
		Visibility: evidence.ZeroIfNil(f.Data.Visibility), Template: templateID,
	})
}

// createLegacyFlow is createFlow with a list of names as the template. Without a list, the template is empty.
func (h *handlers) createLegacyFlow(ctx context.Context, _ *server.OrgPath, body *CreateLegacyFlow) (*server.TextAnswer, error) {
	fresh := evidence.Flow{
		Name: body.Name, Description: body.Description,
		Visibility: evidence.ZeroIfNil(body.Visibility), RepoURL: body.RepoURL,
		Template: template.ID([]byte(template.Empty)),
	}
	if body.Template != nil {
		content, err := template.FromNames(body.Template)
		if err != nil {
			return nil, err
		}
		fresh.Template, err = h.Templates.Put(ctx, server.Access(ctx).OrgID, content)
		if err != nil {
			return nil, err
		}
	}
	return h.putFlow(ctx, fresh)
}

// putFlow stores a flow. Omitted members get their defaults, also in an existing flow, which keeps only its template.
func (h *handlers) putFlow(ctx context.Context, fresh evidence.Flow) (*server.TextAnswer, error) {
	now := evidence.Seconds(h.Clock())
	fresh.ID, fresh.Org = evidence.NewID(), server.Access(ctx).OrgID
	fresh.Visibility = cmp.Or(fresh.Visibility, evidence.PrivateFlow)
	fresh.CreatedAt, fresh.CreatedBy, fresh.LastModifiedAt = now, server.Principal(ctx).Name, now
	created, _, err := h.Flows.Put(ctx, fresh)
	return server.CreatedOrOK(created), err
}

func (h *handlers) getFlow(ctx context.Context, _ *resource.FlowPath, flowID string) (*server.Answer[FlowGet], error) {
	org := server.Access(ctx)
	flow, err := h.Flows.Get(ctx, flowID)
	if err != nil {
		return nil, fmt.Errorf("flow %s has a name but no document: %w", flowID, err)
	}
	stored, err := h.Templates.Get(ctx, org.OrgID, flow.Template)
	return server.Answered(showFlow(org, &flow, new(string(stored.Content)))), err
}

func showFlow(org evidence.OrgAccess, flow *evidence.Flow, template *string) FlowGet {
	return FlowGet{
		ID: flow.ID, Name: flow.Name, Description: flow.Description, Visibility: flow.Visibility,
		Org: org.OrgName, Template: template, RepoURL: flow.RepoURL, Tags: resource.EmptyIfNil(flow.Tags),
	}
}

// archiveFlow archives a flow. Answers about what runs no longer show its name, nor the old name of a renamed flow.
func (h *handlers) archiveFlow(ctx context.Context, in *resource.FlowPath) (*server.TextAnswer, error) {
	org := server.Access(ctx)
	err := h.Flows.Archive(ctx, org.OrgID, in.Flow, evidence.Seconds(h.Clock()))
	return h.flowChanged(ctx, org, in.Flow, err)
}

func (h *handlers) renameFlow(ctx context.Context, in *resource.FlowPath, body *RenameFlow) (*server.TextAnswer, error) {
	org := server.Access(ctx)
	err := h.Flows.Rename(ctx, org.OrgID, in.Flow, body.NewName, evidence.Seconds(h.Clock()))
	return h.flowChanged(ctx, org, in.Flow, err)
}

// flowChanged answers a change of a flow's name. It bumps the generation, as policies may refer to the name.
func (h *handlers) flowChanged(ctx context.Context, org evidence.OrgAccess, name string, err error) (*server.TextAnswer, error) {
	if err != nil {
		return nil, resource.FlowNotFound(ctx, name, err)
	}
	return server.OK(), h.Generations.Bump(ctx, org.OrgID)
}

type listFlowsInput struct {
	server.OrgPath
	SearchByName  string   `query:"search_by_name" pattern:"^[a-zA-Z0-9\\-]*$" doc:"Part of the name."`
	CaseSensitive bool     `query:"case_sensitive" default:"true" doc:"Whether search_by_name minds letter case."`
	Page          int      `query:"page" minimum:"1" default:"1"`
	PerPage       int      `query:"per_page" minimum:"1" maximum:"100"`
	SpaceID       []string `query:"space_id,explode"`
	resource.TagQuery
	Sort          string `query:"sort" enum:"name,latest_activity" default:"name"`
	SortDirection string `query:"sort_direction" enum:"asc,desc" default:"asc"`
}

// listFlows lists an organization's flows. There are thousands at most, filtered and sorted in memory.
func (h *handlers) listFlows(ctx context.Context, in *listFlowsInput) (*server.Answer[resource.DataList[FlowList]], error) {
	if server.QueryHas(ctx, "search_by_name") && in.SearchByName == "" {
		return nil, evidence.NewError(evidence.Invalid, "Empty string is not allowed for flow names.")
	}
	flows, err := h.Flows.List(ctx, server.Access(ctx).OrgID)
	if err != nil {
		return nil, err
	}
	flows = slices.DeleteFunc(flows, func(f evidence.Flow) bool { return !in.matches(ctx, &f) })
	if err := h.sortFlows(ctx, in, flows); err != nil {
		return nil, err
	}
	var paged *server.PaginationInfo
	if server.QueryHas(ctx, "page") || server.QueryHas(ctx, "per_page") {
		number, size := in.Page, cmp.Or(in.PerPage, defaultFlowsPerPage)
		paged, flows = new(server.PaginationOf(number, size, int64(len(flows)))), server.CutPage(flows, number, size)
	}
	items := server.PartsOf(h.BatchBytes, storage.SingleBatch(flows), h.showFlows)
	return server.Answered(resource.NewDataList(items, paged)), nil
}

// sortFlows sorts by name, or by the time of the last change of a flow's latest trail, then by name. The time is 0 for
// flows without a trail.
func (h *handlers) sortFlows(ctx context.Context, in *listFlowsInput, flows []evidence.Flow) error {
	active := map[string]float64{}
	if in.Sort == "latest_activity" {
		for part := range slices.Chunk(flows, flowsPerLookUp) {
			latest, err := h.Trails.Latest(ctx, resource.Map(part, func(f *evidence.Flow) string { return f.ID }))
			if err != nil {
				return err
			}
			for id := range latest {
				active[id] = latest[id].LastModifiedAt
			}
		}
	}
	slices.SortFunc(flows, func(a, b evidence.Flow) int {
		order := cmp.Or(cmp.Compare(active[a.ID], active[b.ID]), cmp.Compare(a.Name, b.Name))
		if in.SortDirection == "desc" {
			return -order
		}
		return order
	})
	return nil
}

// matches applies the filters. An empty tag matches nothing. A filter by space matches nothing, as there are no spaces.
func (in *listFlowsInput) matches(ctx context.Context, flow *evidence.Flow) bool {
	name, part := flow.Name, in.SearchByName
	if !in.CaseSensitive {
		name, part = strings.ToLower(name), strings.ToLower(part)
	}
	if !strings.Contains(name, part) || slices.ContainsFunc(in.SpaceID, func(id string) bool { return id != "" }) {
		return false
	}
	return in.Matches(ctx, flow.Tags)
}

// listedTemplate returns the text of a template in a list, nil if it is too long, or was too long to be read.
func listedTemplate(text []byte) *string {
	if text == nil || len(text) > maxListedTemplate {
		return nil
	}
	return new(string(text))
}

// showFlows shows flows with their templates and latest trails.
func (h *handlers) showFlows(ctx context.Context, flows []evidence.Flow) ([]FlowList, error) {
	org := server.Access(ctx)
	ids := resource.Map(flows, func(f *evidence.Flow) string { return f.ID })
	templates := resource.Map(flows, func(f *evidence.Flow) string { return f.Template })
	texts, err := h.Templates.Texts(ctx, org.OrgID, templates)
	if err != nil {
		return nil, err
	}
	latest, err := h.Trails.Latest(ctx, ids)
	return resource.Map(flows, func(flow *evidence.Flow) FlowList {
		shown := FlowList{FlowGet: showFlow(org, flow, listedTemplate(texts[flow.Template]))}
		if trail, ok := latest[flow.ID]; ok {
			shown.LatestActivityAt, shown.LatestState = new(trail.LastModifiedAt), new(string(trail.Status))
		}
		return shown
	}), err
}
