package snapshot

import (
	"fmt"
	"slices"

	"attestry/evidence"
)

// Annotation says how an artifact differs from the previous snapshot (docs/semantics.md 11.2).
type Annotation string

// The annotations.
const (
	StartedCompliant    Annotation = "started-compliant"
	StartedNonCompliant Annotation = "started-non-compliant"
	StartedUnknown      Annotation = "started-unknown"
	BecameCompliant     Annotation = "became-compliant"
	BecameNonCompliant  Annotation = "became-non-compliant"
	UpdatedProvenance   Annotation = "updated-provenance"
	Changed             Annotation = "changed"
	Unchanged           Annotation = "unchanged"
	Exited              Annotation = "exited"
)

// Changer is the cause of a changed verdict.
type Changer string

// The causes that change the verdict of an artifact that keeps running.
const (
	ByAllowList Changer = "allow_list"
	ByPolicies  Changer = "policies" // attached, detached or with a new version
	ByEvidence  Changer = "evidence" // records in flows
)

// Started reports whether the artifact began to run with the snapshot.
func (a Annotation) Started() bool {
	return a == StartedCompliant || a == StartedNonCompliant || a == StartedUnknown
}

// Change is what happened to one artifact between two snapshots. Artifacts without a Change keep running.
type Change struct {
	Fingerprint string     `json:"fingerprint"`
	Name        string     `json:"name"`
	Type        Annotation `json:"type"`
	Was         int        `json:"was"` // instances before
	Now         int        `json:"now"` // instances now
	Compliant   *bool      `json:"compliant"`
	// Learned is true if the artifact keeps running and got its first origin: no flow had a record of it before.
	Learned bool `json:"learned,omitempty"`
	// By is what changed the verdict of an artifact that keeps running, "" if unknown.
	By Changer `json:"by,omitempty"`
	// Newest is the latest start of an instance, in Unix seconds. Responses are ordered by it.
	Newest int64 `json:"newest"`
	// Former is the artifact as it last ran. It is set only with Exited: the snapshot's tree no longer has the artifact.
	Former *Artifact `json:"former,omitempty"`
}

// Diff returns the changes between artifacts that two snapshots do not share, all sorted by fingerprint.
func Diff(before, after []Artifact) []Change { return diff(before, after, false) }

// diff is Diff of two whole snapshots. If policies or their versions changed, all that keep running are changed.
func diff(before, after []Artifact, policiesChanged bool) []Change {
	var changes []Change
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Fingerprint < after[0].Fingerprint:
			former := before[0]
			one := newChange(former, Exited, former.Instances())
			one.Now, one.Former = 0, &former
			changes, before = append(changes, one), before[1:]
		case len(before) == 0 || after[0].Fingerprint < before[0].Fingerprint:
			started := evidence.Judged(after[0].Compliant, StartedUnknown, StartedCompliant, StartedNonCompliant)
			changes = append(changes, newChange(after[0], started, 0))
			after = after[1:]
		default:
			kind, was := annotationOf(before[0], after[0]), before[0].Instances()
			if kind == Unchanged && policiesChanged {
				kind = Changed
			}
			if kind != Unchanged || was != after[0].Instances() {
				one := newChange(after[0], kind, was)
				one.By = changedBy(kind, &before[0], &after[0], policiesChanged)
				one.Learned = len(before[0].Origins) == 0 && len(after[0].Origins) > 0
				changes = append(changes, one)
			}
			before, after = before[1:], after[1:]
		}
	}
	return changes
}

// changedBy returns what changed the verdict of an artifact that keeps running. If it is neither the allow list nor the
// policies, it is the evidence. Without policies, an artifact has no verdict and the allow list is not read.
func changedBy(kind Annotation, before, after *Artifact, policiesChanged bool) Changer {
	switch {
	case kind == Unchanged || kind == UpdatedProvenance:
		return ""
	case before.Allowed != after.Allowed && before.Compliant != nil && after.Compliant != nil:
		return ByAllowList
	case policiesChanged || before.Allowed != after.Allowed:
		return ByPolicies
	}
	return ByEvidence
}

// Significant reports whether changes need a new snapshot. Numbers of instances do not (docs/semantics.md 11.1).
func Significant(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Type != Unchanged })
}

