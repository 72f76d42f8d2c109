package snapshots

import (
	"context"
	"reflect"
	"slices"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/evidence/snapshot"
	"attestry/links"
)

// GetSnapshotResponse is a snapshot in answers (docs/semantics.md 11.2).
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

// SnapshotArtifact is an artifact of a snapshot. The members about its flow repeat the first of Flows, and are null if
// no flow has reported the fingerprint.
type SnapshotArtifact struct {
	Name                   string                          `json:"name"`
	Compliant              *bool                           `json:"compliant" nullable:"true"`
	Deployments            []int64                         `json:"deployments"`
	PolicyDecisions        []resource.PolicyEvaluation     `json:"policy_decisions"`
	ReasonsForIncompliance []resource.RuleResolution       `json:"reasons_for_incompliance"`
	Explanation            []resource.Explanation          `json:"explanation,omitempty" doc:"Why the artifact is not compliant, or who allowed it; with explain=true."`
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

// SnapshotAnnotation is the change of an artifact since the previous snapshot.
type SnapshotAnnotation struct {
	Type string `json:"type" enum:"started-compliant,started-non-compliant,started-unknown,became-compliant,became-non-compliant,updated-provenance,changed,unchanged,exited"`
	Was  int    `json:"was" doc:"Instances before."`
	Now  int    `json:"now" doc:"Instances now."`
	By   string `json:"by,omitempty" doc:"What changed the verdict of an artifact that runs on." enum:"allow_list,policies,evidence"`
}

// SnapshotPod is a pod that an artifact runs in.
type SnapshotPod snapshot.Pod

// shownArtifact is an artifact with its change. The answer is sorted by the change.
type shownArtifact struct {
	artifact snapshot.Artifact
	change   snapshot.Change
}

// showSnapshot shows a snapshot: first the changed artifacts, then the unchanged ones, then those that exited. It has
// the current names of flows: one command.
func (h *handlers) showSnapshot(ctx context.Context, environment evidence.Environment, s *loadedSnapshot, explain bool) (GetSnapshotResponse, error) {
	// The artifacts themselves were accounted when they were read, or are shared with the cache.
	if err := server.RequestOf(ctx).Memory.Take(int64(len(s.Artifacts)) * int64(reflect.TypeFor[shownArtifact]().Size())); err != nil {
		return GetSnapshotResponse{}, err
	}
	shown := annotateArtifacts(s.Artifacts, s.Changes)
	slices.SortFunc(shown, func(a, b shownArtifact) int { return snapshot.ByAppearance(a.change, b.change) })
	view := &snapshotView{
		links: h.Links, org: server.Access(ctx), environment: environment.Name, at: s.Timestamp, explain: explain, reasons: resource.NewReasons(maxReasons),
	}
	if err := h.loadFlows(ctx, view, shown); err != nil {
		return GetSnapshotResponse{}, err
	}
	if err := h.loadPolicies(ctx, view, s); err != nil {
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
		HTMLURL:                 h.Links.Snapshot(view.org.OrgName, environment.Name, s.Number),
		Artifacts:               jsonstream.Show(shown, view.showArtifact),
		AppliedPolicies:         view.showApplied(s.Artifacts),
	}, nil
}

// annotateArtifacts returns the running and the exited artifacts with their changes.
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

func (v *snapshotView) showArtifact(one *shownArtifact) SnapshotArtifact {
	shown := SnapshotArtifact{
		Name:                   one.artifact.Name,
		Compliant:              one.artifact.Compliant,
		Deployments:            []int64{},
		PolicyDecisions:        []resource.PolicyEvaluation{},
		ReasonsForIncompliance: []resource.RuleResolution{},
		Fingerprint:            one.artifact.Fingerprint,
		CreationTimestamp:      one.artifact.CreatedAt,
		Pods:                   resource.MapValues(one.artifact.Pods, func(pod snapshot.Pod) SnapshotPod { return SnapshotPod(pod) }),
		Annotation:             SnapshotAnnotation{Type: string(one.change.Type), Was: one.change.Was, Now: one.change.Now, By: string(one.change.By)},
		ArtifactContext:        showContext(&one.artifact),
		Flows: resource.Map(one.artifact.Origins, func(origin *snapshot.Origin) SnapshotArtifactFlow {
			return v.showFlow(&one.artifact, origin)
		}),
	}
	v.showDecisions(&shown, one)
	if len(shown.Flows) > 0 {
		first := &shown.Flows[0] // the flow that built the artifact
		shown.FlowName, shown.GitCommit, shown.CommitURL = &first.FlowName, &first.GitCommit, first.CommitURL
		shown.HTMLURL, shown.FlowHTMLURL = &first.HTMLURL, &first.FlowHTMLURL
		shown.DeploymentDiff, shown.CommitLeadTime = first.DeploymentDiff, first.CommitLeadTime
	}
	return shown
}

// ArtifactContext has the data about an artifact's youngest instance that only reports of one type have
// (docs/semantics.md 10.2). At most one member is set.
type ArtifactContext struct {
	// ECS is null in other environments (docs/semantics.md 10.2).
	ECS resource.OrNull[ECSContext] `json:"ecs_context"`
	// The contract has no names for the other contexts. They are left out in other environments.
	AzureApps *AzureAppsContext `json:"azure_apps_context,omitempty"`
	CloudRun  *CloudRunContext  `json:"cloud_run_context,omitempty"`
}

// ECSContext is the task that an artifact runs in.
type ECSContext snapshot.ECSContext

// AzureAppsContext is the app that an artifact runs as.
type AzureAppsContext snapshot.AzureContext

// CloudRunContext is the revision of a service, or the job, that an artifact runs as.
type CloudRunContext snapshot.CloudRunContext

func showContext(a *snapshot.Artifact) ArtifactContext {
	if a.Context == nil {
		return ArtifactContext{}
	}
	return ArtifactContext{
		ECS:       resource.OrNull[ECSContext]{Value: (*ECSContext)(a.Context.ECS)},
		AzureApps: (*AzureAppsContext)(a.Context.Azure), CloudRun: (*CloudRunContext)(a.Context.CloudRun),
	}
}

// SnapshotArtifactFlow is the newest record of a snapshot's artifact in a flow (docs/semantics.md 11.3).
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

// DeploymentDiff compares an artifact with the one that ran here before with the same flow and template reference name.
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

// snapshotView has the data to show the artifacts of a snapshot.
type snapshotView struct {
	links       links.Links
	org         evidence.OrgAccess
	environment string                   // name
	flows       map[string]evidence.Flow // by id
	running     map[string]bool          // by fingerprint
	applied     []resource.PolicyView
	// explain adds explanations of artifacts that are not compliant or on the allow list.
	explain bool
	allowed map[string]evidence.Allowance // by fingerprint
	at      float64                       // when the snapshot was made, in Unix seconds
	// reasons bounds the reasons of all artifacts.
	reasons *resource.Reasons
}

// loadFlows reads the flows of artifacts, and sets which artifacts run.
func (h *handlers) loadFlows(ctx context.Context, view *snapshotView, shown []shownArtifact) (err error) {
	view.running = make(map[string]bool, len(shown))
	var flows []string
	for i := range shown {
		one := &shown[i]
		view.running[one.artifact.Fingerprint] = one.change.Type != snapshot.Exited
		for j := range one.artifact.Origins {
			flows = append(flows, one.artifact.Origins[j].Flow)
		}
	}
	view.flows, err = h.Flows.Names(ctx, view.org.OrgID, resource.SortUnique(flows))
	return err
}

func (v *snapshotView) showFlow(artifact *snapshot.Artifact, origin *snapshot.Origin) SnapshotArtifactFlow {
	flow := v.flows[origin.Flow].Name
	return SnapshotArtifactFlow{
		FlowName:                    flow,
		TrailName:                   origin.Trail,
		TemplateReferenceName:       origin.Slot,
		GitCommit:                   evidence.ShownSHA(origin.CommitSHA),
		CommitURL:                   resource.NilIfEmpty(origin.CommitURL),
		GitCommitInfo:               resource.OrNull[resource.GitCommitInfo]{Value: resource.NewGitCommitInfo(origin.Commit)},
		HTMLURL:                     v.links.Artifact(v.org.OrgName, flow, artifact.Fingerprint, origin.Record),
		FlowHTMLURL:                 v.links.Flow(v.org.OrgName, flow),
		DeploymentDiff:              resource.OrNull[DeploymentDiff]{Value: v.showDiff(origin)},
		CommitLeadTime:              origin.LeadTime(artifact.FirstAt),
		ArtifactComplianceInFlow:    origin.Status == evidence.Compliant,
		FlowReasonsForNonCompliance: []resource.RuleResolution{},
	}
}

func (v *snapshotView) showDiff(origin *snapshot.Origin) *DeploymentDiff {
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
		PreviousRunning:                 v.running[previous.Fingerprint],
		PreviousGitCommitURL:            resource.NilIfEmpty(previous.Origin.CommitURL),
		PreviousTrailName:               previous.Origin.Trail,
		PreviousTemplateReferenceName:   previous.Origin.Slot,
	}
}

