package environments

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage/environments"
)

// defaultEnvironmentsPerPage is the page size for a query with a page and no per_page.
const defaultEnvironmentsPerPage = 15

// CreateEnvironmentPutInput is the body of create_env (docs/semantics.md 9.2).
type CreateEnvironmentPutInput struct {
	Name                 string    `json:"name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\.\\-_]*$"`
	Type                 string    `json:"type" enum:"K8S,ECS,S3,lambda,server,docker,azure-apps,cloud-run,logical"`
	Description          string    `json:"description" format:"plain-text"`
	IncludeScaling       *bool     `json:"include_scaling,omitempty" nullable:"true" deprecated:"true"`
	RequireProvenance    *bool     `json:"require_provenance,omitempty" nullable:"true" deprecated:"true"`
	IncludedEnvironments *[]string `json:"included_environments,omitempty" nullable:"true" maxItems:"1000"`
	Policies             *[]string `json:"policies,omitempty" nullable:"true" maxItems:"100"`
}

// GetEnvironmentResponse is an environment in answers (docs/semantics.md 9.3).
type GetEnvironmentResponse struct {
	Org                  string            `json:"org"`
	Name                 string            `json:"name"`
	Type                 string            `json:"type"`
	Description          string            `json:"description"`
	LastModifiedAt       float64           `json:"last_modified_at"`
	LastReportedAt       *float64          `json:"last_reported_at" nullable:"true"`
	LastChangedAt        *float64          `json:"last_changed_at" nullable:"true"`
	State                *bool             `json:"state" nullable:"true"`
	StateSince           *float64          `json:"state_since,omitempty" doc:"Since when the state is what it is, Unix seconds; absent of logical environments and while it is not known."`
	Counts               *snapshot.Counts  `json:"artifact_compliance_count,omitempty" doc:"Verdicts on what runs by the last snapshot; absent of logical environments and before the first one."`
	IncludeScaling       bool              `json:"include_scaling"`
	Tags                 map[string]string `json:"tags"`
	Policies             []string          `json:"policies" nullable:"true"`
	IncludedEnvironments []string          `json:"included_environments" nullable:"true"`
	ArchivedEnvironments []string          `json:"archived_environments,omitempty" doc:"Those of the included environments that are archived."`
}

// createEnvironment creates an environment, or changes the one with that name.
func (h *handlers) createEnvironment(ctx context.Context, _ *server.OrgPath, body *CreateEnvironmentPutInput) (*server.TextAnswer, error) {
	change, err := h.environmentChange(ctx, body)
	if err != nil {
		return nil, err
	}
	now := evidence.Seconds(h.Clock())
	fresh := evidence.Environment{
		ID: evidence.NewID(), Org: server.Access(ctx).OrgID, Name: body.Name, Type: evidence.EnvironmentType(body.Type),
		CreatedAt: now, CreatedBy: server.Principal(ctx).Name, LastModifiedAt: now,
	}
	fresh.Apply(change)
	created, err := h.Environments.Put(ctx, fresh, change)
	if err != nil {
		return nil, err
	}
	if err := h.updateLogical(ctx, &fresh, created); err != nil {
		return nil, err
	}
	if change.Policies == nil || created {
		return server.CreatedOrOK(created), nil
	}
	ref, err := h.ResolveEnvironment(ctx, body.Name)
	if err != nil {
		return nil, err
	}
	return server.OK(), h.applyPolicies(ctx, ref)
}

// updateLogical adds the snapshots of logical environments that a PUT changes. If put is a logical environment whose
// members were sent, they are its own. If put is a new physical one, they are those of the logical environments that
// include an archived environment of the same name.
func (h *handlers) updateLogical(ctx context.Context, put *evidence.Environment, created bool) error {
	if !put.Logical() {
		if !created {
			return nil
		}
		return h.Logical.UpdateIncludingArchived(ctx, server.Access(ctx).OrgID, put.Name)
	}
	if put.Included == nil {
		return nil
	}
	ref, err := h.ResolveEnvironment(ctx, put.Name)
	if err != nil {
		return err
	}
	return h.Logical.Update(ctx, ref.ID)
}

