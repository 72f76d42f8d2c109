package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"attestry/scripts/bench/benchtest/measure"
	"attestry/scripts/bench/benchtest/workload"
)

// comparisonRounds is how often this program and another one alternate.
const comparisonRounds = 3

// comparison is a workload as this program and another one have measured it in turns.
type comparison struct {
	Name string `json:"name"`
	// Own and Other are those of the rounds with the median throughput.
	Own   measure.Summary `json:"own"`
	Other measure.Summary `json:"other"`
	// Ratio is that of the two throughputs; Min and Max are those of single rounds.
	Ratio measure.Ratio `json:"ratio"`
}

// compare measures workloads by this program and by that of another commit in turns, each with its embedded stores.
func compare(ctx context.Context, chosen []workload.Workload, a arguments, directory string, messages io.Writer) ([]comparison, error) {
	var comparisons []comparison
	for _, w := range chosen {
		var own, other []measure.Summary
		for range comparisonRounds {
			results, err := measureAll(ctx, []workload.Workload{w}, a, directory, messages)
			if err != nil {
				return nil, err
			}
			theirs, err := runOther(ctx, a, w.Name(), directory)
			if err != nil {
				return nil, err
			}
			own, other = append(own, results[0].Service), append(other, theirs)
		}
		comparisons = append(comparisons, compareRounds(w.Name(), own, other))
	}
	return comparisons, nil
}

func runOther(ctx context.Context, a arguments, name, directory string) (measure.Summary, error) {
	command := exec.CommandContext(ctx, a.other, "--json", "--rows", name, "--seconds", fmt.Sprint(a.seconds), "--data", directory)
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		return measure.Summary{}, fmt.Errorf("%s: %w: %s", a.other, err, strings.TrimSpace(errs.String()))
	}
	var printed results
	if err := json.Unmarshal(out, &printed); err != nil {
		return measure.Summary{}, fmt.Errorf("%s printed no results: %w", a.other, err)
	}
	for _, result := range printed.Workloads {
		if result.Name == name {
			return result.Service, nil
		}
	}
	return measure.Summary{}, fmt.Errorf("%s does not know the workload %q", a.other, name)
}

func compareRounds(name string, own, other []measure.Summary) comparison {
	c := comparison{Name: name, Ratio: measure.Ratio{Min: own[0].PerSecond / other[0].PerSecond}}
	for i := range own {
		ratio := own[i].PerSecond / other[i].PerSecond
		c.Ratio.Min, c.Ratio.Max = min(c.Ratio.Min, ratio), max(c.Ratio.Max, ratio)
	}
	c.Own, c.Other = median(own), median(other)
	c.Ratio.Overall = c.Own.PerSecond / c.Other.PerSecond
	return c
}

func median(rounds []measure.Summary) measure.Summary {
	sorted := slices.SortedFunc(slices.Values(rounds), func(x, y measure.Summary) int { return cmp.Compare(x.PerSecond, y.PerSecond) })
	return sorted[len(sorted)/2]
}
