package snapshot

import (
	"cmp"
	"slices"
)

// Resolve gives the images whose fingerprint the reporter could not learn those that the last snapshot has under their
// name and that are not reported under it themselves (docs/semantics.md 10.3): one instance each, as far as there are
// instances, so that none of them exits. Without such, it gives them the youngest that is reported under the name;
// without that too, it leaves them out. So the same report has the same result, whether it is compared with what ran
// before it or with what it has made. The result has one image per fingerprint, sorted.
func (r *Report) Resolve(before map[string]Artifact) []Reported {
	if !slices.ContainsFunc(r.Artifacts, func(image Reported) bool { return image.Fingerprint == "" }) {
		return r.Fingerprints()
	}
	choices := r.choices(before)
	resolved := Report{Type: r.Type}
	for _, image := range r.Artifacts {
		if image.Fingerprint != "" {
			resolved.Artifacts = append(resolved.Artifacts, image)
			continue
		}
		resolved.Artifacts = append(resolved.Artifacts, image.among(choices[image.Name])...)
	}
	sortReported(resolved.Artifacts)
	return resolved.Fingerprints()
}

// choices are, by name, what an image of an unknown fingerprint may be.
func (r *Report) choices(before map[string]Artifact) map[string][]Artifact {
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
		if other, taken := fallback[image.Name]; !taken || isYounger(&artifact, &other) {
			fallback[image.Name] = artifact
		}
	}
	choices := map[string][]Artifact{}
	for _, artifact := range before {
		for _, name := range artifact.AllNames() {
			if unknown[name] && !reported[named{name, artifact.Fingerprint}] {
				choices[name] = append(choices[name], artifact)
			}
		}
	}
	for name, artifact := range fallback {
		if len(choices[name]) == 0 {
			choices[name] = []Artifact{artifact}
		}
	}
	return choices
}

func isYounger(a, b *Artifact) bool {
	return cmp.Or(cmp.Compare(a.NewestInstance(), b.NewestInstance()), cmp.Compare(a.Fingerprint, b.Fingerprint)) > 0
}

// among shares the instances of an image out among artifacts: one to each, the rest to the one that runs for the
// shortest time. Of more artifacts than instances it is the youngest.
func (r *Reported) among(choices []Artifact) []Reported {
	slices.SortFunc(choices, func(a, b Artifact) int {
		if isYounger(&a, &b) {
			return -1
		}
		return 1
	})
	choices = choices[:min(len(choices), len(r.CreatedAt))]
	// By what stays as it is when the report is repeated.
	slices.SortFunc(choices, func(a, b Artifact) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	var shares []Reported
	for i, artifact := range choices {
		share := *r
		share.Fingerprint = artifact.Fingerprint
		share.CreatedAt = r.CreatedAt[i : i+1 : i+1]
		if i == len(choices)-1 {
			share.CreatedAt = r.CreatedAt[i:]
		}
		shares = append(shares, share)
	}
	return shares
}
