package environments

import "attestry/evidence/snapshot"

// CloudRunReport is the body of cloud_run_report (docs/semantics.md 10.1).
type CloudRunReport struct {
	Type      ReportType         `json:"type,omitempty" enum:"cloud-run" default:"cloud-run"`
	Artifacts []CloudRunArtifact `json:"artifacts"`
}

// CloudRunArtifact is one revision of a service, or one execution of a job. Names
// that its kind has no use for are kept as they were sent.
type CloudRunArtifact struct {
	Digests           PartialDigests `json:"digests"`
	CreationTimestamp int64          `json:"creationTimestamp" doc:"Unix seconds"`
	Kind              string         `json:"kind" enum:"service,job"`
	ServiceName       *string        `json:"serviceName,omitempty" nullable:"true" doc:"Of a service."`
	RevisionName      *string        `json:"revisionName,omitempty" nullable:"true" doc:"Of a service."`
	JobName           *string        `json:"jobName,omitempty" nullable:"true" doc:"Of a job."`
}

// Check reports whether the report surely meets its schema.
func (r *CloudRunReport) Check() bool {
	if r.Artifacts == nil || !r.Type.matches("cloud-run") {
		return false
	}
	for _, run := range r.Artifacts {
		if run.Kind != "service" && run.Kind != "job" || run.CreationTimestamp == 0 || !run.Digests.complete() {
			return false
		}
	}
	return true
}

func (r *CloudRunReport) instances() []snapshot.Instance {
	instances := make([]snapshot.Instance, 0, len(r.Artifacts))
	for _, run := range r.Artifacts {
		instances = append(instances, snapshot.Instance{
			Digests:   run.Digests.toMap(),
			CreatedAt: run.CreationTimestamp,
			Context: &snapshot.Context{CloudRun: &snapshot.CloudRunContext{
				Kind:         run.Kind,
				ServiceName:  run.ServiceName,
				RevisionName: run.RevisionName,
				JobName:      run.JobName,
			}},
		})
	}
	return instances
}
