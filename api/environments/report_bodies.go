package environments

import (
	"cmp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"attestry/api/resource"
	"attestry/evidence/snapshot"
)

// artifact is a running artifact in a report. Each type of report has its own Go type, as it has its own schema.
type artifact interface {
	kind() ReportType
	// valid returns true only if the artifact matches its schema.
	valid() bool
	instance() snapshot.Instance
}

// ReportOf is a report of artifacts. It is exported because huma ignores unexported embedded types.
type ReportOf[A artifact] struct {
	Type      ReportType `json:"type,omitempty"`
	Artifacts []A        `json:"artifacts"`
}

func (*ReportOf[A]) kind() ReportType { return (*new(A)).kind() }

// TransformSchema sets the only valid type of the report.
func (r *ReportOf[A]) TransformSchema(_ huma.Registry, schema *huma.Schema) *huma.Schema {
	kind := string(r.kind())
	schema.Properties["type"].Enum, schema.Properties["type"].Default = []any{kind}, kind
	return schema
}

// Check returns true only if the report matches its schema.
func (r *ReportOf[A]) Check() bool {
	invalid := func(one A) bool { return !one.valid() }
	return (r.Type == "" || r.Type == r.kind()) && r.Artifacts != nil && !slices.ContainsFunc(r.Artifacts, invalid)
}

func (r *ReportOf[A]) instances() []snapshot.Instance {
	return resource.Map(r.Artifacts, func(one *A) snapshot.Instance { return (*one).instance() })
}

// ECSReport is the body of ecs_report (docs/semantics.md 10.1).
type ECSReport struct{ ReportOf[ECSArtifact] }

// ECSArtifact is a task. Clients send optional members in two spellings; of both, the one with the underscore is used.
type ECSArtifact struct {
	Digests           PartialDigests `json:"digests"`
	TaskARN           string         `json:"taskArn"`
	ClusterName       *string        `json:"cluster_name,omitempty" nullable:"true"`
	ServiceName       *string        `json:"service_name,omitempty" nullable:"true"`
	ClusterNameToo    *string        `json:"clusterName,omitempty" nullable:"true" doc:"Another spelling of cluster_name."`
	ServiceNameToo    *string        `json:"serviceName,omitempty" nullable:"true" doc:"Another spelling of service_name."`
	CreationTimestamp int64          `json:"creationTimestamp" doc:"Unix seconds"`
}

func (ECSArtifact) kind() ReportType { return "ECS" }

func (a ECSArtifact) valid() bool {
	return a.TaskARN != "" && a.CreationTimestamp != 0 && allValid(a.Digests)
}

func (a ECSArtifact) instance() snapshot.Instance {
	context := &snapshot.ECSContext{
		TaskARN: a.TaskARN, ClusterName: cmp.Or(a.ClusterName, a.ClusterNameToo), ServiceName: cmp.Or(a.ServiceName, a.ServiceNameToo),
	}
	return snapshot.Instance{Digests: plainDigests(a.Digests), CreatedAt: a.CreationTimestamp, Context: &snapshot.Context{ECS: context}}
}

// K8SReport is the body of k8s_report (docs/semantics.md 10.1).
type K8SReport struct{ ReportOf[K8SArtifact] }

// K8SArtifact is a pod.
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

// UnmarshalJSONFrom accepts unknown members, which are errors elsewhere.
func (o *K8SOwner) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	type owner K8SOwner
	return json.UnmarshalDecode(decoder, (*owner)(o), json.RejectUnknownMembers(false))
}

func (o K8SOwner) valid() bool {
	return o.APIVersion != "" && o.Kind != "" && o.Name != "" && o.UID != ""
}

func (K8SArtifact) kind() ReportType { return "K8S" }

func (a K8SArtifact) valid() bool {
	return a.PodName != "" && a.Namespace != "" && a.CreationTimestamp != 0 && allValid(a.Digests) &&
		!slices.ContainsFunc(a.Owners, func(owner K8SOwner) bool { return !owner.valid() })
}

func (a K8SArtifact) instance() snapshot.Instance {
	owners := resource.Map(a.Owners, func(o *K8SOwner) snapshot.Owner {
		return snapshot.Owner{
			APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID,
			Controller: o.Controller, BlockOwnerDeletion: o.BlockOwnerDeletion,
		}
	})
	return snapshot.Instance{
		Digests: plainDigests(a.Digests), CreatedAt: a.CreationTimestamp, Pod: a.PodName,
		PodContext: &snapshot.Pod{Namespace: a.Namespace, CreatedAt: a.CreationTimestamp, Owners: owners},
	}
}

// AzureAppsReport is the body of azure_apps_report (docs/semantics.md 10.1).
type AzureAppsReport struct{ ReportOf[AzureAppsArtifact] }

// AzureAppsArtifact is a web app or a function app.
type AzureAppsArtifact struct {
	Digests           PartialDigests `json:"digests"`
	DigestsSource     string         `json:"digests_source" enum:"acr,logs,kosli-cli" doc:"Where the digests were learned."`
	AppName           string         `json:"app_name"`
	AppKind           string         `json:"app_kind"`
	CreationTimestamp int64          `json:"creationTimestamp" doc:"Unix seconds"`
}

func (AzureAppsArtifact) kind() ReportType { return "azure-apps" }

