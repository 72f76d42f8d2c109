package server

import (
	"slices"

	"attestry/evidence/snapshot"
)

// GetSnapshotResponse is a snapshot as answers show it (contract/live-shapes.md
// 1).
type GetSnapshotResponse struct {
	Index                   int64              `json:"index"`
	IsLatest                bool               `json:"is_latest"`
	NextSnapshotTimestamp   *float64           `json:"next_snapshot_timestamp" nullable:"true"`
	ArtifactComplianceCount snapshot.Counts    `json:"artifact_compliance_count"`
	Timestamp               float64            `json:"timestamp"`
	Type                    string             `json:"type"`
	Compliant               bool               `json:"compliant"`
	HTMLURL                 string             `json:"html_url"`
	Artifacts               []SnapshotArtifact `json:"artifacts"`
	AppliedPolicies         []map[string]any   `json:"applied_policies"`
}

// SnapshotArtifact is an artifact of a snapshot. What flows tell of it is null or
// empty while no flow knows its fingerprint.
type SnapshotArtifact struct {
	Name                   string                 `json:"name"`
	Compliant              *bool                  `json:"compliant" nullable:"true"`
	Deployments            []int64                `json:"deployments"`
	PolicyDecisions        []map[string]any       `json:"policy_decisions"`
	ReasonsForIncompliance []map[string]any       `json:"reasons_for_incompliance"`
	Fingerprint            string                 `json:"fingerprint"`
	CreationTimestamp      []int64                `json:"creationTimestamp"`
	Pods                   map[string]SnapshotPod `json:"pods" nullable:"true"`
	Annotation             SnapshotAnnotation     `json:"annotation"`
	FlowName               *string                `json:"flow_name" nullable:"true"`
	GitCommit              *string                `json:"git_commit" nullable:"true"`
	CommitURL              *string                `json:"commit_url" nullable:"true"`
	HTMLURL                *string                `json:"html_url" nullable:"true"`
	FlowHTMLURL            *string                `json:"flow_html_url" nullable:"true"`
	DeploymentDiff         map[string]any         `json:"deployment_diff" nullable:"true"`
	CommitLeadTime         *float64               `json:"commit_lead_time" nullable:"true"`
	Flows                  []map[string]any       `json:"flows"`
	ECSContext             map[string]any         `json:"ecs_context" nullable:"true"`
}

// SnapshotAnnotation says how an artifact stands to the snapshot before.
type SnapshotAnnotation struct {
	Type string `json:"type" enum:"started-compliant,started-non-compliant,started-unknown,became-compliant,became-non-compliant,changed,unchanged,exited"`
	Was  int    `json:"was" doc:"Instances before."`
	Now  int    `json:"now" doc:"Instances now."`
}

// SnapshotPod is a pod that an artifact runs in.
type SnapshotPod struct {
	Namespace         string           `json:"namespace"`
	CreationTimestamp int64            `json:"creationTimestamp"`
	Owners            []snapshot.Owner `json:"owners"`
}

// shownArtifact is an artifact beside what orders it.
type shownArtifact struct {
	artifact snapshot.Artifact
	change   snapshot.Change
}

// showSnapshot describes a snapshot: what changed first, then what runs on, what
// exited last. It is taken for the latest one.
func showSnapshot(s *snapshot.Snapshot, artifacts []snapshot.Artifact, changes []snapshot.Change) GetSnapshotResponse {
	shown := annotate(artifacts, changes)
	slices.SortFunc(shown, func(a, b shownArtifact) int { return snapshot.ByAppearance(a.change, b.change) })
	answer := GetSnapshotResponse{
		Index:                   s.Number,
		IsLatest:                true,
		ArtifactComplianceCount: s.Counts,
		Timestamp:               s.Timestamp,
		Type:                    string(s.Type),
		Compliant:               s.Compliant,
		Artifacts:               make([]SnapshotArtifact, 0, len(shown)),
		AppliedPolicies:         []map[string]any{},
	}
	for _, one := range shown {
		answer.Artifacts = append(answer.Artifacts, showArtifact(one))
	}
	return answer
}

// annotate pairs what runs, and what has exited, with what happened to it.
func annotate(artifacts []snapshot.Artifact, changes []snapshot.Change) []shownArtifact {
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

func showArtifact(one shownArtifact) SnapshotArtifact {
	return SnapshotArtifact{
		Name:                   one.artifact.Name,
		Compliant:              one.artifact.Compliant,
		Deployments:            []int64{},
		PolicyDecisions:        []map[string]any{},
		ReasonsForIncompliance: []map[string]any{},
		Fingerprint:            one.artifact.Fingerprint,
		CreationTimestamp:      one.artifact.CreatedAt,
		Pods:                   showPods(one.artifact.Pods),
		Annotation: SnapshotAnnotation{
			Type: string(one.change.Type),
			Was:  one.change.Was,
			Now:  one.change.Now,
		},
		Flows: []map[string]any{},
	}
}

func showPods(pods map[string]snapshot.Pod) map[string]SnapshotPod {
	if pods == nil {
		return nil
	}
	shown := make(map[string]SnapshotPod, len(pods))
	for name, pod := range pods {
		shown[name] = SnapshotPod{Namespace: pod.Namespace, CreationTimestamp: pod.CreatedAt, Owners: pod.Owners}
	}
	return shown
}
