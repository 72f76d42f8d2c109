package snapshot

import (
	"cmp"
	"slices"

	"attestry/evidence"
)

// Known is what is known of a fingerprint when it is judged.
type Known struct {
	// Origins are its newest records, one of each flow, with its state there.
	Origins []Origin
	// FirstAt is when it first ran in the environment, in Unix seconds; 0 when it
	// never did.
	FirstAt float64
}

// Basis is what a report is judged on.
type Basis struct {
	// Before is what runs by the last snapshot, by fingerprint.
	Before map[string]Artifact
	// Number and Timestamp are those that the next snapshot will have.
	Number    int64
	Timestamp float64
	// Known holds what was looked up, by fingerprint. What runs on and is not there
	// is known as before.
	Known map[string]Known
}

// Evaluate judges what a report names, which must have its fingerprints resolved.
// It is the one place where an artifact gets its verdict. The artifacts are sorted
// by fingerprint.
func Evaluate(images []Reported, basis *Basis) []Artifact {
	artifacts := make([]Artifact, 0, len(images))
	for _, image := range images {
		artifact := Artifact{
			Fingerprint: image.Fingerprint,
			Name:        image.Name,
			Names:       image.names,
			CreatedAt:   image.CreatedAt,
			Pods:        image.Pods,
			Context:     image.Context,
			Since:       basis.Number,
			StartedAt:   basis.Timestamp,
			FirstAt:     basis.Timestamp,
		}
		known, looked := basis.Known[image.Fingerprint]
		if before, runs := basis.Before[image.Fingerprint]; runs {
			artifact.Since, artifact.StartedAt, artifact.FirstAt = before.Since, before.StartedAt, before.FirstAt
			artifact.Origins = before.Origins
		} else if known.FirstAt > 0 {
			artifact.FirstAt = known.FirstAt
		}
		if looked {
			artifact.Origins = known.Origins
		}
		artifacts = append(artifacts, artifact)
	}
	return artifacts
}

// Resolve gives the images whose fingerprint the reporter could not learn the one
// that the last snapshot has under their name (contract/semantics.md 4.2). Of several,
// it is one that is not reported under the name by itself, that of the youngest
// instance; where all are, or none is known, the youngest that is reported under it;
// where that is none either, they are left out. So the same report always comes to
// the same, whether it is compared with what ran before it or with what it has made.
// What is returned has one image per fingerprint, sorted.
func (r *Report) Resolve(before map[string]Artifact) []Reported {
	if !slices.ContainsFunc(r.Artifacts, func(image Reported) bool { return image.Fingerprint == "" }) {
		return r.Fingerprints()
	}
	type named struct{ name, fingerprint string }
	reported := map[named]bool{}
	fallback := map[string]Reported{}
	for _, image := range r.Artifacts {
		if image.Fingerprint == "" {
			continue
		}
		reported[named{image.Name, image.Fingerprint}] = true
		if other, taken := fallback[image.Name]; !taken || image.newest() >= other.newest() {
			fallback[image.Name] = image
		}
	}
	lost := map[string]Artifact{}
	for _, artifact := range before {
		for _, name := range artifact.AllNames() {
			other, taken := lost[name]
			if !reported[named{name, artifact.Fingerprint}] && (!taken || younger(&artifact, &other)) {
				lost[name] = artifact
			}
		}
	}
	resolved := Report{Type: r.Type}
	for _, image := range r.Artifacts {
		if image.Fingerprint == "" {
			image.Fingerprint = cmp.Or(lost[image.Name].Fingerprint, fallback[image.Name].Fingerprint)
		}
		if image.Fingerprint != "" {
			resolved.Artifacts = append(resolved.Artifacts, image)
		}
	}
	sortReported(resolved.Artifacts)
	return resolved.Fingerprints()
}

func younger(a, b *Artifact) bool {
	return cmp.Or(cmp.Compare(a.NewestInstance(), b.NewestInstance()), cmp.Compare(a.Fingerprint, b.Fingerprint)) > 0
}

// sameProvenance tells whether two lists of origins stand for the same records.
func sameProvenance(a, b []Origin) bool {
	if len(a) != len(b) {
		return false
	}
	type record struct{ flow, trail, record string }
	records := map[record]bool{}
	for _, origin := range a {
		records[record{origin.Flow, origin.Trail, origin.Record}] = true
	}
	return !slices.ContainsFunc(b, func(origin Origin) bool {
		return !records[record{origin.Flow, origin.Trail, origin.Record}]
	})
}

// Lineage is the succession of artifacts of a flow under one reference name in an
// environment.
type Lineage struct {
	Flow, Slot string
}

// LineageOf is the succession that an origin is in.
func LineageOf(origin *evidence.Origin) Lineage { return Lineage{Flow: origin.Flow, Slot: origin.Slot} }

// PreviousIn returns what an artifact's origin in a succession had as its
// predecessor, and whether the artifact was in it.
func (a *Artifact) PreviousIn(lineage Lineage) (*Predecessor, bool) {
	for i := range a.Origins {
		if LineageOf(&a.Origins[i].Origin) == lineage {
			return a.Origins[i].Previous, true
		}
	}
	return nil, false
}
