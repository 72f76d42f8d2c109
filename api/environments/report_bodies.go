package environments

import (
	"cmp"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"attestry/api/resource"
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

// Check is true only if the report meets its schema.
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
	return resource.Map(r.Artifacts, func(task *ECSArtifact) snapshot.Instance {
		context := &snapshot.ECSContext{
			TaskARN:     task.TaskARN,
			ClusterName: cmp.Or(task.ClusterName, task.ClusterNameToo), ServiceName: cmp.Or(task.ServiceName, task.ServiceNameToo),
		}
		return snapshot.Instance{
			Digests: plainDigests(task.Digests), CreatedAt: task.CreationTimestamp, Context: &snapshot.Context{ECS: context},
		}
	})
}

// K8SReport is the body of k8s_report (docs/semantics.md 10.1).
type K8SReport struct {
	Type      ReportType    `json:"type,omitempty" enum:"K8S" default:"K8S"`
	Artifacts []K8SArtifact `json:"artifacts"`
}

// K8SArtifact is one pod.
type K8SArtifact struct {
	PodName           string     `json:"podName"`
	Namespace         string     `json:"namespace"`
	Digests           Digests    `json:"digests"`
	CreationTimestamp int64      `json:"creationTimestamp" doc:"Unix seconds"`
	Owners            []K8SOwner `json:"owners,omitempty" nullable:"true"`
}

// K8SOwner is an owner reference of a pod; further members are accepted.
type K8SOwner struct {
	_                  struct{} `json:"-" additionalProperties:"true"`
	APIVersion         string   `json:"apiVersion"`
	Kind               string   `json:"kind"`
	Name               string   `json:"name"`
	UID                string   `json:"uid"`
	Controller         *bool    `json:"controller,omitempty" nullable:"true"`
	BlockOwnerDeletion *bool    `json:"blockOwnerDeletion,omitempty" nullable:"true"`
}

// UnmarshalJSONFrom lets unknown members pass, which the strict decoder refuses
// elsewhere.
func (o *K8SOwner) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	type owner K8SOwner
	return json.UnmarshalDecode(decoder, (*owner)(o), json.RejectUnknownMembers(false))
}

// Check is true only if the report meets its schema.
func (r *K8SReport) Check() bool {
	if r.Artifacts == nil || !r.Type.matches("K8S") {
		return false
	}
	for _, pod := range r.Artifacts {
		if pod.PodName == "" || pod.Namespace == "" || pod.CreationTimestamp == 0 || !pod.Digests.valid() {
			return false
		}
		for _, owner := range pod.Owners {
			if owner.APIVersion == "" || owner.Kind == "" || owner.Name == "" || owner.UID == "" {
				return false
			}
		}
	}
	return true
}

func (r *K8SReport) instances() []snapshot.Instance {
	return resource.Map(r.Artifacts, func(pod *K8SArtifact) snapshot.Instance {
		owners := resource.Map(pod.Owners, func(o *K8SOwner) snapshot.Owner {
			return snapshot.Owner{
				APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID,
				Controller: o.Controller, BlockOwnerDeletion: o.BlockOwnerDeletion,
			}
		})
		return snapshot.Instance{
			Digests: plainDigests(pod.Digests), CreatedAt: pod.CreationTimestamp, Pod: pod.PodName,
			PodContext: &snapshot.Pod{Namespace: pod.Namespace, CreatedAt: pod.CreationTimestamp, Owners: owners},
		}
	})
}

// AzureAppsReport is the body of azure_apps_report (docs/semantics.md 10.1).
type AzureAppsReport struct {
	Type      ReportType          `json:"type,omitempty" enum:"azure-apps" default:"azure-apps"`
	Artifacts []AzureAppsArtifact `json:"artifacts"`
}

// AzureAppsArtifact is one web app or function app.
type AzureAppsArtifact struct {
	Digests           PartialDigests `json:"digests"`
	DigestsSource     string         `json:"digests_source" enum:"acr,logs,kosli-cli" doc:"Where the digests were learned."`
	AppName           string         `json:"app_name"`
	AppKind           string         `json:"app_kind"`
	CreationTimestamp int64          `json:"creationTimestamp" doc:"Unix seconds"`
}

// Check is true only if the report meets its schema.
func (r *AzureAppsReport) Check() bool {
	if r.Artifacts == nil || !r.Type.matches("azure-apps") {
		return false
	}
	for _, app := range r.Artifacts {
		if app.AppName == "" || app.AppKind == "" || app.CreationTimestamp == 0 || !app.Digests.complete() {
			return false
		}
		switch app.DigestsSource {
		case "acr", "logs", "kosli-cli":
		default:
			return false
		}
	}
	return true
}

func (r *AzureAppsReport) instances() []snapshot.Instance {
	return resource.Map(r.Artifacts, func(app *AzureAppsArtifact) snapshot.Instance {
		context := &snapshot.AzureContext{AppName: app.AppName, AppKind: app.AppKind, DigestsSource: app.DigestsSource}
		return snapshot.Instance{
			Digests: plainDigests(app.Digests), CreatedAt: app.CreationTimestamp, Context: &snapshot.Context{Azure: context},
		}
	})
}

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

// Check is true only if the report meets its schema.
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
	return resource.Map(r.Artifacts, func(run *CloudRunArtifact) snapshot.Instance {
		context := &snapshot.CloudRunContext{Kind: run.Kind, ServiceName: run.ServiceName, RevisionName: run.RevisionName, JobName: run.JobName}
		return snapshot.Instance{
			Digests: plainDigests(run.Digests), CreatedAt: run.CreationTimestamp, Context: &snapshot.Context{CloudRun: context},
		}
	})
}

