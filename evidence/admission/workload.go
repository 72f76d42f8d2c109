// Package admission reads what a cluster is to run and decides whether it may (docs/semantics.md 25).
package admission

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Workload is what a cluster is to run: a pod, or what makes pods.
type Workload struct {
	Kind      string
	Namespace string
	// Name is the beginning of the name if that is generated: the same for all pods of a template.
	Name string
	// Images are the references of all containers and image volumes, each once, in their order.
	Images []string
	// labels has the labels and annotations of the object and of the template of its pods.
	labels []map[string]string
}

type metadata struct {
	Name         string            `json:"name"`
	GenerateName string            `json:"generateName"`
	Namespace    string            `json:"namespace"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
}

type container struct {
	Image string `json:"image"`
}

type podSpec struct {
	Containers          []container `json:"containers"`
	InitContainers      []container `json:"initContainers"`
	EphemeralContainers []container `json:"ephemeralContainers"`
	Volumes             []struct {
		Image *struct {
			Reference string `json:"reference"`
		} `json:"image"`
	} `json:"volumes"`
}

type podTemplate struct {
	Metadata metadata `json:"metadata"`
	Spec     podSpec  `json:"spec"`
}

// object has the members that name images, of all kinds. Containers of a pod are in the spec itself.
type object struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		podSpec
		Template    *podTemplate `json:"template"`
		JobTemplate *struct {
			Spec struct {
				Template podTemplate `json:"template"`
			} `json:"spec"`
		} `json:"jobTemplate"`
	} `json:"spec"`
}

// kinds are those that are judged.
var kinds = []string{"Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"}

// ReadWorkload reads an object of Kubernetes. One of a kind that runs nothing, or that is to be deleted, has no images.
func ReadWorkload(kind string, content json.RawMessage) (*Workload, error) {
	workload := &Workload{Kind: kind}
	if !slices.Contains(kinds, kind) || len(content) == 0 || string(content) == "null" {
		return workload, nil
	}
	var read object
	if err := json.Unmarshal(content, &read); err != nil {
		return nil, err
	}
	workload.Namespace, workload.Name = read.Metadata.Namespace, cmp.Or(read.Metadata.GenerateName, read.Metadata.Name)
	workload.labels = append(workload.labels, read.Metadata.Annotations, read.Metadata.Labels)
	workload.add(&read.Spec.podSpec)
	if read.Spec.Template != nil {
		workload.addTemplate(read.Spec.Template)
	}
	if read.Spec.JobTemplate != nil {
		workload.addTemplate(&read.Spec.JobTemplate.Spec.Template)
	}
	return workload, nil
}

func (w *Workload) addTemplate(template *podTemplate) {
	w.labels = append(w.labels, template.Metadata.Annotations, template.Metadata.Labels)
	w.add(&template.Spec)
}

func (w *Workload) add(spec *podSpec) {
	for _, containers := range [][]container{spec.InitContainers, spec.Containers, spec.EphemeralContainers} {
		for _, one := range containers {
			w.addImage(one.Image)
		}
	}
	for _, volume := range spec.Volumes {
		if volume.Image != nil {
			w.addImage(volume.Image.Reference)
		}
	}
}

func (w *Workload) addImage(reference string) {
	if !slices.Contains(w.Images, reference) {
		w.Images = append(w.Images, reference)
	}
}

// NewWorkload makes a workload of which only the annotations and images are known.
func NewWorkload(kind, namespace string, annotations map[string]string, images ...string) *Workload {
	workload := &Workload{Kind: kind, Namespace: namespace, labels: []map[string]string{annotations}}
	for _, image := range images {
		workload.addImage(image)
	}
	return workload
}

// Without leaves out the images of another state of the workload: what runs already is not judged again, so that it can
// still be changed, and deleted.
func (w *Workload) Without(running *Workload) {
	w.Images = slices.DeleteFunc(w.Images, func(image string) bool { return slices.Contains(running.Images, image) })
}

// Reason returns the value of an annotation or label of the workload or its pods, "" if there is none.
func (w *Workload) Reason(key string) string {
	for _, labels := range w.labels {
		if reason := labels[key]; key != "" && reason != "" {
			return reason
		}
	}
	return ""
}
