// Package snapshot has the rules by which reports become numbered snapshots (docs/semantics.md 10 and 11).
package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"attestry/evidence"
)

// Instance is one running unit of a report: a pod, a container or a file. It may run several images.
type Instance struct {
	// Digests maps the name of each image to its fingerprint, "" if the reporter could not determine it.
	Digests map[string]string
	// CreatedAt is the instance's start in Unix seconds.
	CreatedAt int64
	// Pod is the pod's name, and PodContext its stored properties; K8S only.
	Pod        string
	PodContext *Pod
	// Context has the properties that other types of environments report.
	Context *Context
}

// Pod has the stored properties of a Kubernetes pod.
type Pod struct {
	Namespace string  `json:"namespace"`
	CreatedAt int64   `json:"creationTimestamp"`
	Owners    []Owner `json:"owners"`
}

// Owner is a pod's owner reference. Other members of it are accepted and not stored (docs/semantics.md 10.1).
type Owner struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	Controller         *bool  `json:"controller,omitempty"`
	BlockOwnerDeletion *bool  `json:"blockOwnerDeletion,omitempty"`
}

// Report is the canonical form of a report. It does not depend on the order in which instances were sent.
type Report struct {
	Type evidence.EnvironmentType `json:"type"`
	// Artifacts are sorted by fingerprint, then name.
	Artifacts []Reported `json:"artifacts"`
}

// Reported is an image and all its instances.
type Reported struct {
	Fingerprint string `json:"fingerprint"`
	Name        string `json:"name"`
	// Names are all its names, sorted, if it runs under several; Name is the first. In a Report each name is an image.
	Names     []string       `json:"names,omitempty"`
	CreatedAt []int64        `json:"created_at"` // one per instance, ascending
	Pods      map[string]Pod `json:"pods,omitempty"`
	// Context is that of the newest instance.
	Context *Context `json:"context,omitempty"`
}

// Canonical reduces the instances of a report to its canonical form.
func Canonical(kind evidence.EnvironmentType, instances []Instance) Report {
	type key struct{ fingerprint, name string }
	images := map[key]*reportedInstances{}
	for _, instance := range sortInstances(instances) {
		for name, fingerprint := range instance.Digests {
			image := images[key{fingerprint, name}]
			if image == nil {
				image = &reportedInstances{Reported: Reported{Fingerprint: fingerprint, Name: name}}
				images[key{fingerprint, name}] = image
			}
			if len(image.CreatedAt) == 0 || instance.CreatedAt >= image.newest {
				image.newest, image.Context = instance.CreatedAt, instance.Context
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

// reportedInstances is an image while its instances are collected.
type reportedInstances struct {
	Reported
	// newest is the start of the instance whose context is kept.
	newest int64
}

func sortReported(images []Reported) {
	slices.SortFunc(images, func(a, b Reported) int {
		return cmp.Or(cmp.Compare(a.Fingerprint, b.Fingerprint), cmp.Compare(a.Name, b.Name))
	})
}

// sortInstances sorts instances, so that the result of Canonical does not depend on the order of the report.
func sortInstances(instances []Instance) []Instance {
	return slices.SortedStableFunc(slices.Values(instances), func(a, b Instance) int {
		order := cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.pod().Namespace, b.pod().Namespace), cmp.Compare(a.CreatedAt, b.CreatedAt))
		if order != 0 { // the rest is slow to compare
			return order
		}
		return cmp.Or(slices.Compare(a.Context.members(), b.Context.members()), slices.CompareFunc(a.pod().Owners, b.pod().Owners, compareOwners))
	})
}

func compareOwners(a, b Owner) int {
	flag := func(flag *bool) string { // "" for nil
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

// pod is the instance's pod, or a zero Pod.
func (i *Instance) pod() Pod {
	if i.PodContext == nil {
		return Pod{}
	}
	return *i.PodContext
}

// addPod adds the pod under its name, or under `namespace/name` if a pod of another namespace has the name.
func (r *Reported) addPod(name string, pod Pod) {
	if r.Pods == nil {
		r.Pods = map[string]Pod{}
	}
	if other, taken := r.Pods[name]; taken && other.Namespace != pod.Namespace {
		name = pod.Namespace + "/" + name
	}
	r.Pods[name] = pod
}

// Digest is the SHA-256 over the sorted names, fingerprints and numbers of instances.
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

// Fingerprints groups the images by fingerprint. An image with several names gets the alphabetically first as its Name.
func (r *Report) Fingerprints() []Reported {
	grouped := make([]Reported, 0, len(r.Artifacts))
	for rest := r.Artifacts; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Fingerprint == rest[0].Fingerprint {
			n++
		}
		grouped = append(grouped, mergeNames(rest[:n]))
		rest = rest[n:]
	}
	return grouped
}

// mergeNames merges images that have the same fingerprint and different names.
func mergeNames(names []Reported) Reported {
	if len(names) == 1 {
		return names[0]
	}
	all := Reported{Fingerprint: names[0].Fingerprint, Name: names[0].Name}
	var latest int64
	for _, image := range names {
		if n := len(all.Names); n == 0 || all.Names[n-1] != image.Name {
			all.Names = append(all.Names, image.Name)
		}
		if newest := image.CreatedAt[len(image.CreatedAt)-1]; len(all.CreatedAt) == 0 || newest > latest {
			all.Context, latest = image.Context, newest
		}
		all.CreatedAt = append(all.CreatedAt, image.CreatedAt...)
		for _, name := range slices.Sorted(maps.Keys(image.Pods)) {
			pod := image.Pods[name]
			// addPod qualifies the name again if needed: another image may have the pod without its namespace.
			all.addPod(strings.TrimPrefix(name, pod.Namespace+"/"), pod)
		}
	}
	if len(all.Names) == 1 {
		all.Names = nil
	}
	slices.Sort(all.CreatedAt)
	return all
}
