// Package admission has the rules of admission control for clusters (docs/semantics.md 25).
package admission

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"attestry/evidence"
)

// Workload is a pod, or a resource with a template of pods, that a cluster is asked to run.
type Workload struct {
	Kind      string
	Namespace string
	// Name is the generateName if there is one: it is the same for all pods of a template.
	Name string
	// Images are the references of all containers and image volumes, each once, in their order.
	Images []string
	// labels has the labels and annotations of the object and of the template of its pods.
	labels []map[string]string
}

type container struct {
	Image string `json:"image"`
}

// object has the relevant members of all kinds.
type object struct {
	Metadata struct {
		Name         string            `json:"name"`
		GenerateName string            `json:"generateName"`
		Namespace    string            `json:"namespace"`
		Labels       map[string]string `json:"labels"`
		Annotations  map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec spec `json:"spec"`
}

// spec has the containers of a pod, or the template of pods.
type spec struct {
	Containers          []container `json:"containers"`
	InitContainers      []container `json:"initContainers"`
	EphemeralContainers []container `json:"ephemeralContainers"`
	Volumes             []struct {
		Image *struct {
			Reference string `json:"reference"`
		} `json:"image"`
	} `json:"volumes"`
	Template    *object `json:"template"`
	JobTemplate *object `json:"jobTemplate"`
}

// kinds are the kinds that are evaluated.
var kinds = []string{"Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"}

// ReadWorkload reads an object of Kubernetes. An object of another kind, or one that is being deleted, has no images.
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
	workload.add(&read)
	workload.Images = evidence.Distinct(workload.Images)
	return workload, nil
}

// add adds an object, and the template in it.
func (w *Workload) add(read *object) {
	w.labels = append(w.labels, read.Metadata.Annotations, read.Metadata.Labels)
	for _, containers := range [][]container{read.Spec.InitContainers, read.Spec.Containers, read.Spec.EphemeralContainers} {
		for _, one := range containers {
			w.Images = append(w.Images, one.Image)
		}
	}
	for _, volume := range read.Spec.Volumes {
		if volume.Image != nil {
			w.Images = append(w.Images, volume.Image.Reference)
		}
	}
	for _, template := range []*object{read.Spec.JobTemplate, read.Spec.Template} {
		if template != nil {
			w.add(template)
		}
	}
}

// NewWorkload makes a workload without a name and labels.
func NewWorkload(kind, namespace string, annotations map[string]string, images ...string) *Workload {
	return &Workload{Kind: kind, Namespace: namespace, labels: []map[string]string{annotations}, Images: evidence.Distinct(images)}
}

// Without removes the images that the workload runs already. They are not evaluated again, so that the workload can
// still be changed and deleted.
func (w *Workload) Without(running *Workload) {
	runs := evidence.SetOf(running.Images, func(image *string) string { return *image })
	w.Images = slices.DeleteFunc(w.Images, func(image string) bool { return runs[image] })
}

// Reason returns the value of an annotation or label of the workload or its pods, "" if there is none but blanks.
func (w *Workload) Reason(key string) string {
	for _, labels := range w.labels {
		if reason := strings.TrimSpace(labels[key]); key != "" && reason != "" {
			return reason
		}
	}
	return ""
}

// Image is a reference to an image.
type Image struct {
	Reference string
	// Fingerprint is the SHA-256 of the digest in hex, "" without a digest.
	Fingerprint string
}

// imagePattern is the grammar of references: a host, which may be an IPv6 address, with a port, a path, a tag, and a digest.
var imagePattern = regexp.MustCompile(`^(?:(?:[a-zA-Z0-9][a-zA-Z0-9.-]*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?` +
	`[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*` +
	`(?::\w[\w.-]{0,127})?(?:@sha256:([a-f0-9]{64}))?$`)

const maxReference = 1024

// ParseImage reads a reference. It is not ok if the reference is invalid.
func ParseImage(reference string) (image Image, ok bool) {
	if len(reference) > maxReference {
		return Image{}, false
	}
	parts := imagePattern.FindStringSubmatch(reference)
	if parts == nil {
		return Image{}, false
	}
	return Image{Reference: reference, Fingerprint: parts[1]}, true
}
