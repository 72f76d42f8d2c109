package deployments

import (
	"context"
	"strings"
	"time"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage/environments"
)

// environmentWindow is the default window of the deployments of one environment (docs/semantics.md 14.1).
const environmentWindow = 30 * 24 * time.Hour

type listDeploymentsInput struct {
	server.OrgPath
	Page        int    `query:"page" minimum:"1" default:"1"`
	PerPage     int    `query:"per_page" minimum:"0" maximum:"50" default:"15" doc:"0 asks for the totals alone."`
	RepoName    string `query:"repo_name" doc:"Deployments of the repository of this name. Empty is no filter."`
	Environment string `query:"env_name" doc:"Deployments to this environment; to its members if it is a logical one."`
	resource.RepoProviderQuery
	resource.WindowQuery
}

// DeploymentListResponse is a page of deployments, newest first (docs/semantics.md 1.10, style 4). Totals are at most
// 100,000.
type DeploymentListResponse struct {
	server.PageEnvelope
	Deployments []Deployment `json:"deployments"`
}

// listDeployments lists an organization's deployments, including those to archived environments.
func (h *handlers) listDeployments(ctx context.Context, in *listDeploymentsInput) (*server.Answer[DeploymentListResponse], error) {
	span := h.WindowOf(ctx, in.WindowQuery)
	query := environments.DeploymentQuery{Org: server.Access(ctx).OrgID}
	query.From, query.To = span.From, span.To
	if server.QueryHas(ctx, "env_name") {
		environment, err := h.loadCurrentEnvironment(ctx, in.Environment)
		if err != nil {
			return nil, err
		}
		query.Environments = resource.PhysicalIDs(&environment)
	}
	if in.RepoName != "" {
		repo, err := h.LoadRepo(ctx, in.RepoName, in.Provider)
		if err != nil {
			return nil, err
		}
		query.Repo = repo.ID
	}
	return h.pageOfDeployments(ctx, query, in.Page, in.PerPage)
}

func (h *handlers) pageOfDeployments(ctx context.Context, query environments.DeploymentQuery, number, size int) (*server.Answer[DeploymentListResponse], error) {
	shown, page, err := h.findDeployments(ctx, query, number, size)
	return server.Answered(DeploymentListResponse{PageEnvelope: page.Envelope(), Deployments: shown}), err
}

// findDeployments reads one page: two commands, and the four of showDeployments.
func (h *handlers) findDeployments(ctx context.Context, query environments.DeploymentQuery, number, size int) ([]Deployment, server.Page, error) {
	total, err := h.Deployments.Count(ctx, query)
	page := server.PageOf(ctx, h.Links, number, size, total)
	if err != nil || page.Beyond() {
		return []Deployment{}, page, err
	}
	query.Offset, query.Limit = server.OffsetOf(number, size), size
	found, err := h.Deployments.List(ctx, query)
	if err != nil {
		return nil, page, err
	}
	shown, err := h.showDeployments(ctx, found)
	return shown, page, err
}

type getDeploymentInput struct {
	resource.EnvironmentPath
	Fingerprint string `path:"fingerprint" doc:"All 64 digits."`
}

func (h *handlers) getDeployment(ctx context.Context, in *getDeploymentInput, environment evidence.Environment) (*server.Answer[Deployment], error) {
	found, err := h.Deployments.Latest(ctx, resource.PhysicalIDs(&environment), strings.ToLower(in.Fingerprint))
	if err != nil {
		return nil, resource.NotFound(err, "Deployment of '%s' to environment '%s' not found", in.Fingerprint, in.Environment)
	}
	return server.AnsweredOne(h.showDeployments(ctx, []snapshot.Deployment{found}))
}

