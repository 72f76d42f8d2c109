package snapshots

import (
	"context"
	"reflect"
	"slices"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// GetSnapshotResponse is a snapshot as answers show it
// (docs/semantics.md 11.2).
type GetSnapshotResponse struct {
	Index                   int64                             `json:"index"`
	IsLatest                bool                              `json:"is_latest"`
	NextSnapshotTimestamp   *float64                          `json:"next_snapshot_timestamp" nullable:"true"`
	ArtifactComplianceCount snapshot.Counts                   `json:"artifact_compliance_count"`
	Timestamp               float64                           `json:"timestamp"`
	Type                    string                            `json:"type"`
	Compliant               bool                              `json:"compliant"`
	HTMLURL                 string                            `json:"html_url"`
	Artifacts               jsonstream.List[SnapshotArtifact] `json:"artifacts"`
	AppliedPolicies         []AppliedPolicy                   `json:"applied_policies"`
}

// SnapshotArtifact is an artifact of a snapshot. The members about its flow repeat those of the first of Flows, and
// are null if the fingerprint was reported to no flow.
type SnapshotArtifact struct {
	Name                   string                          `json:"name"`
	Compliant              *bool                           `json:"compliant" nullable:"true"`
	Deployments            []int64                         `json:"deployments"`
	PolicyDecisions        []resource.PolicyEvaluation     `json:"policy_decisions"`
	ReasonsForIncompliance []resource.RuleResolution       `json:"reasons_for_incompliance"`
	Explanation            []resource.Explanation          `json:"explanation,omitempty" doc:"Why the artifact is not compliant; with explain=true."`
	ReasonsLeftOut         int                             `json:"reasons_left_out,omitempty" doc:"How many reasons are not shown, as there are too many."`
	ExplanationLeftOut     int                             `json:"explanation_left_out,omitempty" doc:"How many sentences are not shown, as there are too many."`
	Fingerprint            string                          `json:"fingerprint"`
	CreationTimestamp      []int64                         `json:"creationTimestamp"`
	Pods                   map[string]SnapshotPod          `json:"pods" nullable:"true"`
	Annotation             SnapshotAnnotation              `json:"annotation"`
	FlowName               *string                         `json:"flow_name" nullable:"true"`
	GitCommit              *string                         `json:"git_commit" nullable:"true"`
	CommitURL              *string                         `json:"commit_url" nullable:"true"`
	HTMLURL                *string                         `json:"html_url" nullable:"true"`
	FlowHTMLURL            *string                         `json:"flow_html_url" nullable:"true"`
	DeploymentDiff         resource.OrNull[DeploymentDiff] `json:"deployment_diff"`
	CommitLeadTime         *float64                        `json:"commit_lead_time" nullable:"true"`
	Flows                  []SnapshotArtifactFlow          `json:"flows"`
	ArtifactContext
}

// SnapshotAnnotation says what changed of an artifact since the snapshot before.
type SnapshotAnnotation struct {
	Type string `json:"type" enum:"started-compliant,started-non-compliant,started-unknown,became-compliant,became-non-compliant,updated-provenance,changed,unchanged,exited"`
	Was  int    `json:"was" doc:"Instances before."`
	Now  int    `json:"now" doc:"Instances now."`
}

// SnapshotPod is a pod that an artifact runs in.
type SnapshotPod struct {
	Namespace string           `json:"namespace"`
	CreatedAt int64            `json:"creationTimestamp"`
	Owners    []snapshot.Owner `json:"owners"`
}

// shownArtifact is an artifact beside what orders it.
type shownArtifact struct {
	artifact snapshot.Artifact
	change   snapshot.Change
}

// showSnapshot describes a snapshot: what changed first, then what runs on, what
// exited last. The names of flows are those of now: one command.
func (h *handlers) showSnapshot(ctx context.Context, org evidence.OrgAccess, environment evidence.Environment, s *loadedSnapshot, explain bool) (GetSnapshotResponse, error) {
	// What the artifacts hold is charged where it is read, or shared with the cache.
	if err := server.RequestOf(ctx).Memory.Take(int64(len(s.Artifacts)) * int64(reflect.TypeFor[shownArtifact]().Size())); err != nil {
		return GetSnapshotResponse{}, err
	}
	shown := annotateArtifacts(s.Artifacts, s.Changes)
	slices.SortFunc(shown, func(a, b shownArtifact) int { return snapshot.ByAppearance(a.change, b.change) })
	origins, err := h.loadOrigins(ctx, org, shown)
	if err != nil {
		return GetSnapshotResponse{}, err
	}
	if origins.policies, err = h.loadPolicies(ctx, org, s, explain); err != nil {
		return GetSnapshotResponse{}, err
	}
	return GetSnapshotResponse{
		Index:                   s.Number,
		IsLatest:                s.Next == nil,
		NextSnapshotTimestamp:   s.Next,
		ArtifactComplianceCount: s.Counts,
		Timestamp:               s.Timestamp,
		Type:                    string(s.Type),
		Compliant:               s.Compliant(),
		HTMLURL:                 h.Links.Snapshot(org.OrgName, environment.Name, s.Number),
		Artifacts:               jsonstream.Show(shown, origins.showArtifact),
		AppliedPolicies:         origins.policies.showApplied(s.Artifacts),
	}, nil
}

// annotateArtifacts pairs what runs, and what has exited, with what happened to it.
func annotateArtifacts(artifacts []snapshot.Artifact, changes []snapshot.Change) []shownArtifact {
	byFingerprint := make(map[string]snapshot.Change, len(changes))
	shown := make([]shownArtifact, 0, len(artifacts)+len(changes))
	for _, change := range changes {
		byFingerprint[change.Fingerprint] = change
		if change.Former != nil {
			shown = append(shown, shownArtifact{artifact: *change.Former, change: change})
		}
	}
	for _, artifact := range artifacts {
		change, ok := byFingerprint[artifact.Fingerprint]
		if !ok {
			change = snapshot.RunsOn(artifact)
		}
		shown = append(shown, shownArtifact{artifact: artifact, change: change})
	}
	return shown
}

func (o *snapshotOrigins) showArtifact(one *shownArtifact) SnapshotArtifact {
	shown := SnapshotArtifact{
		Name:                   one.artifact.Name,
		Compliant:              one.artifact.Compliant,
		Deployments:            []int64{},
		PolicyDecisions:        []resource.PolicyEvaluation{},
		ReasonsForIncompliance: []resource.RuleResolution{},
		Fingerprint:            one.artifact.Fingerprint,
		CreationTimestamp:      one.artifact.CreatedAt,
		Pods:                   showPods(one.artifact.Pods),
		Annotation:             SnapshotAnnotation{Type: string(one.change.Type), Was: one.change.Was, Now: one.change.Now},
		Flows:                  o.showFlows(&one.artifact),
		ArtifactContext:        showContext(&one.artifact),
	}
	o.policies.show(&shown, one)
	if len(shown.Flows) > 0 {
		shown.copyFirstFlow(&shown.Flows[0])
	}
	return shown
}

// copyFirstFlow repeats the members of the first flow, which built the artifact.
func (a *SnapshotArtifact) copyFirstFlow(first *SnapshotArtifactFlow) {
	a.FlowName, a.GitCommit, a.CommitURL = &first.FlowName, &first.GitCommit, first.CommitURL
	a.HTMLURL, a.FlowHTMLURL = &first.HTMLURL, &first.FlowHTMLURL
	a.DeploymentDiff, a.CommitLeadTime = first.DeploymentDiff, first.CommitLeadTime
}

func showPods(pods map[string]snapshot.Pod) map[string]SnapshotPod {
	if pods == nil {
		return nil
	}
	shown := make(map[string]SnapshotPod, len(pods))
	for name, pod := range pods {
		shown[name] = SnapshotPod(pod)
	}
	return shown
}

// ArtifactContext is what reports of one type of environment say about an artifact's
// youngest instance (docs/semantics.md 10.2). At most one member is set.
type ArtifactContext struct {
	// ECS is shown everywhere, null elsewhere than in ECS environments
	// (docs/semantics.md 10.2).
	ECS resource.OrNull[ECSContext] `json:"ecs_context"`
	// The contract has no names for the other contexts; they are shown where they
	// apply.
	AzureApps *AzureAppsContext `json:"azure_apps_context,omitempty"`
	CloudRun  *CloudRunContext  `json:"cloud_run_context,omitempty"`
}

// ECSContext is the task that an artifact runs in.
type ECSContext struct {
	TaskARN     string  `json:"task_arn"`
	ClusterName *string `json:"cluster_name" nullable:"true"`
	ServiceName *string `json:"service_name" nullable:"true"`
}

// AzureAppsContext is the app that an artifact runs as.
type AzureAppsContext struct {
	AppName       string `json:"app_name"`
	AppKind       string `json:"app_kind"`
	DigestsSource string `json:"digests_source" enum:"acr,logs,kosli-cli" doc:"Where the fingerprint was learned."`
}

// CloudRunContext is the revision of a service, or the job, that an artifact runs
// as.
type CloudRunContext struct {
	Kind         string  `json:"kind" enum:"service,job"`
	ServiceName  *string `json:"service_name" nullable:"true"`
	RevisionName *string `json:"revision_name" nullable:"true"`
	JobName      *string `json:"job_name" nullable:"true"`
}

// showContext describes what is kept of an artifact's context.
func showContext(a *snapshot.Artifact) ArtifactContext {
	if a.Context == nil {
		return ArtifactContext{}
	}
	return ArtifactContext{
		ECS:       resource.OrNull[ECSContext]{Value: (*ECSContext)(a.Context.ECS)},
		AzureApps: (*AzureAppsContext)(a.Context.Azure), CloudRun: (*CloudRunContext)(a.Context.CloudRun),
	}
}