func (a AzureAppsArtifact) valid() bool {
	return a.AppName != "" && a.AppKind != "" && a.CreationTimestamp != 0 && allValid(a.Digests) &&
		slices.Contains([]string{"acr", "logs", "kosli-cli"}, a.DigestsSource)
}

func (a AzureAppsArtifact) instance() snapshot.Instance {
	context := &snapshot.AzureContext{AppName: a.AppName, AppKind: a.AppKind, DigestsSource: a.DigestsSource}
	return snapshot.Instance{Digests: plainDigests(a.Digests), CreatedAt: a.CreationTimestamp, Context: &snapshot.Context{Azure: context}}
}

// CloudRunReport is the body of cloud_run_report (docs/semantics.md 10.1).
type CloudRunReport struct{ ReportOf[CloudRunArtifact] }

// CloudRunArtifact is a revision of a service, or an execution of a job. Names of the other kind are stored, too.
type CloudRunArtifact struct {
	Digests           PartialDigests `json:"digests"`
	CreationTimestamp int64          `json:"creationTimestamp" doc:"Unix seconds"`
	Kind              string         `json:"kind" enum:"service,job"`
	ServiceName       *string        `json:"serviceName,omitempty" nullable:"true" doc:"Of a service."`
	RevisionName      *string        `json:"revisionName,omitempty" nullable:"true" doc:"Of a service."`
	JobName           *string        `json:"jobName,omitempty" nullable:"true" doc:"Of a job."`
}

func (CloudRunArtifact) kind() ReportType { return "cloud-run" }

func (a CloudRunArtifact) valid() bool {
	return (a.Kind == "service" || a.Kind == "job") && a.CreationTimestamp != 0 && allValid(a.Digests)
}

func (a CloudRunArtifact) instance() snapshot.Instance {
	context := &snapshot.CloudRunContext{Kind: a.Kind, ServiceName: a.ServiceName, RevisionName: a.RevisionName, JobName: a.JobName}
	return snapshot.Instance{Digests: plainDigests(a.Digests), CreatedAt: a.CreationTimestamp, Context: &snapshot.Context{CloudRun: context}}
}

// PlainArtifact is an artifact in reports that have only digests and start times.
type PlainArtifact struct {
	Digests           Digests `json:"digests"`
	CreationTimestamp int64   `json:"creationTimestamp" doc:"Unix seconds"`
}

func (a PlainArtifact) valid() bool { return a.CreationTimestamp != 0 && allValid(a.Digests) }

func (a PlainArtifact) instance() snapshot.Instance {
	return snapshot.Instance{Digests: plainDigests(a.Digests), CreatedAt: a.CreationTimestamp}
}

// The reports of plain artifacts (docs/semantics.md 10.1).
type (
	// ServerReport is the body of server_report.
	ServerReport struct{ ReportOf[ServerArtifact] }
	// ServerArtifact is a file or a directory.
	ServerArtifact struct{ PlainArtifact }
	// DockerReport is the body of docker_report.
	DockerReport struct{ ReportOf[DockerArtifact] }
	// DockerArtifact is a container.
	DockerArtifact struct{ PlainArtifact }
	// S3Report is the body of s3_report.
	S3Report struct{ ReportOf[S3Artifact] }
	// S3Artifact is an object, or all objects of a bucket.
	S3Artifact struct{ PlainArtifact }
	// LambdaReport is the body of lambda_report.
	LambdaReport struct{ ReportOf[LambdaArtifact] }
	// LambdaArtifact is a function.
	LambdaArtifact struct{ PlainArtifact }
	// ServerlessReport is the body of serverless_report.
	ServerlessReport struct{ ReportOf[ServerlessArtifact] }
	// ServerlessArtifact is a function.
	ServerlessArtifact struct{ PlainArtifact }
)

func (ServerArtifact) kind() ReportType     { return "server" }
func (DockerArtifact) kind() ReportType     { return "docker" }
func (S3Artifact) kind() ReportType         { return "S3" }
func (LambdaArtifact) kind() ReportType     { return "lambda" }
func (ServerlessArtifact) kind() ReportType { return "serverless" }

// Fingerprint is a SHA-256 in 64 lower-case hex digits (docs/semantics.md 1.3).
type Fingerprint string

// Schema is the schema of a fingerprint, with its pattern.
func (Fingerprint) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: "^[a-f0-9]{64}$"}
}

func (f Fingerprint) valid() bool {
	return len(f) == 64 && !strings.ContainsFunc(string(f), func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') })
}

// Digests maps the names of images to their fingerprints.
type Digests map[string]Fingerprint

// allValid returns true only if digests are valid. An empty fingerprint counts as invalid, as null is decoded to it.
func allValid[F ~string](digests map[string]F) bool {
	for _, fingerprint := range digests {
		if !Fingerprint(fingerprint).valid() {
			return false
		}
	}
	return digests != nil
}

// PartialFingerprint is a Fingerprint, or "" if the reporter does not know it.
type PartialFingerprint string

// Schema is the schema of a fingerprint that may be empty, with its pattern.
func (PartialFingerprint) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: "^([a-f0-9]{64})?$"}
}

// PartialDigests are Digests that may have unknown fingerprints (docs/semantics.md 10.3).
type PartialDigests map[string]PartialFingerprint

func plainDigests[F ~string](digests map[string]F) map[string]string {
	return resource.MapValues(digests, func(fingerprint F) string { return string(fingerprint) })
}