type listEnvironmentDeploymentsInput struct {
	resource.EnvironmentPath
	From     string `query:"from" doc:"ISO 8601, included; UTC unless it names a zone. 30 days before 'to' when left out or empty."`
	To       string `query:"to" doc:"ISO 8601, included; UTC unless it names a zone. Now when left out or empty."`
	Page     int    `query:"page" minimum:"1" default:"1"`
	PageSize int    `query:"page_size" minimum:"1" maximum:"100" default:"50"`
}

// EnvironmentDeploymentListResponse is a page of an environment's deployments, newest first. Unlike other lists of
// deployments, it has a page_size. Totals are at most 100,000.
type EnvironmentDeploymentListResponse struct {
	Links       jsonstream.Map[server.Href] `json:"_links"`
	Page        int                         `json:"page"`
	PageSize    int                         `json:"page_size"`
	TotalPages  int                         `json:"total_pages"`
	TotalCount  int64                       `json:"total_count"`
	Deployments []EnvironmentDeployment     `json:"deployments"`
}

// listEnvironmentDeployments lists the deployments to an environment, or to the members of a logical one.
func (h *handlers) listEnvironmentDeployments(ctx context.Context, in *listEnvironmentDeploymentsInput) (*server.Answer[EnvironmentDeploymentListResponse], error) {
	wrong := validation.Findings{}
	end := readISO("query.to", in.To, h.Clock(), wrong)
	start := readISO("query.from", in.From, end.Add(-environmentWindow), wrong)
	if err := validation.Invalid(wrong); err != nil {
		return nil, err
	}
	environment, err := h.loadCurrentEnvironment(ctx, in.Environment)
	if err != nil {
		return nil, err
	}
	query := environments.DeploymentQuery{
		Org: server.Access(ctx).OrgID, Environments: resource.PhysicalIDs(&environment), From: evidence.Seconds(start), To: evidence.Seconds(end),
	}
	found, page, err := h.findDeployments(ctx, query, in.Page, in.PageSize)
	page.SizeName = "page_size"
	envelope := page.Envelope()
	return server.Answered(EnvironmentDeploymentListResponse{
		Links: envelope.Links, Page: envelope.Page, PageSize: envelope.PerPage, TotalPages: envelope.TotalPages,
		TotalCount: envelope.TotalCount, Deployments: resource.Map(found, (*Deployment).withISOTime),
	}), err
}

// readISO reads a time in ISO 8601. It returns the fallback for an empty or invalid text.
func readISO(at, text string, fallback time.Time, found validation.Findings) time.Time {
	if text == "" {
		return fallback
	}
	plain := text
	if strings.Contains(text, "T") {
		// A plus sign that is not escaped was decoded to a space.
		plain = strings.ReplaceAll(text, " ", "+")
	}
	if read, ok := evidence.ParseTime(plain); ok {
		return read
	}
	found.Add(at, "Input should be a valid ISO 8601 date and time", text)
	return fallback
}

// RepoIDPath is the path of an operation on a repository by its internal id. It is exported because huma ignores
// unexported embedded types.
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
	query, err := h.repoQuery(ctx, in.Repo, in.Environments, h.WindowOf(ctx, in.WindowQuery))
	if err != nil {
		return nil, err
	}
	return h.pageOfDeployments(ctx, query, in.Page, in.PerPage)
}

// repoQuery returns the query for a repository's deployments to the named environments, or to all without names.
func (h *handlers) repoQuery(ctx context.Context, id string, names []string, span resource.Window) (environments.DeploymentQuery, error) {
	query := environments.DeploymentQuery{Org: server.Access(ctx).OrgID, Repo: id}
	query.From, query.To = span.From, span.To
	_, err := h.LoadRepoByID(ctx, id)
	names = evidence.WithoutEmpty(names)
	if err != nil || len(names) == 0 {
		return query, err
	}
	query.Environments, err = h.PhysicalEnvironments(ctx, names, "query.env")
	return query, err
}

