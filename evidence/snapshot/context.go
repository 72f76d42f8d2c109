package snapshot

import "attestry/evidence"

// Context is what certain types of environments tell of an instance beyond what it runs and since when: one member is
// set, that of the environment's type (docs/semantics.md 10.1).
type Context struct {
	ECS      *ECSContext      `json:"ecs,omitempty"`
	Azure    *AzureContext    `json:"azure,omitempty"`
	CloudRun *CloudRunContext `json:"cloud_run,omitempty"`
}

// ECSContext is the task that an instance is part of.
type ECSContext struct {
	TaskARN     string  `json:"task_arn"`
	ClusterName *string `json:"cluster_name" nullable:"true"`
	ServiceName *string `json:"service_name" nullable:"true"`
}

// AzureContext is the app that an instance is, and where its digest is from.
type AzureContext struct {
	AppName       string `json:"app_name"`
	AppKind       string `json:"app_kind"`
	DigestsSource string `json:"digests_source" enum:"acr,logs,kosli-cli" doc:"Where the fingerprint was learned."`
}

// CloudRunContext is the service's revision, or the job, that an instance is of.
type CloudRunContext struct {
	Kind         string  `json:"kind" enum:"service,job"`
	ServiceName  *string `json:"service_name" nullable:"true"`
	RevisionName *string `json:"revision_name" nullable:"true"`
	JobName      *string `json:"job_name" nullable:"true"`
}

// members lists the texts of a context, always in the same order.
func (c *Context) members() []string {
	if c == nil {
		return nil
	}
	var members []string
	if e := c.ECS; e != nil {
		members = append(members, e.TaskARN, evidence.Text(e.ClusterName), evidence.Text(e.ServiceName))
	}
	if a := c.Azure; a != nil {
		members = append(members, a.AppName, a.AppKind, a.DigestsSource)
	}
	if r := c.CloudRun; r != nil {
		members = append(members, r.Kind, evidence.Text(r.ServiceName), evidence.Text(r.RevisionName), evidence.Text(r.JobName))
	}
	return members
}

// size is the most that the context takes up in JSON, in bytes.
func (c *Context) size() int {
	if c == nil {
		return 0
	}
	return contextFrame + textSize(c.members()...)
}
