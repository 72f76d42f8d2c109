package period

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
)

// sizes are the usual sizes of samples, by how often something is done (docs/semantics.md 26.4).
var sizes = map[string]int{"yearly": 1, "quarterly": 2, "monthly": 2, "weekly": 5, "daily": 25, "many_daily": 40}

// SizeFor is the usual size of a sample of what is done that often, 0 for a frequency that is not known.
func SizeFor(frequency string) int { return sizes[frequency] }

// Drawn is a member of a sample.
type Drawn struct {
	Stratum string
	ID      string
	// Rank is the SHA-256 of the seed, a line feed and the id, in hexadecimal digits.
	Rank string
}

// Sample draws, of each stratum, the ids whose ranks come first.
type Sample struct {
	seed string
	size int
	kept map[string][]Drawn
	// Sizes is how many ids each stratum has.
	Sizes map[string]int
}

// NewSample begins a sample of so many ids of each stratum.
func NewSample(seed string, size int) *Sample {
	return &Sample{seed: seed, size: size, kept: map[string][]Drawn{}, Sizes: map[string]int{}}
}

// Add adds an id of the population.
func (s *Sample) Add(stratum, id string) {
	sum := sha256.Sum256([]byte(s.seed + "\n" + id))
	s.Sizes[stratum]++
	kept := append(s.kept[stratum], Drawn{Stratum: stratum, ID: id, Rank: hex.EncodeToString(sum[:])})
	if len(kept) > 2*s.size+1000 {
		kept = s.first(kept)
	}
	s.kept[stratum] = kept
}

func (s *Sample) first(kept []Drawn) []Drawn {
	slices.SortFunc(kept, func(a, b Drawn) int { return cmp.Compare(a.Rank, b.Rank) })
	return kept[:min(len(kept), s.size)]
}

// Drawn is the sample, by stratum and then by rank.
func (s *Sample) Drawn() (drawn []Drawn) {
	for _, stratum := range slices.Sorted(maps.Keys(s.kept)) {
		drawn = append(drawn, s.first(s.kept[stratum])...)
	}
	return drawn
}