// loadCurrentEnvironment reads the environment by name, then waits for its pending reports, at most CatchUpSpan.
func (h *handlers) loadCurrentEnvironment(ctx context.Context, name string) (evidence.Environment, error) {
	environment, err := h.LoadEnvironment(ctx, name)
	if err != nil || environment.Logical() {
		return environment, err
	}
	return environment, h.Intake.CatchUp(ctx, environment.ID, resource.CatchUpSpan)
}

// Deployment is the start of an artifact in an environment (docs/semantics.md 14.1).
type Deployment struct {
	DeployedAt float64 `json:"deployed_at" doc:"Unix seconds."`
	DeploymentFacts
}

// EnvironmentDeployment is a Deployment in lists of one environment.
type EnvironmentDeployment struct {
	DeployedAt string `json:"deployed_at" format:"date-time" doc:"ISO 8601 in UTC."`
	DeploymentFacts
}

// DeploymentFacts is a deployment without its time. It is exported because huma ignores unexported embedded types.
type DeploymentFacts struct {
	Fingerprint      string                              `json:"fingerprint" pattern:"^[a-f0-9]{64}$"`
	ArtifactName     string                              `json:"artifact_name"`
	EnvName          string                              `json:"env_name" doc:"The name that the environment has now, or had when it was archived."`
	SnapshotIndex    int64                               `json:"snapshot_index" doc:"The snapshot with which it began to run."`
	Artifact         resource.OrNull[DeploymentArtifact] `json:"artifact" doc:"Where the artifact comes from; null while no flow knows it."`
	IsRollback       bool                                `json:"is_rollback" doc:"Whether what it replaced first ran there later than it did, and it is no restart."`
	ReplacedArtifact resource.OrNull[ReplacedArtifact]   `json:"replaced_artifact" doc:"What ran there before of the same flow and reference name; null when nothing did."`
	DiffURL          *string                             `json:"diff_url" nullable:"true" doc:"Where the change of the code can be looked at."`
	LeadTimeSeconds  *float64                            `json:"lead_time_seconds" nullable:"true" doc:"From the commit until it ran; null when the commit's time is not known."`
	Links            map[string]server.Href              `json:"_links" doc:"self is the last deployment of the artifact there, html the snapshot, and environment the environment. Empty when that is archived."`
}

// DeploymentArtifact is the origin of a deployed artifact.
type DeploymentArtifact struct {
	FlowName              string                                  `json:"flow_name"`
	TrailName             string                                  `json:"trail_name"`
	TemplateReferenceName string                                  `json:"template_reference_name"`
	GitCommit             *string                                 `json:"git_commit" nullable:"true"`
	GitCommitInfo         resource.OrNull[resource.GitCommitInfo] `json:"git_commit_info"`
	RepoInfo              resource.OrNull[BuildRepoInfo]          `json:"repo_info"`
}

// ReplacedArtifact is the artifact that a deployment replaced.
type ReplacedArtifact struct {
	Fingerprint   string                              `json:"fingerprint" pattern:"^[a-f0-9]{64}$"`
	ArtifactName  string                              `json:"artifact_name"`
	SnapshotIndex int64                               `json:"snapshot_index" doc:"The snapshot with which it had begun to run."`
	Artifact      resource.OrNull[DeploymentArtifact] `json:"artifact"`
}

// BuildRepoInfo is the repository of a build or of a deployment (docs/semantics.md 14.1).
type BuildRepoInfo struct {
	Name   string `json:"name"`
	RepoID string `json:"repo_id" doc:"At the provider; empty when unknown."`
}

func (d *Deployment) withISOTime() EnvironmentDeployment {
	return EnvironmentDeployment{DeployedAt: evidence.ZeroIfNil(resource.ISOTime(d.DeployedAt)), DeploymentFacts: d.DeploymentFacts}
}

// deploymentSources has the documents that deployments refer to, by id.
type deploymentSources struct {
	environments map[string]evidence.Environment
	flows        map[string]evidence.Flow
	repos        map[string]evidence.Repo
}