// environmentChange returns the change of the body. An empty description is ignored, so that a repeated PUT does not
// clear it (docs/semantics.md 1.11).
func (h *handlers) environmentChange(ctx context.Context, body *CreateEnvironmentPutInput) (evidence.EnvironmentChange, error) {
	change := evidence.EnvironmentChange{
		Description:    resource.NilIfEmpty(body.Description),
		IncludeScaling: body.IncludeScaling, RequireProvenance: body.RequireProvenance,
	}
	var err error
	if change.Policies, err = h.resolvePolicies(ctx, evidence.EnvironmentType(body.Type), body.Policies); err != nil {
		return change, err
	}
	if body.Type != string(evidence.LogicalType) {
		// Members of a physical environment must exist, and are otherwise ignored.
		_, err = h.ResolveEnvironments(ctx, evidence.ZeroIfNil(body.IncludedEnvironments))
		return change, err
	}
	change.Included, err = h.resolveMembers(ctx, body.Name, evidence.LogicalType, body.IncludedEnvironments)
	return change, err
}

func (h *handlers) getEnvironment(ctx context.Context, _ *resource.EnvironmentPath, ref environments.EnvironmentRef) (*server.Answer[GetEnvironmentResponse], error) {
	found, err := h.Environments.Get(ctx, ref.ID)
	if err != nil {
		return nil, fmt.Errorf("environment %s has a name but no document: %w", ref.ID, err)
	}
	return server.AnsweredOne(h.showEnvironments(ctx, []evidence.Environment{found}))
}

type listEnvironmentsInput struct {
	server.OrgPath
	Page          int      `query:"page" minimum:"1"`
	PerPage       int      `query:"per_page" minimum:"1" maximum:"50"`
	Sort          string   `query:"sort" enum:"name,last_modified_at,last_changed_at" default:"name"`
	SortDirection string   `query:"sort_direction" enum:"asc,desc" default:"asc"`
	SpaceID       []string `query:"space_id,explode"`
	Name          string   `query:"name" doc:"Part of the name, in any letter case."`
	Type          []string `query:"type,explode" enum:"K8S,ECS,S3,lambda,server,docker,azure-apps,cloud-run,logical"`
	resource.TagQuery
}

// environmentList is a bare array, or an envelope if the query has a page.
type environmentList = resource.ListOrPage[[]GetEnvironmentResponse, environmentsPage]

type environmentsPage struct {
	server.PageEnvelope
	Environments []GetEnvironmentResponse `json:"environments"`
}

// listEnvironments lists an organization's environments. There are thousands at most, filtered and sorted in memory.
func (h *handlers) listEnvironments(ctx context.Context, in *listEnvironmentsInput) (*server.Answer[environmentList], error) {
	all, err := h.Environments.List(ctx, server.Access(ctx).OrgID)
	if err != nil {
		return nil, err
	}
	matching := slices.DeleteFunc(all, func(e evidence.Environment) bool { return !in.matches(ctx, &e) })
	shown, err := h.showEnvironments(ctx, matching)
	if err != nil {
		return nil, err
	}
	in.sort(shown)
	if !server.QueryHas(ctx, "page") && !server.QueryHas(ctx, "per_page") {
		return server.Answered(environmentList{List: shown}), nil
	}
	number, size := max(in.Page, 1), cmp.Or(in.PerPage, defaultEnvironmentsPerPage)
	envelope := server.PageOf(ctx, h.Links, number, size, int64(len(shown))).Envelope()
	return server.Answered(environmentList{Page: &environmentsPage{envelope, server.CutPage(shown, number, size)}}), nil
}

