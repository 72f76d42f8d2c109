package deployments

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

// environmentWindow is how far back the deployments of one environment reach unless
// the request says so (docs/semantics.md 14.1).
const environmentWindow = 30 * 24 * time.Hour

// deploymentRoutes are those of what was deployed: what newly ran in environments.
func (h *handlers) deploymentRoutes() []server.Route {
	return []server.Route{
		{Method: http.MethodGet, Path: "/deployments/{org}", OperationID: "list_deployments", Tag: "Deployments",
			Summary: "List deployments", MinRole: evidence.Reader, Serve: server.Handle(h.listDeployments)},
		{Method: http.MethodGet, Path: "/deployments/{org}/{env_name}/{fingerprint}", OperationID: "get_deployment", Tag: "Deployments",
			Summary: "Read the last deployment of an artifact to an environment", MinRole: evidence.Reader, Serve: server.Handle(h.getDeployment)},
		{Method: http.MethodGet, Path: "/environments/{org}/{env_name}/deployments", OperationID: "list_env_deployments", Tag: "Environments",
			Summary: "List the deployments to an environment", MinRole: evidence.Reader, Serve: server.Handle(h.listEnvironmentDeployments)},
		{Method: http.MethodGet, Path: "/environments/{org}/{env_name}/deployment_frequency", OperationID: "get_deployment_frequency", Tag: "Environments",
			Summary: "List deployment times of an environment", MinRole: evidence.Reader, Serve: server.Handle(h.getDeploymentFrequency)},
		{Method: http.MethodGet, Path: "/repos/{org}/{repo}/deployments", OperationID: "list_repo_deployments", Tag: "Repos",
			Summary: "List the deployments of a repository", MinRole: evidence.Reader, Serve: server.Handle(h.listRepoDeployments)},
		{Method: http.MethodGet, Path: "/repos/{org}/{repo}/deployment-statistics", OperationID: "get_repo_deployment_statistics", Tag: "Repos",
			Summary: "List deployment times and lead times of a repository", MinRole: evidence.Reader,
			Serve: server.Handle(h.getRepoDeploymentStatistics)},
	}
}

type listDeploymentsInput struct {
	server.OrgPath
	Page        int    `query:"page" minimum:"1" default:"1"`
	PerPage     int    `query:"per_page" minimum:"0" maximum:"50" default:"15" doc:"0 asks for the totals alone."`
	RepoName    string `query:"repo_name" doc:"Deployments of the repository of this name. Empty is no filter."`
	Environment string `query:"env_name" doc:"Deployments to this environment; to its members if it is a logical one."`
	resource.RepoProviderQuery
	resource.WindowQuery
}

// DeploymentListResponse is a page of deployments, newest first
// (docs/semantics.md 1.10, style 4). Totals beyond 100,000 are told as 100,000.
type DeploymentListResponse struct {
	server.PageEnvelope
	Deployments []Deployment `json:"deployments"`
}

// listDeployments lists an organization's deployments. Those to environments that
// are archived by now are among them.
func (h *handlers) listDeployments(ctx context.Context, in *listDeploymentsInput) (*server.Answer[DeploymentListResponse], error) {
	org, span := server.Access(ctx), h.WindowOf(ctx, in.WindowQuery)
	query := environments.DeploymentQuery{Org: org.OrgID}
	query.From, query.To = span.Bounds()
	if server.QueryHas(ctx, "env_name") {
		environment, err := h.loadCurrentEnvironment(ctx, org, in.Environment)
		if err != nil {
			return nil, err
		}
		query.Environments = physicalIDs(&environment)
	}
	if in.RepoName != "" {
		repo, err := h.LoadRepo(ctx, org, in.RepoName, in.Provider)
		if err != nil {
			return nil, err
		}
		query.Repos = []string{repo.ID}
	}
	return h.pageOfDeployments(ctx, org, query, in.Page, in.PerPage)
}

func idsOf(repos []evidence.Repo) []string {
	return resource.Map(repos, func(repo *evidence.Repo) string { return repo.ID })
}

func (h *handlers) pageOfDeployments(ctx context.Context, org evidence.OrgAccess, query environments.DeploymentQuery, number, size int) (*server.Answer[DeploymentListResponse], error) {
	found, page, err := h.findDeployments(ctx, org, query, number, size)
	if err != nil {
		return nil, err
	}
	shown := resource.Map(found, (*renderedDeployment).inSeconds)
	return server.Answered(DeploymentListResponse{PageEnvelope: page.Envelope(), Deployments: shown}), nil
}

