package pipelines

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
)

// RepoResponse is a repository in answers (docs/semantics.md 15.1).
type RepoResponse struct {
	ID          string  `json:"id" doc:"The internal id, by which the repository is tagged."`
	Name        string  `json:"name"`
	URL         string  `json:"url"`
	Provider    *string `json:"provider" nullable:"true"`
	RepoID      *string `json:"repo_id" nullable:"true" doc:"The id at the provider."`
	Description *string `json:"description" nullable:"true"`
	// LatestActivity is the time when the repository was last reported, ISO 8601 in UTC.
	LatestActivity *string                `json:"latest_activity" nullable:"true"`
	Tags           map[string]string      `json:"tags"`
	Links          map[string]server.Href `json:"_links"`
}

func (h *handlers) showRepo(org evidence.OrgAccess, repo *evidence.Repo) RepoResponse {
	return RepoResponse{
		ID: repo.ID, Name: repo.Name, URL: repo.URL,
		Provider: resource.NilIfEmpty(repo.Provider), RepoID: resource.NilIfEmpty(repo.ExternalID), Description: repo.Description,
		LatestActivity: resource.ISOTime(repo.LastModifiedAt), Tags: resource.EmptyIfNil(repo.Tags),
		Links: map[string]server.Href{"self": {Href: h.Links.RepoSelf(org.OrgName, repo.Name, repo.ID)}},
	}
}

type listReposInput struct {
	server.OrgPath
	Page          int    `query:"page" minimum:"1" default:"1"`
	PerPage       int    `query:"per_page" minimum:"1" maximum:"50" default:"15"`
	Name          string `query:"name" doc:"The exact name. It is ignored beside repo_id, and excludes search."`
	Search        string `query:"search" doc:"Part of the name, in any letter case."`
	Provider      string `query:"provider" enum:"github,gitlab,bitbucket,bitbucket_cloud,bitbucket_dc,azure-devops,azure_devops_services,azure_devops_server,circleci,git,subversion"`
	RepoID        string `query:"repo_id" doc:"The id at the provider."`
	Instance      string `query:"vcs_instance" doc:"Host that keeps the repository."`
	Namespace     string `query:"namespace" doc:"Leading groups, at any depth, with slashes between them."`
	SortDirection string `query:"sort_direction" enum:"asc,desc" default:"asc"`
	resource.TagQuery
}

// RepoListResponse is a page of repositories (docs/semantics.md 1.10, style 4).
type RepoListResponse struct {
	server.PageEnvelope
	Repos []RepoResponse `json:"repos"`
}

// listRepos lists an organization's repositories by name. There are thousands at most, filtered and sorted in memory.
func (h *handlers) listRepos(ctx context.Context, in *listReposInput) (*server.Answer[RepoListResponse], error) {
	if in.Name != "" && in.Search != "" {
		return nil, evidence.NewError(evidence.Invalid, "Specify either 'name' or 'search', not both")
	}
	org := server.Access(ctx)
	repos, err := h.Repos.List(ctx, org.OrgID)
	if err != nil {
		return nil, err
	}
	facets := repoFacets{in.Provider, in.Instance, segmentsOf(in.Namespace), in.TagQuery}
	repos = slices.DeleteFunc(repos, func(r evidence.Repo) bool { return !in.matchesName(&r) || !facets.matches(ctx, &r) })
	slices.SortFunc(repos, func(a, b evidence.Repo) int {
		order := cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
		if in.SortDirection == "desc" {
			return -order
		}
		return order
	})
	return server.Answered(RepoListResponse{
		PageEnvelope: server.PageOf(ctx, h.Links, in.Page, in.PerPage, int64(len(repos))).Envelope(),
		Repos:        resource.Map(server.CutPage(repos, in.Page, in.PerPage), func(r *evidence.Repo) RepoResponse { return h.showRepo(org, r) }),
	}), nil
}

// matchesName applies the filters by name and id. Empty filters are ignored.
func (in *listReposInput) matchesName(r *evidence.Repo) bool {
	if !evidence.ContainsFold(r.Name, in.Search) {
		return false
	}
	if in.RepoID != "" {
		return r.ExternalID == in.RepoID
	}
	return in.Name == "" || r.Name == in.Name
}

