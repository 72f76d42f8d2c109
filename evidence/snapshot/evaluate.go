package snapshot

import (
	"slices"

	"attestry/evidence"
)

// Known is what is known of a fingerprint when a report is evaluated.
type Known struct {
	// Origins are its newest records, one of each flow, with its state there.
	Origins []Origin
	// Decisions are those of the applied policies; Compliant and Allowed follow from them.
	Decisions []Decision
	Compliant *bool
	Allowed   bool
	// FirstAt is when it first ran in the environment, in Unix seconds; 0 when it never did.
	FirstAt float64
}

// evaluate makes the artifacts of the next snapshot, sorted by fingerprint. What runs on and is not in Known keeps what
// the last snapshot has.
func (in *Input) evaluate(next *Snapshot) []Artifact {
	artifacts := make([]Artifact, 0, len(in.Images))
	for _, image := range in.Images {
		artifact := Artifact{Reported: image, Since: next.Number, StartedAt: next.Timestamp, FirstAt: next.Timestamp}
		known, ok := in.Known[image.Fingerprint]
		if before, runs := in.Before[image.Fingerprint]; runs {
			artifact.Since, artifact.StartedAt, artifact.FirstAt = before.Since, before.StartedAt, before.FirstAt
			artifact.Origins = before.Origins
			artifact.Decisions, artifact.Compliant, artifact.Allowed = before.Decisions, before.Compliant, before.Allowed
		} else if known.FirstAt > 0 {
			artifact.FirstAt = known.FirstAt
		}
		if ok {
			artifact.Origins = bounded(known.Origins)
			artifact.Decisions, artifact.Compliant, artifact.Allowed = known.Decisions, known.Compliant, known.Allowed
		}
		artifacts = append(artifacts, artifact)
	}
	return artifacts
}

// sameProvenance reports whether two lists of origins are of the same records.
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

// Lineage is a sequence of artifacts in an environment, those of a flow under one reference name.
type Lineage struct {
	Flow, Slot string
}

// LineageOf is the lineage that an origin is in.
func LineageOf(origin *evidence.Origin) Lineage { return Lineage{Flow: origin.Flow, Slot: origin.Slot} }

// OriginIn returns the artifact's origin in a lineage, nil if it is not in it.
func (a *Artifact) OriginIn(lineage Lineage) *Origin {
	for i := range a.Origins {
		if LineageOf(&a.Origins[i].Origin) == lineage {
			return &a.Origins[i]
		}
	}
	return nil
}