// PlainArtifact is one running thing in a report that says only what it runs and since when.
type PlainArtifact struct {
	Digests           Digests `json:"digests"`
	CreationTimestamp int64   `json:"creationTimestamp" doc:"Unix seconds"`
}

func (a PlainArtifact) plain() PlainArtifact { return a }

// plainArtifact is an artifact that embeds a PlainArtifact. Each type of report has a type of its own for it, as it has a
// component of its own in the document.
type plainArtifact interface{ plain() PlainArtifact }

// PlainArtifacts are the artifacts of a report that says only what they run and since when. It is exported because huma
// passes over embedded types that are not.
type PlainArtifacts[A plainArtifact] struct {
	Artifacts []A `json:"artifacts"`
}

// valid is true only if the artifacts meet their schema.
func (p *PlainArtifacts[A]) valid() bool {
	for _, artifact := range p.Artifacts {
		if a := artifact.plain(); a.CreationTimestamp == 0 || !a.Digests.valid() {
			return false
		}
	}
	return p.Artifacts != nil
}

func (p *PlainArtifacts[A]) instances() []snapshot.Instance {
	return resource.Map(p.Artifacts, func(artifact *A) snapshot.Instance {
		a := (*artifact).plain()
		return snapshot.Instance{Digests: plainDigests(a.Digests), CreatedAt: a.CreationTimestamp}
	})
}

// ServerReport is the body of server_report (docs/semantics.md 10.1).
type ServerReport struct {
	Type ReportType `json:"type,omitempty" enum:"server" default:"server"`
	PlainArtifacts[ServerArtifact]
}

// ServerArtifact is one file or directory.
type ServerArtifact struct{ PlainArtifact }

// Check is true only if the report meets its schema.
func (r *ServerReport) Check() bool { return r.Type.matches("server") && r.valid() }

// DockerReport is the body of docker_report (docs/semantics.md 10.1).
type DockerReport struct {
	Type ReportType `json:"type,omitempty" enum:"docker" default:"docker"`
	PlainArtifacts[DockerArtifact]
}

// DockerArtifact is one container.
type DockerArtifact struct{ PlainArtifact }

// Check is true only if the report meets its schema.
func (r *DockerReport) Check() bool { return r.Type.matches("docker") && r.valid() }

// S3Report is the body of s3_report (docs/semantics.md 10.1).
type S3Report struct {
	Type ReportType `json:"type,omitempty" enum:"S3" default:"S3"`
	PlainArtifacts[S3Artifact]
}

// S3Artifact is one object, or all of a bucket.
type S3Artifact struct{ PlainArtifact }

// Check is true only if the report meets its schema.
func (r *S3Report) Check() bool { return r.Type.matches("S3") && r.valid() }

// LambdaReport is the body of lambda_report (docs/semantics.md 10.1).
type LambdaReport struct {
	Type ReportType `json:"type,omitempty" enum:"lambda" default:"lambda"`
	PlainArtifacts[LambdaArtifact]
}

// LambdaArtifact is one function.
type LambdaArtifact struct{ PlainArtifact }

// Check is true only if the report meets its schema.
func (r *LambdaReport) Check() bool { return r.Type.matches("lambda") && r.valid() }

// ServerlessReport is the body of serverless_report (docs/semantics.md 10.1).
type ServerlessReport struct {
	Type ReportType `json:"type,omitempty" enum:"serverless" default:"serverless"`
	PlainArtifacts[ServerlessArtifact]
}

// ServerlessArtifact is one function.
type ServerlessArtifact struct{ PlainArtifact }

// Check is true only if the report meets its schema.
func (r *ServerlessReport) Check() bool { return r.Type.matches("serverless") && r.valid() }

// Fingerprint is a SHA-256 in 64 lower-case hex digits
// (docs/semantics.md 1.3).
type Fingerprint string

// Schema describes the form.
func (Fingerprint) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: "^[a-f0-9]{64}$"}
}

func (f Fingerprint) valid() bool {
	if len(f) != 64 {
		return false
	}
	for i := range len(f) {
		if c := f[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Digests maps the names of images to their fingerprints.
type Digests map[string]Fingerprint

func (d Digests) valid() bool {
	for _, fingerprint := range d {
		if !fingerprint.valid() {
			return false
		}
	}
	return d != nil
}

// PartialFingerprint is a Fingerprint, or "" where the reporter could not learn it.
type PartialFingerprint string

// Schema describes the form.
func (PartialFingerprint) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: "^([a-f0-9]{64})?$"}
}

// PartialDigests are Digests some of which may be unknown
// (docs/semantics.md 10.3).
type PartialDigests map[string]PartialFingerprint

// complete reports whether every fingerprint is there and in form. For an empty one it is false, as the
// schema must distinguish it from null.
func (d PartialDigests) complete() bool {
	for _, fingerprint := range d {
		if !Fingerprint(fingerprint).valid() {
			return false
		}
	}
	return d != nil
}

// plainDigests returns digests with plain texts for fingerprints.
func plainDigests[F ~string](digests map[string]F) map[string]string {
	plain := make(map[string]string, len(digests))
	for name, fingerprint := range digests {
		plain[name] = string(fingerprint)
	}
	return plain
}
