package snapshot

import (
	"fmt"
	"slices"

	"attestry/evidence"
)

// Annotation says how an artifact of a snapshot differs from the snapshot before (docs/semantics.md 11.2).
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

// Changer is what changes verdicts.
type Changer string

// What changes the verdict of an artifact that runs on.
const (
	ByAllowList Changer = "allow_list"
	ByPolicies  Changer = "policies" // others, or other versions of them
	ByEvidence  Changer = "evidence" // what is recorded of it in flows
)

// Started reports whether the artifact began to run with the snapshot.
func (a Annotation) Started() bool {
	return a == StartedCompliant || a == StartedNonCompliant || a == StartedUnknown
}

// Change is what happened to one artifact between two snapshots. Artifacts without a Change run on.
type Change struct {
	Fingerprint string     `json:"fingerprint"`
	Name        string     `json:"name"`
	Type        Annotation `json:"type"`
	Was         int        `json:"was"` // instances before
	Now         int        `json:"now"` // instances now
	Compliant   *bool      `json:"compliant"`
	// Learned tells that no flow had known the artifact before, which runs on.
	Learned bool `json:"learned,omitempty"`
	// By is what changed the verdict of an artifact that runs on, "" where that is not known.
	By Changer `json:"by,omitempty"`
	// Newest is the start of the youngest instance, in Unix seconds; it orders answers.
	Newest int64 `json:"newest"`
	// Former is the artifact as it last ran; only with Exited, as the tree of the snapshot no longer holds it.
	Former *Artifact `json:"former,omitempty"`
}

// Diff returns the changes between artifacts that two snapshots do not share, all sorted by fingerprint.
func Diff(before, after []Artifact) []Change { return diff(before, after, false) }

// diff is Diff of two whole snapshots. With other policies, or other versions of them, all that runs on has changed.
func diff(before, after []Artifact, otherPolicies bool) []Change {
	var changes []Change
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Fingerprint < after[0].Fingerprint:
			former := before[0]
			one := change(former, Exited, former.Instances())
			one.Now, one.Former = 0, &former
			changes, before = append(changes, one), before[1:]
		case len(before) == 0 || after[0].Fingerprint < before[0].Fingerprint:
			changes = append(changes, change(after[0], started(after[0].Compliant), 0))
			after = after[1:]
		default:
			kind, was := changedVerdict(before[0], after[0]), before[0].Instances()
			if kind == Unchanged && otherPolicies {
				kind = Changed
			}
			if kind != Unchanged || was != after[0].Instances() {
				one := change(after[0], kind, was)
				one.By = changedBy(kind, &before[0], &after[0], otherPolicies)
				one.Learned = len(before[0].Origins) == 0 && len(after[0].Origins) > 0
				changes = append(changes, one)
			}
			before, after = before[1:], after[1:]
		}
	}
	return changes
}

// changedBy says what changed the verdict of an artifact that runs on. What is recorded in flows is left when the allow
// list and the policies are as before.
func changedBy(kind Annotation, before, after *Artifact, otherPolicies bool) Changer {
	switch {
	case kind == Unchanged || kind == UpdatedProvenance:
		return ""
	case before.Allowed != after.Allowed:
		return ByAllowList
	case otherPolicies:
		return ByPolicies
	}
	return ByEvidence
}

// Significant reports whether changes need a new snapshot. Instance numbers do not (docs/semantics.md 11.1).
func Significant(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Type != Unchanged })
}

func change(artifact Artifact, kind Annotation, was int) Change {
	return Change{
		Fingerprint: artifact.Fingerprint, Name: artifact.Name, Type: kind, Was: was, Now: artifact.Instances(),
		Compliant: artifact.Compliant, Newest: artifact.NewestInstance(),
	}
}

func started(compliant *bool) Annotation {
	switch {
	case compliant == nil:
		return StartedUnknown
	case *compliant:
		return StartedCompliant
	default:
		return StartedNonCompliant
	}
}

// changedVerdict compares an artifact in both snapshots. Losing a verdict is a change (docs/semantics.md 11.2).
func changedVerdict(before, after Artifact) Annotation {
	same := evidence.Equal(before.Compliant, after.Compliant)
	switch {
	case same && !sameProvenance(before.Origins, after.Origins):
		return UpdatedProvenance
	case same && sameDecisions(&before, &after):
		return Unchanged
	case same:
		return Changed
	case after.Compliant == nil:
		return Changed
	case *after.Compliant:
		return BecameCompliant
	default:
		return BecameNonCompliant
	}
}

// sameDecisions reports whether two artifacts passed and failed the same rules and lack the same in their trails.
func sameDecisions(a, b *Artifact) bool {
	return slices.EqualFunc(a.Decisions, b.Decisions, func(a, b Decision) bool { return a.Rules == b.Rules }) &&
		slices.EqualFunc(a.Origins, b.Origins, func(a, b Origin) bool { return a.Shortfall.Equal(b.Shortfall) })
}

// artifact is what the change happened to, of those that run in its snapshot.
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

// RunsOn is the change of an artifact to which nothing happened.
func RunsOn(artifact Artifact) Change { return change(artifact, Unchanged, artifact.Instances()) }

// Comparison is how what runs by one snapshot differs from what runs by another, by
// fingerprint (docs/semantics.md 13.3). Exited artifacts do not take part.
type Comparison struct {
	OnlyFirst, OnlySecond []Artifact
	// Changed run by both, in other numbers of instances.
	Changed []Pair
	// Same run by both, in the same number.
	Same []Pair
}

// Pair is an artifact as it runs by two snapshots.
type Pair struct{ First, Second Artifact }

// Compare compares what runs by two snapshots, both sorted by fingerprint.
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

// CompareTree compares what runs by a snapshot, known by the root of its tree, with the second one's tree. It fetches
// only the chunks that they do not share: one fetch per level at which they differ.
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