// AppliedPolicy is a policy that a snapshot was evaluated by (docs/semantics.md 11.3).
type AppliedPolicy struct {
	ID               string                           `json:"id"`
	Name             string                           `json:"name"`
	Version          int                              `json:"version"`
	PolicyDump       map[string]any                   `json:"policy_dump"`
	FailingArtifacts jsonstream.List[FailingArtifact] `json:"failing_artifacts"`
}

// FailingArtifact is an artifact that a policy finds not compliant.
type FailingArtifact struct {
	Fingerprint string `json:"fingerprint"`
	Name        string `json:"name"`
}

// loadPolicies reads the versions of policies that a snapshot was evaluated by, and the allowances of its artifacts.
func (h *handlers) loadPolicies(ctx context.Context, view *snapshotView, s *loadedSnapshot) error {
	applied, err := h.Policies.Applied(ctx, view.org.OrgID, s.Policies)
	if err != nil {
		return err
	}
	view.applied = resource.NewPolicyViews(applied)
	var allowed [][]string
	for i := range s.Artifacts {
		if one := &s.Artifacts[i]; view.explain && one.Allowed {
			origins := resource.Map(one.Origins, func(origin *snapshot.Origin) evidence.Origin { return origin.Origin })
			allowed = append(allowed, evidence.Fingerprints(one.Fingerprint, origins))
		}
	}
	// The snapshot says that they were in force, also one that ended shortly before (docs/semantics.md 9.5).
	view.allowed, err = h.Allowlist.Of(ctx, s.Environment, allowed, func(*evidence.Allowance) bool { return true })
	return err
}

