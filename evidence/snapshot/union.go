package snapshot

import (
	"maps"
	"slices"

	"attestry/evidence"
)

// Union unites what runs in the members of a logical environment: one artifact per
// fingerprint, its instances added up (docs/semantics.md 12.2). What else it has
// is that of the first member in which it runs; its verdict is the worst. The
// lists, one per member, and the result are sorted by fingerprint.
func Union(members [][]Artifact) []Artifact {
	united := map[string]*Artifact{}
	for _, artifacts := range members {
		for i := range artifacts {
			known := united[artifacts[i].Fingerprint]
			if known == nil {
				first := artifacts[i]
				first.Decisions = nil // policies are attached to physical environments
				united[first.Fingerprint] = &first
				continue
			}
			known.unite(&artifacts[i])
		}
	}
	all := make([]Artifact, 0, len(united))
	for _, artifact := range united {
		all = append(all, *artifact)
	}
	sortByFingerprint(all)
	return all
}

// unite adds what runs of the artifact in another member, whose lists stay as they are.
func (a *Artifact) unite(other *Artifact) {
	if other.NewestInstance() > a.NewestInstance() {
		a.Context = other.Context
	}
	a.CreatedAt = slices.Sorted(slices.Values(slices.Concat(a.CreatedAt, other.CreatedAt)))
	a.Compliant = evidence.UnitedState([]*bool{a.Compliant, other.Compliant})
	a.StartedAt, a.FirstAt = min(a.StartedAt, other.StartedAt), min(a.FirstAt, other.FirstAt)
	if len(a.Origins) == 0 {
		a.Origins = other.Origins
	}
	if len(other.Pods) == 0 {
		return
	}
	pods := Reported{Pods: maps.Clone(a.Pods)}
	for _, name := range slices.Sorted(maps.Keys(other.Pods)) {
		pods.addPod(name, other.Pods[name])
	}
	a.Pods = pods.Pods
}