// findDeployments reads one page: two commands, and three for what the deployments
// refer to.
func (h *handlers) findDeployments(ctx context.Context, org evidence.OrgAccess, query environments.DeploymentQuery, number, size int) ([]renderedDeployment, server.Page, error) {
	total, err := h.Deployments.Count(ctx, query)
	asked := server.PageOf(ctx, h.Links, number, size, total)
	if err != nil || asked.Beyond() {
		return nil, asked, err
	}
	query.Offset, query.Limit = server.OffsetOf(number, size), size
	found, err := h.Deployments.List(ctx, query)
	if err != nil {
		return nil, asked, err
	}
	shown, err := h.showDeployments(ctx, org, found)
	return shown, asked, err
}

type getDeploymentInput struct {
	resource.EnvironmentPath
	Fingerprint string `path:"fingerprint" doc:"All 64 digits."`
}

// getDeployment reads the last deployment of a fingerprint.
func (h *handlers) getDeployment(ctx context.Context, in *getDeploymentInput) (*server.Answer[Deployment], error) {
	org := server.Access(ctx)
	environment, err := h.loadCurrentEnvironment(ctx, org, in.Environment)
	if err != nil {
		return nil, err
	}
	found, err := h.Deployments.Latest(ctx, physicalIDs(&environment), strings.ToLower(in.Fingerprint))
	if err != nil {
		return nil, resource.NotFound(err, "Deployment of '%s' to environment '%s' not found", in.Fingerprint, in.Environment)
	}
	shown, err := h.showDeployments(ctx, org, []snapshot.Deployment{found})
	if err != nil {
		return nil, err
	}
	return server.Answered(shown[0].inSeconds()), nil
}

type listEnvironmentDeploymentsInput struct {
	resource.EnvironmentPath
	From     string `query:"from" doc:"ISO 8601, included; UTC unless it names a zone. 30 days before 'to' when left out or empty."`
	To       string `query:"to" doc:"ISO 8601, included; UTC unless it names a zone. Now when left out or empty."`
	Page     int    `query:"page" minimum:"1" default:"1"`
	PageSize int    `query:"page_size" minimum:"1" maximum:"100" default:"50"`
}

// EnvironmentDeploymentListResponse is a page of an environment's deployments,
// newest first. It is that of other lists of deployments, but for how the size of
// the page is called. Totals beyond 100,000 are told as 100,000.
type EnvironmentDeploymentListResponse struct {
	Links       map[string]server.Href  `json:"_links"`
	Page        int                     `json:"page"`
	PageSize    int                     `json:"page_size"`
	TotalPages  int                     `json:"total_pages"`
	TotalCount  int64                   `json:"total_count"`
	Deployments []EnvironmentDeployment `json:"deployments"`
}

// listEnvironmentDeployments lists the deployments to an environment, or to the
// members of a logical one.
func (h *handlers) listEnvironmentDeployments(ctx context.Context, in *listEnvironmentDeploymentsInput) (*server.Answer[EnvironmentDeploymentListResponse], error) {
	org := server.Access(ctx)
	span, err := h.isoWindow(in.From, in.To)
	if err != nil {
		return nil, err
	}
	environment, err := h.loadCurrentEnvironment(ctx, org, in.Environment)
	if err != nil {
		return nil, err
	}
	query := environments.DeploymentQuery{Org: org.OrgID, Environments: physicalIDs(&environment), From: span.From, To: span.To}
	found, page, err := h.findDeployments(ctx, org, query, in.Page, in.PageSize)
	if err != nil {
		return nil, err
	}
	shown := resource.Map(found, (*renderedDeployment).inISO)
	page.SizeName = "page_size"
	envelope := page.Envelope()
	return server.Answered(EnvironmentDeploymentListResponse{
		Links: envelope.Links, Page: envelope.Page, PageSize: envelope.PerPage,
		TotalPages: envelope.TotalPages, TotalCount: envelope.TotalCount, Deployments: shown,
	}), nil
}

// isoWindow reads the bounds of an environment's deployments.
func (h *handlers) isoWindow(from, to string) (resource.Window, error) {
	found := validation.Findings{}
	end := readISO("query.to", to, h.Clock(), found)
	start := readISO("query.from", from, end.Add(-environmentWindow), found)
	return resource.Window{From: evidence.Seconds(start), To: evidence.Seconds(end)}, validation.Invalid(found)
}

