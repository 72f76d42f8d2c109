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

// By says of what each so many rows are drawn.
type By string

// What rows can be drawn by. The verdict is that with which they began to run.
const (
	ByEnvironment By = "environment"
	ByVerdict     By = "verdict"
)

// Draw says which sample is drawn: so many rows, of each stratum if it is to be, by a seed that the auditor chooses.
type Draw struct {
	Seed string `json:"seed"`
	Size int    `json:"size" doc:"How many rows, or how many of each stratum."`
	By   By     `json:"by" enum:",environment,verdict" doc:"What the strata are; empty if it was drawn of all."`
}

// Drawn is a member of a sample.
type Drawn struct {
	// Stratum is the environment or the verdict that it was drawn of, "" if it was drawn of all.
	Stratum string
	ID      string
	// Rank is the SHA-256 of the seed, a line feed and the id, in hexadecimal digits.
	Rank string
}

// Sample draws, of each stratum, the ids whose ranks come first.
type Sample struct {
	Draw
	kept map[string][]Drawn
	// Sizes is how many ids each stratum has.
	Sizes map[string]int
}

// NewSample begins a sample.
func NewSample(draw Draw) *Sample {
	draw.Size = max(draw.Size, 0)
	return &Sample{Draw: draw, kept: map[string][]Drawn{}, Sizes: map[string]int{}}
}

// Add adds an id of the population, of an environment and with a verdict.
func (s *Sample) Add(environment, verdict, id string) {
	stratum := map[By]string{ByEnvironment: environment, ByVerdict: verdict}[s.By]
	sum := sha256.Sum256([]byte(s.Seed + "\n" + id))
	s.Sizes[stratum]++
	kept := append(s.kept[stratum], Drawn{Stratum: stratum, ID: id, Rank: hex.EncodeToString(sum[:])})
	if len(kept) > 2*s.Size+1000 {
		kept = s.first(kept)
	}
	s.kept[stratum] = kept
}

func (s *Sample) first(kept []Drawn) []Drawn {
	slices.SortFunc(kept, func(a, b Drawn) int { return cmp.Compare(a.Rank, b.Rank) })
	return kept[:min(len(kept), s.Size)]
}

// Drawn is the sample, by stratum and then by rank.
func (s *Sample) Drawn() (drawn []Drawn) {
	for _, stratum := range slices.Sorted(maps.Keys(s.kept)) {
		drawn = append(drawn, s.first(s.kept[stratum])...)
	}
	return drawn
}