// matches applies the filters. Empty filters are ignored, except that an empty tag matches nothing (docs/semantics.md
// 1.12). There are no spaces, so a filter by space matches nothing.
func (in *listEnvironmentsInput) matches(ctx context.Context, e *evidence.Environment) bool {
	if !evidence.ContainsFold(e.Name, in.Name) || len(in.Type) > 0 && !slices.Contains(in.Type, string(e.Type)) ||
		slices.ContainsFunc(in.SpaceID, func(id string) bool { return id != "" }) {
		return false
	}
	return in.Matches(ctx, e.Tags)
}

func (in *listEnvironmentsInput) sort(shown []GetEnvironmentResponse) {
	slices.SortStableFunc(shown, func(a, b GetEnvironmentResponse) int {
		order := cmp.Compare(a.Name, b.Name)
		switch in.Sort {
		case "last_modified_at":
			order = cmp.Or(cmp.Compare(a.LastModifiedAt, b.LastModifiedAt), order)
		case "last_changed_at":
			order = cmp.Or(cmp.Compare(evidence.ZeroIfNil(a.LastChangedAt), evidence.ZeroIfNil(b.LastChangedAt)), order)
		}
		if in.SortDirection == "desc" {
			return -order
		}
		return order
	})
}

// showEnvironments shows environments with their heads, and the heads of their members, which may be archived.
func (h *handlers) showEnvironments(ctx context.Context, shown []evidence.Environment) ([]GetEnvironmentResponse, error) {
	org := server.Access(ctx)
	if err := h.Environments.ReplaceArchivedMembers(ctx, org.OrgID, shown); err != nil {
		return nil, err
	}
	var own, members []string
	for _, e := range shown {
		own, members = append(own, e.ID), append(members, e.Included...)
	}
	members = resource.SortUnique(members)
	named, err := h.Environments.Names(ctx, org.OrgID, members)
	if err != nil {
		return nil, err
	}
	heads, err := h.Heads.GetMany(ctx, resource.SortUnique(append(own, members...)))
	if err != nil {
		return nil, err
	}
	return resource.Map(shown, func(e *evidence.Environment) GetEnvironmentResponse {
		answer := GetEnvironmentResponse{
			Org: org.OrgName, Name: e.Name, Type: string(e.Type), Description: e.Description, LastModifiedAt: e.LastModifiedAt,
			IncludeScaling: e.IncludeScaling, Tags: resource.EmptyIfNil(e.Tags), Policies: append([]string{}, e.Policies...),
		}
		if e.Logical() {
			answer.showMembers(e, named, heads)
		} else {
			answer.showHead(e, heads[e.ID])
		}
		return answer
	}), nil
}

// showHead sets the state after the last report.
func (r *GetEnvironmentResponse) showHead(e *evidence.Environment, head snapshot.Head) {
	r.LastReportedAt = resource.NilIfEmpty(head.LastReportedAt)
	r.LastChangedAt = resource.NilIfEmpty(head.Timestamp)
	r.LastModifiedAt = max(e.LastModifiedAt, head.LastReportedAt)
	r.State, r.StateSince = head.State, resource.NilIfEmpty(head.StateSince)
	if head.Last > 0 {
		r.Counts = new(head.Counts)
	}
}

// showMembers sets the members of a logical environment, and its state and times, which follow from theirs. An archived
// member is listed, so that clients can send the same list again. Its state is ignored.
func (r *GetEnvironmentResponse) showMembers(e *evidence.Environment, named map[string]evidence.Environment, heads map[string]snapshot.Head) {
	r.IncludedEnvironments = make([]string, 0, len(e.Included))
	changed := 0.0
	for _, id := range e.Included {
		r.IncludedEnvironments = append(r.IncludedEnvironments, named[id].Name)
		if named[id].Archived && !slices.Contains(r.ArchivedEnvironments, named[id].Name) {
			r.ArchivedEnvironments = append(r.ArchivedEnvironments, named[id].Name)
		}
		changed = max(changed, heads[id].Timestamp)
	}
	r.State = evidence.UnitedState(resource.Map(e.Active, func(id *string) *bool { return heads[*id].State }))
	r.LastChangedAt = resource.NilIfEmpty(changed)
	if changed > 0 {
		r.LastModifiedAt = changed
	}
}
