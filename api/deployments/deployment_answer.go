package deployments

import (
	"context"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// Deployment is an artifact that newly ran in an environment
// (docs/semantics.md 14.1).
type Deployment struct {
	DeployedAt float64 `json:"deployed_at" doc:"Unix seconds."`
	DeploymentFacts
}

// EnvironmentDeployment is a Deployment as lists of one environment show it.
type EnvironmentDeployment struct {
	DeployedAt string `json:"deployed_at" format:"date-time" doc:"ISO 8601 in UTC."`
	DeploymentFacts
}

// DeploymentFacts is what is shown of a deployment beside its time. It is exported
// because huma passes over embedded types that are not.
type DeploymentFacts struct {
	Fingerprint      string                              `json:"fingerprint" pattern:"^[a-f0-9]{64}$"`
	ArtifactName     string                              `json:"artifact_name"`
	EnvName          string                              `json:"env_name" doc:"The name that the environment has now, or had when it was archived."`
	SnapshotIndex    int64                               `json:"snapshot_index" doc:"The snapshot with which it began to run."`
	Artifact         resource.OrNull[DeploymentArtifact] `json:"artifact" doc:"Where the artifact comes from; null while no flow knows it."`
	ReplacedArtifact resource.OrNull[ReplacedArtifact]   `json:"replaced_artifact" doc:"What ran there before of the same flow and reference name; null when nothing did."`
	DiffURL          *string                             `json:"diff_url" nullable:"true" doc:"Where the change of the code can be looked at."`
	LeadTimeSeconds  *float64                            `json:"lead_time_seconds" nullable:"true" doc:"From the commit until it ran; null when the commit's time is not known."`
	Links            map[string]server.Href              `json:"_links" doc:"self is the last deployment of the artifact there, html the snapshot, and environment the environment. Empty when that is archived."`
}

// DeploymentArtifact is where a deployed artifact comes from.
type DeploymentArtifact struct {
	FlowName              string                                  `json:"flow_name"`
	TrailName             string                                  `json:"trail_name"`
	TemplateReferenceName string                                  `json:"template_reference_name"`
	GitCommit             *string                                 `json:"git_commit" nullable:"true"`
	GitCommitInfo         resource.OrNull[resource.GitCommitInfo] `json:"git_commit_info"`
	RepoInfo              resource.OrNull[BuildRepoInfo]          `json:"repo_info"`
}

// ReplacedArtifact is what a deployment took the place of.
type ReplacedArtifact struct {
	Fingerprint   string                              `json:"fingerprint" pattern:"^[a-f0-9]{64}$"`
	ArtifactName  string                              `json:"artifact_name"`
	SnapshotIndex int64                               `json:"snapshot_index" doc:"The snapshot with which it had begun to run."`
	Artifact      resource.OrNull[DeploymentArtifact] `json:"artifact"`
}

// BuildRepoInfo is the repository of a build or of a deployment
// (docs/semantics.md 14.1).
type BuildRepoInfo struct {
	Name   string `json:"name"`
	RepoID string `json:"repo_id" doc:"At the provider; empty when unknown."`
}

// renderedDeployment is a deployment whose time is still to be written.
type renderedDeployment struct {
	at    float64
	facts DeploymentFacts
}

func (d *renderedDeployment) inSeconds() Deployment {
	return Deployment{DeployedAt: d.at, DeploymentFacts: d.facts}
}

func (d *renderedDeployment) inISO() EnvironmentDeployment {
	return EnvironmentDeployment{DeployedAt: resource.ZeroIfNil(resource.ISOTime(d.at)), DeploymentFacts: d.facts}
}

// deploymentSources is what deployments refer to, by id.
type deploymentSources struct {
	environments map[string]evidence.Environment
	flows        map[string]evidence.Flow
	repos        map[string]evidence.Repo
}

// showDeployments describes deployments: three commands, for the names of what they
// refer to.
func (h *handlers) showDeployments(ctx context.Context, org evidence.OrgAccess, deployments []snapshot.Deployment) ([]renderedDeployment, error) {
	var environments []string
	var origins []*evidence.Origin
	for i := range deployments {
		environments = append(environments, deployments[i].Environment)
		if origin := deployments[i].Origin; origin != nil {
			origins = append(origins, &origin.Origin)
			if origin.Previous != nil {
				origins = append(origins, &origin.Previous.Origin)
			}
		}
	}
	var sources deploymentSources
	var err error
	if sources.environments, err = h.Environments.Names(ctx, org.OrgID, resource.SortUnique(environments)); err != nil {
		return nil, err
	}
	if sources.flows, sources.repos, err = h.sourcesOf(ctx, org, origins); err != nil {
		return nil, err
	}
	shown := make([]renderedDeployment, 0, len(deployments))
	for i := range deployments {
		shown = append(shown, renderedDeployment{
			at: deployments[i].Timestamp, facts: h.showDeployment(org, &deployments[i], &sources),
		})
	}
	return shown, nil
}

// sourcesOf finds the flows and repositories of origins by id: two commands.
func (h *handlers) sourcesOf(ctx context.Context, org evidence.OrgAccess, origins []*evidence.Origin) (map[string]evidence.Flow, map[string]evidence.Repo, error) {
	var flowIDs, repoIDs []string
	for _, origin := range origins {
		flowIDs = append(flowIDs, origin.Flow)
		if origin.Repo != "" {
			repoIDs = append(repoIDs, origin.Repo)
		}
	}
	flows, err := h.Flows.Names(ctx, org.OrgID, resource.SortUnique(flowIDs))
	if err != nil {
		return nil, nil, err
	}
	repos, err := h.Repos.GetMany(ctx, org.OrgID, resource.SortUnique(repoIDs))
	return flows, repos, err
}

func (h *handlers) showDeployment(org evidence.OrgAccess, d *snapshot.Deployment, sources *deploymentSources) DeploymentFacts {
	environment := sources.environments[d.Environment]
	facts := DeploymentFacts{
		Fingerprint: d.Fingerprint, ArtifactName: d.Name, EnvName: environment.Name, SnapshotIndex: d.Snapshot,
		LeadTimeSeconds: d.LeadTime(), Links: map[string]server.Href{},
	}
	// Another environment may have the name of an archived one.
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
	if before := d.Origin.Previous; before != nil {
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
