// Package snapshot has the rules by which reports become numbered snapshots (docs/semantics.md 10 and 11).
package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"attestry/evidence"
)

// Instance is one running thing of a report, whatever its type: a pod, a container, a file. It may run several images.
type Instance struct {
	// Digests maps the name of each image to its fingerprint, "" when the reporter could not learn it.
	Digests map[string]string
	// CreatedAt is the instance's start in Unix seconds.
	CreatedAt int64
	// Pod is the pod's name, and PodContext what is kept of it; K8S only.
	Pod        string
	PodContext *Pod
	// Context is what other types of environments tell.
	Context *Context
}

// Pod is what is kept of a Kubernetes pod.
type Pod struct {
	Namespace string  `json:"namespace"`
	CreatedAt int64   `json:"creationTimestamp"`
	Owners    []Owner `json:"owners"`
}

// Owner is a pod's owner reference. Members beside the known ones are accepted and not kept (docs/semantics.md 10.1).
type Owner struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	Controller         *bool  `json:"controller,omitempty"`
	BlockOwnerDeletion *bool  `json:"blockOwnerDeletion,omitempty"`
}

// Report is the canonical form of a report: equal runtimes give equal Reports, in whatever order they were sent.
type Report struct {
	Type evidence.EnvironmentType `json:"type"`
	// Artifacts are sorted by fingerprint, then name.
	Artifacts []Reported `json:"artifacts"`
}

// Reported is an image and all its instances.
type Reported struct {
	Fingerprint string `json:"fingerprint"`
	Name        string `json:"name"`
	// Names are all its names, sorted, when it runs under several; Name is the first. In a report each name is an image.
	Names     []string       `json:"names,omitempty"`
	CreatedAt []int64        `json:"created_at"` // one per instance, ascending
	Pods      map[string]Pod `json:"pods,omitempty"`
	// Context is that of the youngest instance.
	Context *Context `json:"context,omitempty"`
}

// Canonical reduces the instances of a report to its canonical form.
func Canonical(kind evidence.EnvironmentType, instances []Instance) Report {
	type key struct{ fingerprint, name string }
	images := map[key]*reportedInstances{}
	for _, instance := range inOrder(instances) {
		for name, fingerprint := range instance.Digests {
			image := images[key{fingerprint, name}]
			if image == nil {
				image = &reportedInstances{Reported: Reported{Fingerprint: fingerprint, Name: name}}
				images[key{fingerprint, name}] = image
			}
			if len(image.CreatedAt) == 0 || instance.CreatedAt >= image.youngest {
				image.youngest, image.Context = instance.CreatedAt, instance.Context
			}
			image.CreatedAt = append(image.CreatedAt, instance.CreatedAt)
			if instance.PodContext != nil {
				image.addPod(instance.Pod, *instance.PodContext)
			}
		}
	}
	report := Report{Type: kind, Artifacts: make([]Reported, 0, len(images))}
	for _, image := range images {
		slices.Sort(image.CreatedAt)
		report.Artifacts = append(report.Artifacts, image.Reported)
	}
	sortReported(report.Artifacts)
	return report
}

// reportedInstances is an image while its instances are gathered.
type reportedInstances struct {
	Reported
	// youngest is the start of the instance whose context is kept.
	youngest int64
}

func sortReported(images []Reported) {
	slices.SortFunc(images, func(a, b Reported) int {
		return cmp.Or(cmp.Compare(a.Fingerprint, b.Fingerprint), cmp.Compare(a.Name, b.Name))
	})
}

// inOrder sorts instances so that those of one name always meet in the same order, and the same context is shown.
func inOrder(instances []Instance) []Instance {
	return slices.SortedStableFunc(slices.Values(instances), func(a, b Instance) int {
		order := cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.pod().Namespace, b.pod().Namespace), cmp.Compare(a.CreatedAt, b.CreatedAt))
		if order != 0 { // the rest takes long to compare
			return order
		}
		return cmp.Or(slices.Compare(a.Context.members(), b.Context.members()), slices.CompareFunc(a.pod().Owners, b.pod().Owners, compareOwners))
	})
}

func compareOwners(a, b Owner) int {
	flag := func(flag *bool) string { // "" for an absent one
		if flag == nil {
			return ""
		}
		return strconv.FormatBool(*flag)
	}
	return slices.Compare(
		[]string{a.APIVersion, a.Kind, a.Name, a.UID, flag(a.Controller), flag(a.BlockOwnerDeletion)},
		[]string{b.APIVersion, b.Kind, b.Name, b.UID, flag(b.Controller), flag(b.BlockOwnerDeletion)},
	)
}

// pod is what is kept of the instance's pod, empty without one.
func (i *Instance) pod() Pod {
	if i.PodContext == nil {
		return Pod{}
	}
	return *i.PodContext
}

// addPod keeps the pod under its name. Further pods of a name are kept under `namespace/name`.
func (r *Reported) addPod(name string, pod Pod) {
	if r.Pods == nil {
		r.Pods = map[string]Pod{}
	}
	if other, taken := r.Pods[name]; taken && other.Namespace != pod.Namespace {
		name = pod.Namespace + "/" + name
	}
	r.Pods[name] = pod
}

// Digest is the SHA-256 over the sorted names, fingerprints and numbers of instances that run.
func (r *Report) Digest() string {
	hash := sha256.New()
	var line []byte
	for _, image := range r.Artifacts {
		line = strconv.AppendQuote(line[:0], image.Name)
		line = append(line, ' ')
		line = append(line, image.Fingerprint...)
		line = append(line, ' ')
		line = strconv.AppendInt(line, int64(len(image.CreatedAt)), 10)
		line = append(line, '\n')
		hash.Write(line)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Fingerprints groups the report by fingerprint. An image with several names gets the first in alphabetical order.
func (r *Report) Fingerprints() []Reported {
	grouped := make([]Reported, 0, len(r.Artifacts))
	for rest := r.Artifacts; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Fingerprint == rest[0].Fingerprint {
			n++
		}
		grouped = append(grouped, united(rest[:n]))
		rest = rest[n:]
	}
	return grouped
}

// Repeat returns what runs by a snapshot as if it had been reported again.
func Repeat(artifacts []Artifact) []Reported {
	images := make([]Reported, 0, len(artifacts))
	for _, artifact := range artifacts {
		images = append(images, artifact.Reported)
	}
	return images
}

// united makes one artifact of the names of an image.
func united(names []Reported) Reported {
	if len(names) == 1 {
		return names[0]
	}
	all := Reported{Fingerprint: names[0].Fingerprint, Name: names[0].Name}
	var youngest int64
	for _, image := range names {
		if n := len(all.Names); n == 0 || all.Names[n-1] != image.Name {
			all.Names = append(all.Names, image.Name)
		}
		if newest := image.CreatedAt[len(image.CreatedAt)-1]; len(all.CreatedAt) == 0 || newest > youngest {
			all.Context, youngest = image.Context, newest
		}
		all.CreatedAt = append(all.CreatedAt, image.CreatedAt...)
		for _, name := range slices.Sorted(maps.Keys(image.Pods)) {
			all.addPod(name, image.Pods[name])
		}
	}
	if len(all.Names) == 1 {
		all.Names = nil
	}
	slices.Sort(all.CreatedAt)
	return all
}
