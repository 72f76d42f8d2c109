package environments

import (
	"cmp"

	"attestry/evidence/snapshot"
)

// ECSReport is the body of ecs_report (docs/semantics.md 10.1).
type ECSReport struct {
	Type      ReportType    `json:"type,omitempty" enum:"ECS" default:"ECS"`
	Artifacts []ECSArtifact `json:"artifacts"`
}

// ECSArtifact is one task. Its optional members have two spellings, both of which
// clients send; of an item that has both, the one with the underscore counts.
type ECSArtifact struct {
	Digests           PartialDigests `json:"digests"`
	TaskARN           string         `json:"taskArn"`
	ClusterName       *string        `json:"cluster_name,omitempty" nullable:"true"`
	ServiceName       *string        `json:"service_name,omitempty" nullable:"true"`
	ClusterNameToo    *string        `json:"clusterName,omitempty" nullable:"true" doc:"Another spelling of cluster_name."`
	ServiceNameToo    *string        `json:"serviceName,omitempty" nullable:"true" doc:"Another spelling of service_name."`
	CreationTimestamp int64          `json:"creationTimestamp" doc:"Unix seconds"`
}

// Check reports whether the report surely meets its schema.
func (r *ECSReport) Check() bool {
	if r.Artifacts == nil || !r.Type.matches("ECS") {
		return false
	}
	for _, task := range r.Artifacts {
		if task.TaskARN == "" || task.CreationTimestamp == 0 || !task.Digests.complete() {
			return false
		}
	}
	return true
}

func (r *ECSReport) instances() []snapshot.Instance {
	instances := make([]snapshot.Instance, 0, len(r.Artifacts))
	for _, task := range r.Artifacts {
		instances = append(instances, snapshot.Instance{
			Digests:   task.Digests.toMap(),
			CreatedAt: task.CreationTimestamp,
			Context: &snapshot.Context{ECS: &snapshot.ECSContext{
				TaskARN:     task.TaskARN,
				ClusterName: cmp.Or(task.ClusterName, task.ClusterNameToo),
				ServiceName: cmp.Or(task.ServiceName, task.ServiceNameToo),
			}},
		})
	}
	return instances
}