// readISO reads a time in ISO 8601; an empty one is the one that is taken instead.
func readISO(at, text string, instead time.Time, found validation.Findings) time.Time {
	if text == "" {
		return instead
	}
	plain := text
	if strings.Contains(text, "T") {
		// In a query, a plus sign that is not escaped stands for a blank.
		plain = strings.ReplaceAll(text, " ", "+")
	}
	if read, ok := evidence.ParseTime(plain); ok {
		return read
	}
	found.Add(at, "Input should be a valid ISO 8601 date and time", text)
	return instead
}

// RepoIDPath is the path of an operation on a repository that is named by its
// internal id. It is exported because huma passes over embedded types that are not.
type RepoIDPath struct {
	server.OrgPath
	Repo string `path:"repo" doc:"The internal id of the repository."`
}

type listRepoDeploymentsInput struct {
	RepoIDPath
	Page         int      `query:"page" minimum:"1" default:"1"`
	PerPage      int      `query:"per_page" minimum:"0" maximum:"50" default:"15" doc:"0 asks for the totals alone."`
	Environments []string `query:"env,explode" maxItems:"1000" default:"[]" doc:"Names of environments; a logical one stands for its members. None means all."`
	resource.WindowQuery
}

func (h *handlers) listRepoDeployments(ctx context.Context, in *listRepoDeploymentsInput) (*server.Answer[DeploymentListResponse], error) {
	org := server.Access(ctx)
	query, err := h.repoQuery(ctx, org, in.Repo, in.Environments, h.WindowOf(ctx, in.WindowQuery))
	if err != nil {
		return nil, err
	}
	return h.pageOfDeployments(ctx, org, query, in.Page, in.PerPage)
}

// repoQuery asks for the deployments of a repository to the environments of the given
// names, or to all when there are none.
func (h *handlers) repoQuery(ctx context.Context, org evidence.OrgAccess, id string, names []string, span resource.Window) (environments.DeploymentQuery, error) {
	query := environments.DeploymentQuery{Org: org.OrgID, Repos: []string{id}}
	query.From, query.To = span.Bounds()
	_, err := h.LoadRepoByID(ctx, org, id)
	if err != nil || len(names) == 0 {
		return query, err
	}
	query.Environments, err = h.resolvePhysicalEnvironments(ctx, org, names)
	return query, err
}

// loadCurrentEnvironment reads the environment of a name, once the reports that are under
// way to it have been waited for.
func (h *handlers) loadCurrentEnvironment(ctx context.Context, org evidence.OrgAccess, name string) (evidence.Environment, error) {
	environment, err := h.LoadEnvironment(ctx, org, name)
	if err != nil || environment.Logical() {
		return environment, err
	}
	return environment, h.Intake.CatchUp(ctx, environment.ID, resource.CatchUpSpan)
}

// physicalIDs are the ids of the environments in which things run when one is asked
// for: a logical one stands for its members.
func physicalIDs(environment *evidence.Environment) []string {
	if environment.Logical() {
		return append([]string{}, environment.Included...)
	}
	return []string{environment.ID}
}

// resolvePhysicalEnvironments finds the ids of the environments in which things run, of those
// of the given names: two commands, and up to three more for members of logical ones.
func (h *handlers) resolvePhysicalEnvironments(ctx context.Context, org evidence.OrgAccess, names []string) ([]string, error) {
	names = resource.SortUnique(slices.Clone(names))
	refs, err := h.Environments.ResolveMany(ctx, org.OrgID, names)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for _, name := range names {
		ref, ok := refs[name]
		if !ok {
			ref, err = h.ResolveEnvironment(ctx, org, name)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, ref.ID)
	}
	found, err := h.Environments.GetMany(ctx, resource.SortUnique(ids))
	if err != nil {
		return nil, err
	}
	if err := h.Environments.FollowRevivals(ctx, org.OrgID, found); err != nil {
		return nil, err
	}
	ids = ids[:0]
	for i := range found {
		ids = append(ids, physicalIDs(&found[i])...)
	}
	if ids = resource.SortUnique(ids); len(ids) > storage.MaxMany {
		return nil, evidence.ValidationError(map[string]string{
			"query.env": fmt.Sprintf("Too many environments: %d, where %d are allowed", len(ids), storage.MaxMany),
		})
	}
	return ids, nil
}