// showApplied shows the policies with the running artifacts that fail them.
func (v *snapshotView) showApplied(artifacts []snapshot.Artifact) []AppliedPolicy {
	shown := make([]AppliedPolicy, 0, len(v.applied))
	for i, one := range v.applied {
		shown = append(shown, AppliedPolicy{
			ID: one.ID, Name: one.Name, Version: one.Version, PolicyDump: resource.PolicyDump(one.Policy), FailingArtifacts: failingArtifacts(artifacts, i),
		})
	}
	return shown
}

// maxReasons bounds the reasons in a snapshot for the verdicts on its artifacts, in bytes.
const maxReasons = 64 << 20

// artifactsPerPart is the number of artifacts that are checked for each part of the list of failing artifacts.
const artifactsPerPart = 1000

// failingArtifacts lists the artifacts that fail the policy with an index. It makes the list while the answer is sent,
// because each policy may have a long one.
func failingArtifacts(artifacts []snapshot.Artifact, number int) jsonstream.List[FailingArtifact] {
	return jsonstream.NewList(func(context.Context) ([]FailingArtifact, bool, error) {
		part := artifacts[:min(artifactsPerPart, len(artifacts))]
		artifacts = artifacts[len(part):]
		var failing []FailingArtifact
		for i := range part {
			if one := &part[i]; number < len(one.Decisions) && !one.Decisions[number].Compliant() {
				failing = append(failing, FailingArtifact{Fingerprint: one.Fingerprint, Name: one.Name})
			}
		}
		return failing, len(artifacts) > 0, nil
	})
}

// showDecisions adds the decisions of the policies to an artifact. An exited artifact gets none, because they may
// belong to other policies.
func (v *snapshotView) showDecisions(shown *SnapshotArtifact, one *shownArtifact) {
	artifact := &one.artifact
	if one.change.Type == snapshot.Exited || len(artifact.Decisions) != len(v.applied) {
		return
	}
	facts := artifact.Facts(resource.Map(shown.Flows, func(flow *SnapshotArtifactFlow) string { return flow.FlowName }))
	decisions, reasons, ofFlows, sentences := v.reasons.List(), v.reasons.List(), v.reasons.List(), v.reasons.List()
	if allowance, ok := v.allowed[artifact.Fingerprint]; ok && artifact.Allowed {
		shown.Explanation, shown.ExplanationLeftOut = resource.ExplainAllowance(v.links, v.org, v.environment, &allowance, v.at, sentences)
	}
	for i := range v.applied {
		applied := &v.applied[i]
		evaluation := artifact.Decisions[i].Evaluation(len(artifact.Origins))
		decision := applied.Show(evaluation, facts.Flows, decisions)
		decision.DetailsLeftOut = artifact.Decisions[i].LeftOut
		shown.PolicyDecisions = append(shown.PolicyDecisions, decision)
		if *artifact.Compliant { // it may be on the allow list
			continue
		}
		shown.ReasonsLeftOut += applied.Failing(&shown.ReasonsForIncompliance, evaluation, facts.Flows, policy.NoFlow, reasons)
		for number := range shown.Flows {
			flow := &shown.Flows[number]
			flow.FlowReasonsLeftOut += applied.Failing(&flow.FlowReasonsForNonCompliance, evaluation, facts.Flows, number, ofFlows)
		}
		if v.explain {
			explained, leftOut := resource.Explain(v.links, v.org, &applied.Applied, evaluation, &facts, true, sentences)
			shown.Explanation = append(shown.Explanation, explained...)
			shown.ExplanationLeftOut += leftOut
		}
	}
}
