package snapshots

import (
	"context"

	"attestry/api/resource"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/links"
)

// SnapshotArtifactFlow is the newest record of a snapshot's artifact in a flow
// (docs/semantics.md 11.3).
type SnapshotArtifactFlow struct {
	FlowName                    string                                  `json:"flow_name"`
	TrailName                   string                                  `json:"trail_name"`
	TemplateReferenceName       string                                  `json:"template_reference_name"`
	GitCommit                   string                                  `json:"git_commit" doc:"40 zeros when it is unknown or shorter than 7 characters."`
	CommitURL                   *string                                 `json:"commit_url" nullable:"true"`
	GitCommitInfo               resource.OrNull[resource.GitCommitInfo] `json:"git_commit_info"`
	HTMLURL                     string                                  `json:"html_url"`
	FlowHTMLURL                 string                                  `json:"flow_html_url"`
	DeploymentDiff              resource.OrNull[DeploymentDiff]         `json:"deployment_diff"`
	CommitLeadTime              *float64                                `json:"commit_lead_time" nullable:"true" doc:"Seconds from the commit until the artifact first ran in the environment; negative when it ran before. Null when the time of the commit is unknown."`
	ArtifactComplianceInFlow    bool                                    `json:"artifact_compliance_in_flow"`
	FlowReasonsForNonCompliance []resource.RuleResolution               `json:"flow_reasons_for_non_compliance"`
	FlowReasonsLeftOut          int                                     `json:"flow_reasons_left_out,omitempty" doc:"How many reasons are not shown, as there are too many."`
}

// DeploymentDiff compares an artifact with what ran here before from the same flow
// under the same template reference name.
type DeploymentDiff struct {
	DiffURL                         *string         `json:"diff_url" nullable:"true" doc:"Null when the provider of the repository is not known."`
	PreviousGitCommit               *string         `json:"previous_git_commit" nullable:"true"`
	PreviousFingerprint             string          `json:"previous_fingerprint"`
	PreviousArtifactName            string          `json:"previous_artifact_name"`
	PreviousArtifactComplianceState evidence.Status `json:"previous_artifact_compliance_state" enum:"MISSING,INCOMPLETE,COMPLIANT,NON-COMPLIANT"`
	PreviousRunning                 bool            `json:"previous_running" doc:"Whether it still runs by this snapshot."`
	PreviousGitCommitURL            *string         `json:"previous_git_commit_url" nullable:"true"`
	PreviousTrailName               string          `json:"previous_trail_name"`
	PreviousTemplateReferenceName   string          `json:"previous_template_reference_name"`
}

// snapshotOrigins is what showing where artifacts come from takes beside them.
type snapshotOrigins struct {
	links   links.Links
	org     string                   // name
	flows   map[string]evidence.Flow // by id
	running map[string]bool          // by fingerprint
	// policies are those that the snapshot applied.
	policies *policyDecisions
}

func (h *handlers) loadOrigins(ctx context.Context, org evidence.OrgAccess, shown []shownArtifact) (*snapshotOrigins, error) {
	origins := &snapshotOrigins{links: h.Links, org: org.OrgName, running: make(map[string]bool, len(shown))}
	var flows []string
	for i := range shown {
		one := &shown[i]
		origins.running[one.artifact.Fingerprint] = one.change.Type != snapshot.Exited
		for j := range one.artifact.Origins {
			flows = append(flows, one.artifact.Origins[j].Flow)
		}
	}
	var err error
	origins.flows, err = h.Flows.Names(ctx, org.OrgID, resource.SortUnique(flows))
	return origins, err
}

func (o *snapshotOrigins) showFlows(artifact *snapshot.Artifact) []SnapshotArtifactFlow {
	return resource.Map(artifact.Origins, func(origin *snapshot.Origin) SnapshotArtifactFlow { return o.showFlow(artifact, origin) })
}

func (o *snapshotOrigins) showFlow(artifact *snapshot.Artifact, origin *snapshot.Origin) SnapshotArtifactFlow {
	flow := o.flows[origin.Flow].Name
	return SnapshotArtifactFlow{
		FlowName:                    flow,
		TrailName:                   origin.Trail,
		TemplateReferenceName:       origin.Slot,
		GitCommit:                   evidence.ShownSHA(origin.CommitSHA),
		CommitURL:                   resource.NilIfEmpty(origin.CommitURL),
		GitCommitInfo:               resource.OrNull[resource.GitCommitInfo]{Value: resource.NewGitCommitInfo(origin.Commit)},
		HTMLURL:                     o.links.Artifact(o.org, flow, artifact.Fingerprint, origin.Record),
		FlowHTMLURL:                 o.links.Flow(o.org, flow),
		DeploymentDiff:              resource.OrNull[DeploymentDiff]{Value: o.showDiff(origin)},
		CommitLeadTime:              artifact.CommitLeadTime(&origin.Origin),
		ArtifactComplianceInFlow:    origin.Status == evidence.Compliant,
		FlowReasonsForNonCompliance: []resource.RuleResolution{},
	}
}

func (o *snapshotOrigins) showDiff(origin *snapshot.Origin) *DeploymentDiff {
	previous := origin.Previous
	if previous == nil {
		return nil
	}
	return &DeploymentDiff{
		DiffURL:                         origin.CodeDiff(),
		PreviousGitCommit:               resource.NilIfEmpty(previous.Origin.CommitSHA),
		PreviousFingerprint:             previous.Fingerprint,
		PreviousArtifactName:            previous.Name,
		PreviousArtifactComplianceState: previous.Status,
		PreviousRunning:                 o.running[previous.Fingerprint],
		PreviousGitCommitURL:            resource.NilIfEmpty(previous.Origin.CommitURL),
		PreviousTrailName:               previous.Origin.Trail,
		PreviousTemplateReferenceName:   previous.Origin.Slot,
	}
}
