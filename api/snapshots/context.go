package snapshots

import (
	"attestry/api/resource"
	"attestry/evidence/snapshot"
)

// ArtifactContext is what the type of its environment tells of an artifact's
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
	var shown ArtifactContext
	if a.Context == nil {
		return shown
	}
	if ecs := a.Context.ECS; ecs != nil {
		shown.ECS.Value = &ECSContext{TaskARN: ecs.TaskARN, ClusterName: ecs.ClusterName, ServiceName: ecs.ServiceName}
	}
	if azure := a.Context.Azure; azure != nil {
		shown.AzureApps = &AzureAppsContext{AppName: azure.AppName, AppKind: azure.AppKind, DigestsSource: azure.DigestsSource}
	}
	if run := a.Context.CloudRun; run != nil {
		shown.CloudRun = &CloudRunContext{
			Kind: run.Kind, ServiceName: run.ServiceName, RevisionName: run.RevisionName, JobName: run.JobName,
		}
	}
	return shown
}
