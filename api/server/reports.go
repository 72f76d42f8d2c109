package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/bytedance/sonic"
	"github.com/danielgtaylor/huma/v2"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	tasks "attestry/tasks/snapshot"
)

// The answers to a report (contract/README.md choice 14).
const (
	reportUnchanged = "report processed, no new snapshots to create"
	reportAccepted  = "report accepted, it will be processed"
)

// Fingerprint is a SHA-256 in 64 lower-case hex digits (contract/requests.md,
// FP64).
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

func (d Digests) plain() map[string]string {
	plain := make(map[string]string, len(d))
	for name, fingerprint := range d {
		plain[name] = string(fingerprint)
	}
	return plain
}

// reportBody is what every type of report can tell.
type reportBody interface {
	instances() []snapshot.Instance
}

// K8SReport is the body of k8s_report (contract/requests.md).
type K8SReport struct {
	Type      string        `json:"type,omitempty" enum:"K8S" default:"K8S"`
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

// UnmarshalJSON lets unknown members pass, which the strict decoder refuses
// elsewhere.
func (o *K8SOwner) UnmarshalJSON(data []byte) error {
	type lenient K8SOwner
	return sonic.ConfigStd.Unmarshal(data, (*lenient)(o))
}

// Check tells whether the report surely meets its schema.
func (r *K8SReport) Check() bool {
	if r.Artifacts == nil || (r.Type != "" && r.Type != string(evidence.K8S)) {
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
	instances := make([]snapshot.Instance, 0, len(r.Artifacts))
	for _, pod := range r.Artifacts {
		instances = append(instances, snapshot.Instance{
			Digests:   pod.Digests.plain(),
			CreatedAt: pod.CreationTimestamp,
			Pod:       pod.PodName,
			PodContext: &snapshot.Pod{
				Namespace: pod.Namespace,
				CreatedAt: pod.CreationTimestamp,
				Owners:    pod.owners(),
			},
		})
	}
	return instances
}

func (a *K8SArtifact) owners() []snapshot.Owner {
	owners := make([]snapshot.Owner, 0, len(a.Owners))
	for _, owner := range a.Owners {
		owners = append(owners, snapshot.Owner{
			APIVersion:         owner.APIVersion,
			Kind:               owner.Kind,
			Name:               owner.Name,
			UID:                owner.UID,
			Controller:         owner.Controller,
			BlockOwnerDeletion: owner.BlockOwnerDeletion,
		})
	}
	return owners
}

// PlainArtifact is one running thing of which no more is told than what it runs
// and since when.
type PlainArtifact struct {
	Digests           Digests `json:"digests"`
	CreationTimestamp int64   `json:"creationTimestamp" doc:"Unix seconds"`
}

// plainArtifact is an artifact of a type of report that tells no more than a
// PlainArtifact. Each type has a component of its own in the document.
type plainArtifact interface{ plain() PlainArtifact }

func checkPlain[A plainArtifact](artifacts []A) bool {
	for _, artifact := range artifacts {
		if a := artifact.plain(); a.CreationTimestamp == 0 || !a.Digests.valid() {
			return false
		}
	}
	return artifacts != nil
}

func plainInstances[A plainArtifact](artifacts []A) []snapshot.Instance {
	instances := make([]snapshot.Instance, 0, len(artifacts))
	for _, artifact := range artifacts {
		a := artifact.plain()
		instances = append(instances, snapshot.Instance{
			Digests:   a.Digests.plain(),
			CreatedAt: a.CreationTimestamp,
		})
	}
	return instances
}

// ServerReport is the body of server_report (contract/requests.md).
type ServerReport struct {
	Type      string           `json:"type,omitempty" enum:"server" default:"server"`
	Artifacts []ServerArtifact `json:"artifacts"`
}

// ServerArtifact is one file or directory.
type ServerArtifact PlainArtifact

func (a ServerArtifact) plain() PlainArtifact { return PlainArtifact(a) }

// Check tells whether the report surely meets its schema.
func (r *ServerReport) Check() bool {
	return (r.Type == "" || r.Type == string(evidence.Server)) && checkPlain(r.Artifacts)
}

func (r *ServerReport) instances() []snapshot.Instance { return plainInstances(r.Artifacts) }

// DockerReport is the body of docker_report (contract/requests.md).
type DockerReport struct {
	Type      string           `json:"type,omitempty" enum:"docker" default:"docker"`
	Artifacts []DockerArtifact `json:"artifacts"`
}

// DockerArtifact is one container.
type DockerArtifact PlainArtifact

func (a DockerArtifact) plain() PlainArtifact { return PlainArtifact(a) }

// Check tells whether the report surely meets its schema.
func (r *DockerReport) Check() bool {
	return (r.Type == "" || r.Type == string(evidence.Docker)) && checkPlain(r.Artifacts)
}

func (r *DockerReport) instances() []snapshot.Instance { return plainInstances(r.Artifacts) }

// report makes the handler for reports of one type.
func report[T any](h *handlers, kind evidence.EnvironmentType) func(context.Context, *EnvironmentPath, *T) (*textAnswer, error) {
	return func(ctx context.Context, in *EnvironmentPath, body *T) (*textAnswer, error) {
		return h.acceptReport(ctx, in.Environment, kind, any(body).(reportBody))
	}
}

// acceptReport takes a report and answers what came of it.
func (h *handlers) acceptReport(ctx context.Context, name string, kind evidence.EnvironmentType, body reportBody) (*textAnswer, error) {
	org := access(ctx)
	ref, err := h.environmentNamed(ctx, org, name)
	if err != nil {
		return nil, err
	}
	if ref.Type != kind {
		return nil, &evidence.Error{
			Code:    evidence.Invalid,
			Message: "Invalid report data",
			Fields: map[string]string{
				"type": fmt.Sprintf("Environment '%s' takes reports of type '%s' [input: %s]", name, ref.Type, kind),
			},
		}
	}
	verdict, err := h.intake.Accept(ctx, tasks.Submission{
		Org:         org.OrgID,
		Environment: ref.ID,
		ReportedBy:  principal(ctx).Name,
		Report:      snapshot.Canonical(kind, body.instances()),
	})
	if err != nil {
		return nil, err
	}
	return answerReport(verdict)
}

func answerReport(verdict snapshot.Verdict) (*textAnswer, error) {
	switch verdict {
	case snapshot.Created:
		return made(), nil
	case snapshot.NoChange:
		return &textAnswer{Status: http.StatusOK, Body: reportUnchanged}, nil
	case snapshot.Failed:
		return nil, fmt.Errorf("the report was given up by the worker")
	default:
		return &textAnswer{Status: http.StatusOK, Body: reportAccepted}, nil
	}
}
