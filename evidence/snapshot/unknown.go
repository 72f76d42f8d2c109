package snapshot

import (
	"cmp"
	"slices"
)

// Resolve assigns fingerprints to the images whose fingerprint the reporter could not determine (docs/semantics.md
// 10.3). It divides their instances among the artifacts of the last snapshot that have the name and are not reported
// under it. Each artifact gets at least one while there are enough, so that it does not exit. Without such artifacts,
// the image gets the newest fingerprint that is reported under its name; without that, it is dropped. So a repeated
// report has the same result. The result has one image per fingerprint, sorted.
func (r *Report) Resolve(before map[string]Artifact) []Reported {
	if !slices.ContainsFunc(r.Artifacts, func(image Reported) bool { return image.Fingerprint == "" }) {
		return r.Fingerprints()
	}
	candidates := r.candidates(before)
	resolved := Report{Type: r.Type}
	for _, image := range r.Artifacts {
		if image.Fingerprint != "" {
			resolved.Artifacts = append(resolved.Artifacts, image)
			continue
		}
		resolved.Artifacts = append(resolved.Artifacts, image.distribute(candidates[image.Name])...)
	}
	sortReported(resolved.Artifacts)
	return resolved.Fingerprints()
}

// candidates are, by name, the artifacts that an image with an unknown fingerprint may be.
func (r *Report) candidates(before map[string]Artifact) map[string][]Artifact {
	type named struct{ name, fingerprint string }
	reported := map[named]bool{}
	unknown := map[string]bool{}
	fallback := map[string]Artifact{}
	for _, image := range r.Artifacts {
		if image.Fingerprint == "" {
			unknown[image.Name] = true
			continue
		}
		reported[named{image.Name, image.Fingerprint}] = true
		artifact := Artifact{Reported: image}
		if other, taken := fallback[image.Name]; !taken || isNewer(&artifact, &other) {
			fallback[image.Name] = artifact
		}
	}
	candidates := map[string][]Artifact{}
	for _, artifact := range before {
		for _, name := range artifact.AllNames() {
			if unknown[name] && !reported[named{name, artifact.Fingerprint}] {
				candidates[name] = append(candidates[name], artifact)
			}
		}
	}
	for name, artifact := range fallback {
		if len(candidates[name]) == 0 {
			candidates[name] = []Artifact{artifact}
		}
	}
	return candidates
}

func isNewer(a, b *Artifact) bool {
	return cmp.Or(cmp.Compare(a.NewestInstance(), b.NewestInstance()), cmp.Compare(a.Fingerprint, b.Fingerprint)) > 0
}

// distribute splits the instances of an image among artifacts: one to each, the rest to the one that began to run last.
// If there are more artifacts than instances, it uses the newest ones.
func (r *Reported) distribute(candidates []Artifact) []Reported {
	slices.SortFunc(candidates, func(a, b Artifact) int {
		if isNewer(&a, &b) {
			return -1
		}
		return 1
	})
	candidates = candidates[:min(len(candidates), len(r.CreatedAt))]
	// Sort by values that do not change when the report is repeated.
	slices.SortFunc(candidates, func(a, b Artifact) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	var shares []Reported
	for i, artifact := range candidates {
		share := *r
		share.Fingerprint = artifact.Fingerprint
		share.CreatedAt = r.CreatedAt[i : i+1 : i+1]
		if i == len(candidates)-1 {
			share.CreatedAt = r.CreatedAt[i:]
		}
		shares = append(shares, share)
	}
	return shares
}