func newChange(artifact Artifact, kind Annotation, was int) Change {
	return Change{
		Fingerprint: artifact.Fingerprint, Name: artifact.Name, Type: kind, Was: was, Now: artifact.Instances(),
		Compliant: artifact.Compliant, Newest: artifact.NewestInstance(),
	}
}

// annotationOf compares an artifact in both snapshots. Losing a verdict is a change (docs/semantics.md 11.2).
func annotationOf(before, after Artifact) Annotation {
	same := evidence.Equal(before.Compliant, after.Compliant)
	switch {
	case same && !sameProvenance(before.Origins, after.Origins):
		return UpdatedProvenance
	case same && sameDecisions(&before, &after):
		return Unchanged
	case same:
		return Changed
	}
	return evidence.Judged(after.Compliant, Changed, BecameCompliant, BecameNonCompliant)
}

// sameDecisions reports whether two artifacts passed and failed the same rules and have the same shortfalls.
func sameDecisions(a, b *Artifact) bool {
	return slices.EqualFunc(a.Decisions, b.Decisions, func(a, b Decision) bool { return a.Rules == b.Rules }) &&
		slices.EqualFunc(a.Origins, b.Origins, func(a, b Origin) bool { return a.Shortfall.Equal(b.Shortfall) })
}

// artifact is the artifact that changed. running are the artifacts of the snapshot, by fingerprint.
func (c *Change) artifact(running map[string]Artifact) Artifact {
	if c.Former != nil {
		return *c.Former
	}
	return running[c.Fingerprint]
}

// Description is the sentence of the event log about the change (docs/semantics.md 13.1).
func (c *Change) Description() string {
	switch {
	case c.Type == Exited:
		return fmt.Sprintf("%s stopped running (from %d to 0)", evidence.Count(c.Was, "instance"), c.Was)
	case c.Type.Started():
		return fmt.Sprintf("%s started running (from 0 to %d)", evidence.Count(c.Now, "instance"), c.Now)
	default:
		return evidence.Count(c.Now, "instance") + " changed"
	}
}

// RunsOn is the Change of an artifact that keeps running unchanged.
func RunsOn(artifact Artifact) Change { return newChange(artifact, Unchanged, artifact.Instances()) }

// Comparison compares the running artifacts of two snapshots by fingerprint (docs/semantics.md 13.3), without exited
// ones.
type Comparison struct {
	OnlyFirst, OnlySecond []Artifact
	// Changed run in both with different numbers of instances, Same with equal ones.
	Changed, Same []Pair
}

// Pair is an artifact in two snapshots.
type Pair struct{ First, Second Artifact }

// Compare compares the artifacts of two snapshots, both sorted by fingerprint.
func Compare(first, second []Artifact) Comparison {
	var c Comparison
	for len(first) > 0 && len(second) > 0 {
		switch {
		case first[0].Fingerprint < second[0].Fingerprint:
			c.OnlyFirst, first = append(c.OnlyFirst, first[0]), first[1:]
		case second[0].Fingerprint < first[0].Fingerprint:
			c.OnlySecond, second = append(c.OnlySecond, second[0]), second[1:]
		default:
			if pair := (Pair{first[0], second[0]}); pair.First.Instances() == pair.Second.Instances() {
				c.Same = append(c.Same, pair)
			} else {
				c.Changed = append(c.Changed, pair)
			}
			first, second = first[1:], second[1:]
		}
	}
	c.OnlyFirst = append(c.OnlyFirst, first...)
	c.OnlySecond = append(c.OnlySecond, second...)
	return c
}

// CompareTree compares the snapshot whose tree has the given root with the second one's tree. It fetches only the
// chunks that they do not share, with one fetch per level at which they differ.
func CompareTree(root string, second *Tree, fetch Fetch) (Comparison, error) {
	difference, err := second.Compare(root, fetch)
	if err != nil {
		return Comparison{}, err
	}
	comparison := Compare(difference.Before, difference.After)
	for id, chunk := range second.Chunks {
		if _, differs := difference.Chunks[id]; differs {
			continue
		}
		for _, artifact := range chunk.Artifacts {
			comparison.Same = append(comparison.Same, Pair{First: artifact, Second: artifact})
		}
	}
	return comparison, nil
}
