package period

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
)

// Sizes are the usual sizes of samples, by the frequency of a control (docs/semantics.md 26.4).
var Sizes = map[string]int{"yearly": 1, "quarterly": 2, "monthly": 2, "weekly": 5, "daily": 25, "many_daily": 40}

// By is the property by which a population is divided into strata.
type By string

// The properties. The verdict is that at the start of the deployment.
const (
	ByEnvironment By = "environment"
	ByVerdict     By = "verdict"
)

// Draw has the parameters of a sample: the auditor's seed, the number of rows, and the strata.
type Draw struct {
	Seed string `json:"seed"`
	Size int    `json:"size" doc:"How many rows, or how many of each stratum."`
	By   By     `json:"by" enum:",environment,verdict" doc:"What the strata are; empty if it was drawn of all."`
}

// Drawn is a member of a sample.
type Drawn struct {
	// Stratum is its environment or verdict, "" without strata.
	Stratum string
	ID      string
	// Rank is the SHA-256 of the seed, a line feed and the id, in hexadecimal digits.
	Rank string
}

// Sample draws the ids of the lowest ranks from each stratum.
type Sample struct {
	Draw
	kept map[string][]Drawn
	// Sizes are the numbers of ids by stratum.
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
