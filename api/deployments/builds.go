package deployments

import (
	"cmp"
	"context"
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/storage/pipelines"
)

// BuildFilter selects builds. It is exported because huma ignores unexported embedded types.
type BuildFilter struct {
	RepoID      string `query:"repo_id" doc:"The id of the repository at its provider. With it, repo_name is ignored."`
	RepoName    string `query:"repo_name" doc:"Builds of the repository of this name."`
	RepoInnerID string `query:"repo_inner_id" doc:"The internal id of the repository. With it, repo_id and repo_name are ignored."`
	resource.RepoProviderQuery
	resource.WindowQuery
}

// buildQuery returns the query for the builds of a window. Empty filters are ignored.
func (h *handlers) buildQuery(ctx context.Context, in *BuildFilter, span resource.Window) (pipelines.BuildQuery, error) {
	query := pipelines.BuildQuery{Org: server.Access(ctx).OrgID}
	query.From, query.To = span.From, span.To
	var err error
	switch {
	case in.RepoInnerID != "":
		query.Repos = []string{in.RepoInnerID}
		_, err = h.LoadRepoByID(ctx, in.RepoInnerID)
	case in.RepoID != "":
		query.Repos, err = h.reposAtProvider(ctx, in.RepoID, in.Provider)
	case in.RepoName != "":
		var repo evidence.Repo
		repo, err = h.LoadRepo(ctx, in.RepoName, in.Provider)
		query.Repos = []string{repo.ID}
	}
	return query, err
}

// reposAtProvider returns the internal ids of repositories with an id at their provider. Each provider may have one; a
// provider selects its own.
func (h *handlers) reposAtProvider(ctx context.Context, id, provider string) ([]string, error) {
	repos, err := h.Repos.List(ctx, server.Access(ctx).OrgID)
	if err != nil {
		return nil, err
	}
	repos = slices.DeleteFunc(repos, func(r evidence.Repo) bool {
		return r.ExternalID != id || provider != "" && r.Provider != provider
	})
	if len(repos) == 0 {
		return nil, resource.RepoNotFound(id)
	}
	return resource.Map(repos, func(repo *evidence.Repo) string { return repo.ID }), nil
}

type listBuildsInput struct {
	server.OrgPath
	Page    int `query:"page" minimum:"1" default:"1"`
	PerPage int `query:"per_page" minimum:"0" maximum:"50" default:"15" doc:"0 asks for the totals alone."`
	BuildFilter
	DashedStart float64 `query:"start-ts" doc:"Another name of start_ts, which wins over it."`
	DashedEnd   float64 `query:"end-ts" doc:"Another name of end_ts, which wins over it."`
}

// window returns the window of the query. Each bound has two names.
func (in *listBuildsInput) window(ctx context.Context, h *handlers) resource.Window {
	return h.WindowBetween(
		cmp.Or(resource.IfSent(ctx, "start_ts", in.Start), resource.IfSent(ctx, "start-ts", in.DashedStart)),
		cmp.Or(resource.IfSent(ctx, "end_ts", in.End), resource.IfSent(ctx, "end-ts", in.DashedEnd)))
}

// BuildListResponse is a page of builds, newest first (docs/semantics.md 14.3). Totals are at most 100,000.
type BuildListResponse struct {
	server.PageEnvelope
	Builds []BuildItemResponse `json:"builds"`
}

// BuildItemResponse is the first report of an artifact in any flow.
type BuildItemResponse struct {
	CreatedAt   float64                        `json:"created_at" doc:"Unix seconds."`
	Fingerprint string                         `json:"fingerprint" pattern:"^[a-f0-9]{64}$"`
	FlowName    string                         `json:"flow_name"`
	TrailName   string                         `json:"trail_name"`
	RepoInfo    resource.OrNull[BuildRepoInfo] `json:"repo_info"`
	Links       map[string]server.Href         `json:"_links" doc:"self is the artifact in the API, html its page."`
}

func (h *handlers) listBuilds(ctx context.Context, in *listBuildsInput) (*server.Answer[BuildListResponse], error) {
	query, err := h.buildQuery(ctx, &in.BuildFilter, in.window(ctx, h))
	if err != nil {
		return nil, err
	}
	total, err := h.Provenances.CountBuilds(ctx, query)
	if err != nil {
		return nil, err
	}
	page := server.PageOf(ctx, h.Links, in.Page, in.PerPage, total)
	body := BuildListResponse{PageEnvelope: page.Envelope(), Builds: []BuildItemResponse{}}
	if page.Beyond() {
		return server.Answered(body), nil
	}
	query.Offset, query.Limit = server.OffsetOf(in.Page, in.PerPage), in.PerPage
	found, err := h.Provenances.Builds(ctx, query)
	if err != nil {
		return nil, err
	}
	body.Builds, err = h.showBuilds(ctx, found)
	return server.Answered(body), err
}

// showBuilds shows builds: two commands, for the names of flows and repositories.
func (h *handlers) showBuilds(ctx context.Context, builds []pipelines.Provenance) ([]BuildItemResponse, error) {
	flows, repos, err := resource.FlowsAndRepos(ctx, h.Base, builds, func(p *pipelines.Provenance) (flow, repo string) { return sourcesOf(&p.Build) })
	return resource.Map(builds, func(p *pipelines.Provenance) BuildItemResponse {
		flow := flows[p.Build.Flow].Name
		return BuildItemResponse{
			CreatedAt: p.Build.Time, Fingerprint: p.Fingerprint, FlowName: flow, TrailName: p.Build.Trail,
			RepoInfo: resource.OrNull[BuildRepoInfo]{Value: showBuildRepo(repos, p.Build.Repo)},
			Links:    h.artifactLinks(server.Access(ctx), flow, p.Fingerprint, p.Build.Record),
		}
	}), err
}

type buildStatisticsInput struct {
	server.OrgPath
	BuildFilter
}

// BuildStatisticsResponse lists the times of builds (docs/semantics.md 14.4). Clients count them by day.
type BuildStatisticsResponse struct {
	StartTS float64   `json:"start_ts" doc:"Unix seconds, included."`
	EndTS   float64   `json:"end_ts" doc:"Unix seconds, included."`
	Count   int       `json:"count"`
	BuiltAt []float64 `json:"built_at" doc:"Unix seconds, oldest first; the newest 100,000."`
}

func (h *handlers) getBuildStatistics(ctx context.Context, in *buildStatisticsInput) (*server.Answer[BuildStatisticsResponse], error) {
	span := h.WindowOf(ctx, in.WindowQuery)
	query, err := h.buildQuery(ctx, &in.BuildFilter, span)
	if err != nil {
		return nil, err
	}
	query.Limit = resource.MaxSeries
	built, err := h.Provenances.BuildTimes(ctx, query)
	slices.Reverse(built)
	return server.Answered(BuildStatisticsResponse{StartTS: span.From, EndTS: span.To, Count: len(built), BuiltAt: built}), err
}