// showDeployments shows deployments: three commands for the documents that they refer to, and one for the times when
// their artifacts first ran.
func (h *handlers) showDeployments(ctx context.Context, deployments []snapshot.Deployment) ([]Deployment, error) {
	org := server.Access(ctx)
	var environments []string
	var origins []evidence.Origin
	for i := range deployments {
		environments = append(environments, deployments[i].Environment)
		if origin := deployments[i].Origin; origin != nil {
			origins = append(origins, origin.Origin)
			if origin.Previous != nil {
				origins = append(origins, origin.Previous.Origin)
			}
		}
	}
	var sources deploymentSources
	var err error
	if sources.environments, err = h.Environments.Names(ctx, org.OrgID, resource.SortUnique(environments)); err != nil {
		return nil, err
	}
	if sources.flows, sources.repos, err = resource.FlowsAndRepos(ctx, h.Base, origins, sourcesOf); err != nil {
		return nil, err
	}
	kinds, err := h.FirstSeen.Kinds(ctx, deployments)
	if err != nil {
		return nil, err
	}
	shown := resource.Map(deployments, func(d *snapshot.Deployment) Deployment {
		return Deployment{DeployedAt: d.Timestamp, DeploymentFacts: h.showDeployment(org, d, &sources)}
	})
	for i, kind := range kinds {
		shown[i].IsRollback = kind == snapshot.Rollback
	}
	return shown, nil
}

func sourcesOf(origin *evidence.Origin) (flow, repo string) { return origin.Flow, origin.Repo }

func (h *handlers) showDeployment(org evidence.OrgAccess, d *snapshot.Deployment, sources *deploymentSources) DeploymentFacts {
	environment := sources.environments[d.Environment]
	facts := DeploymentFacts{
		Fingerprint: d.Fingerprint, ArtifactName: d.Name, EnvName: environment.Name, SnapshotIndex: d.Snapshot,
		LeadTimeSeconds: d.LeadTime(), Links: map[string]server.Href{},
	}
	// An archived environment has no links, because another environment may have its name.
	if !environment.Archived {
		facts.Links["self"] = server.Href{Href: h.Links.DeploymentSelf(org.OrgName, environment.Name, d.Fingerprint)}
		facts.Links["html"] = server.Href{Href: h.Links.Snapshot(org.OrgName, environment.Name, d.Snapshot)}
		facts.Links["environment"] = server.Href{Href: h.Links.EnvironmentSelf(org.OrgName, environment.Name)}
	}
	if d.Origin == nil {
		return facts
	}
	facts.DiffURL = d.Origin.CodeDiff()
	facts.Artifact.Value = sources.show(&d.Origin.Origin)
	if before := d.Replaced(); before != nil {
		facts.ReplacedArtifact.Value = &ReplacedArtifact{
			Fingerprint: before.Fingerprint, ArtifactName: before.Name, SnapshotIndex: before.Since,
			Artifact: resource.OrNull[DeploymentArtifact]{Value: sources.show(&before.Origin)},
		}
	}
	return facts
}

func (s *deploymentSources) show(origin *evidence.Origin) *DeploymentArtifact {
	return &DeploymentArtifact{
		FlowName: s.flows[origin.Flow].Name, TrailName: origin.Trail, TemplateReferenceName: origin.Slot,
		GitCommit:     resource.NilIfEmpty(origin.CommitSHA),
		GitCommitInfo: resource.OrNull[resource.GitCommitInfo]{Value: resource.NewGitCommitInfo(origin.Commit)},
		RepoInfo:      resource.OrNull[BuildRepoInfo]{Value: showBuildRepo(s.repos, origin.Repo)},
	}
}

func showBuildRepo(repos map[string]evidence.Repo, id string) *BuildRepoInfo {
	repo, ok := repos[id]
	if !ok {
		return nil
	}
	return &BuildRepoInfo{Name: repo.Name, RepoID: repo.ExternalID}
}
