package measure

import (
	"cmp"
	"slices"
)

// Comparison compares a workload of this program and another one, measured in turns.
type Comparison struct {
	Name string `json:"name"`
	// Own and Other are the rounds with the median throughput.
	Own   Summary `json:"own"`
	Other Summary `json:"other"`
	// Ratio is that of the throughputs. Min and Max are the ratios of single rounds.
	Ratio Ratio `json:"ratio"`
}

// Compare compares the rounds of a workload of this program and another one.
func Compare(name string, own, other []Summary) Comparison {
	c := Comparison{Name: name, Ratio: Ratio{Min: own[0].PerSecond / other[0].PerSecond}}
	for i := range own {
		ratio := own[i].PerSecond / other[i].PerSecond
		c.Ratio.Min, c.Ratio.Max = min(c.Ratio.Min, ratio), max(c.Ratio.Max, ratio)
	}
	c.Own, c.Other = median(own), median(other)
	c.Ratio.Overall = c.Own.PerSecond / c.Other.PerSecond
	return c
}

// median returns the round with the median throughput.
func median(rounds []Summary) Summary {
	sorted := slices.SortedFunc(slices.Values(rounds), func(x, y Summary) int { return cmp.Compare(x.PerSecond, y.PerSecond) })
	return sorted[len(sorted)/2]
}

// CPURatio is the ratio of the processor time of the other program to that of this one.
func (c Comparison) CPURatio() float64 { return c.Other.CPU / c.Own.CPU }
