package snapshot

import (
	"maps"
	"slices"

	"attestry/evidence/notification"
)

// Scaling maps fingerprints to the numbers of instances in the last report, where they differ from the last snapshot: a
// change of numbers makes no snapshot (docs/semantics.md 11.1).
type Scaling map[string]int

// Scale compares a report with the previous one. before are the artifacts of the last snapshot by fingerprint, changes
// the differences of the report to it, and last the scaling of the previous report. It returns the scaling of the
// report and the artifacts that keep running with another number of instances, sorted by fingerprint.
func Scale(before map[string]Artifact, changes []Change, last Scaling) (next Scaling, scaled []notification.Scaled) {
	next = Scaling{}
	ended := map[string]bool{}
	for _, c := range changes {
		switch {
		case c.Type == Exited:
			ended[c.Fingerprint] = true
		case !c.Type.Started() && c.Was != c.Now:
			next[c.Fingerprint] = c.Now
		}
	}
	either := maps.Clone(next)
	maps.Copy(either, last)
	for _, fingerprint := range slices.Sorted(maps.Keys(either)) {
		artifact, runs := before[fingerprint]
		if !runs || ended[fingerprint] {
			continue
		}
		was, now := last.of(&artifact), next.of(&artifact)
		if was != now {
			scaled = append(scaled, notification.Scaled{Fingerprint: fingerprint, Name: artifact.Name, Was: was, Now: now})
		}
	}
	return next, scaled
}

// of is the number of instances in the report of an artifact of the last snapshot.
func (s Scaling) of(artifact *Artifact) int {
	if n, ok := s[artifact.Fingerprint]; ok {
		return n
	}
	return artifact.Instances()
}
