package snapshot

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
