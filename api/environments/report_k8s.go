package environments

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"attestry/evidence/snapshot"
)

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

// Check reports whether the report surely meets its schema.
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
	instances := make([]snapshot.Instance, 0, len(r.Artifacts))
	for _, pod := range r.Artifacts {
		instances = append(instances, snapshot.Instance{
			Digests:   pod.Digests.toMap(),
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
