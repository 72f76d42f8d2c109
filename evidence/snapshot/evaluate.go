package snapshot

import (
	"slices"

	"attestry/evidence"
)

// Known is the evaluation of a fingerprint by the facts that are stored when a report is processed.
type Known struct {
	// Origins are its newest records, one per flow, with its state there.
	Origins []Origin
	// Decisions are those of the applied policies; Compliant and Allowed follow from them.
	Decisions []Decision
	Compliant *bool
	Allowed   bool
	// FirstAt is when it first ran in the environment, in Unix seconds; 0 if it never did.
	FirstAt float64
}

// evaluate returns the artifacts of the next snapshot, sorted by fingerprint. An artifact that keeps running and is not
// in Known keeps the evaluation of the last snapshot.
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
			artifact.Origins = limitOrigins(known.Origins)
			artifact.Decisions, artifact.Compliant, artifact.Allowed = known.Decisions, known.Compliant, known.Allowed
		}
		artifacts = append(artifacts, artifact)
	}
	return artifacts
}

// sameProvenance reports whether two lists of origins refer to the same records.
func sameProvenance(a, b []Origin) bool {
	if len(a) != len(b) {
		return false
	}
	record := func(origin *Origin) [3]string { return [3]string{origin.Flow, origin.Trail, origin.Record} }
	records := evidence.SetOf(a, record)
	return !slices.ContainsFunc(b, func(origin Origin) bool { return !records[record(&origin)] })
}

// Lineage is the sequence of artifacts of one flow and reference name in an environment.
type Lineage struct {
	Flow, Slot string
}

// LineageOf is the lineage of an origin.
func LineageOf(origin *evidence.Origin) Lineage { return Lineage{Flow: origin.Flow, Slot: origin.Slot} }

// OriginIn returns the artifact's origin in a lineage, or nil.
func (a *Artifact) OriginIn(lineage Lineage) *Origin {
	for i := range a.Origins {
		if LineageOf(&a.Origins[i].Origin) == lineage {
			return &a.Origins[i]
		}
	}
	return nil
}