// repoFacets are the filters by provider, instance, namespace and tags. Empty filters are ignored, except that an empty
// tag matches nothing (docs/semantics.md 1.12).
type repoFacets struct {
	provider, instance string
	namespace          []string
	tags               resource.TagQuery
}

func (f repoFacets) matches(ctx context.Context, r *evidence.Repo) bool {
	if f.provider != "" && r.Provider != f.provider || f.instance != "" && !strings.EqualFold(r.Instance(), f.instance) {
		return false
	}
	return f.tags.Matches(ctx, r.Tags) && r.Within(f.namespace)
}

// segmentsOf splits a path of groups. It ignores slashes around it.
func segmentsOf(path string) []string {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

type repoFilterOptionsInput struct {
	server.OrgPath
	Provider  string `query:"provider" enum:"github,gitlab,bitbucket,bitbucket_cloud,bitbucket_dc,azure-devops,azure_devops_services,azure_devops_server,circleci,git,subversion"`
	Instance  string `query:"vcs_instance" doc:"Host that keeps the repository."`
	Namespace string `query:"namespace" doc:"Leading groups, with slashes between them."`
	resource.TagQuery
}

// RepoFilterOptionsResponse lists distinct values, sorted. Each member applies all filters except its own.
// namespace_values are the groups directly in the namespace of the query.
type RepoFilterOptionsResponse struct {
	Providers       []string `json:"providers"`
	Instances       []string `json:"vcs_instances"`
	NamespaceValues []string `json:"namespace_values"`
}

// listRepoFilterOptions lists the values that an organization's repositories can be filtered by.
func (h *handlers) listRepoFilterOptions(ctx context.Context, in *repoFilterOptionsInput) (*server.Answer[RepoFilterOptionsResponse], error) {
	repos, err := h.Repos.List(ctx, server.Access(ctx).OrgID)
	if err != nil {
		return nil, err
	}
	facets := repoFacets{in.Provider, in.Instance, segmentsOf(in.Namespace), in.TagQuery}
	anyProvider, anyInstance := facets, facets
	anyProvider.provider, anyInstance.instance = "", ""
	return server.Answered(RepoFilterOptionsResponse{
		Providers: distinct(ctx, repos, anyProvider, func(r *evidence.Repo) string { return r.Provider }),
		Instances: distinct(ctx, repos, anyInstance, (*evidence.Repo).Instance),
		NamespaceValues: distinct(ctx, repos, facets, func(r *evidence.Repo) string {
			if subgroups := r.Namespace()[len(facets.namespace):]; len(subgroups) > 0 {
				return subgroups[0]
			}
			return ""
		}),
	}), nil
}

// distinct returns the distinct values of the repositories that match facets, sorted, without "".
func distinct(ctx context.Context, repos []evidence.Repo, facets repoFacets, value func(*evidence.Repo) string) []string {
	matching := slices.DeleteFunc(slices.Clone(repos), func(r evidence.Repo) bool { return !facets.matches(ctx, &r) })
	return slices.DeleteFunc(resource.UniqueOf(matching, value), func(text string) bool { return text == "" })
}

// TagChoice is a tag of a repository.
type TagChoice resource.Tag

// TagChoicesResponse lists distinct tags by key, then by value (docs/semantics.md 15.3).
type TagChoicesResponse struct {
	TagChoices []TagChoice `json:"tag_choices"`
}

func (h *handlers) listRepoTagChoices(ctx context.Context, _ *server.OrgPath) (*server.Answer[TagChoicesResponse], error) {
	repos, err := h.Repos.List(ctx, server.Access(ctx).OrgID)
	choices := resource.TagChoices(repos, func(r *evidence.Repo) map[string]string { return r.Tags })
	return server.Answered(TagChoicesResponse{TagChoices: resource.Map(choices, func(tag *resource.Tag) TagChoice { return TagChoice(*tag) })}), err
}

func (h *handlers) getRepo(ctx context.Context, in *resource.GetRepoInput) (*server.Answer[RepoResponse], error) {
	repo, err := h.LoadRepoOf(ctx, in)
	return server.Answered(h.showRepo(server.Access(ctx), &repo)), err
}
