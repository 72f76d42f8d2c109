package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"attestry/scripts/bench/benchtest/measure"
	"attestry/scripts/bench/benchtest/results"
	"attestry/scripts/bench/benchtest/workload"
)

// comparisonRounds is how often this program and another one alternate.
const comparisonRounds = 3

// compare measures workloads by this program and by that of another commit in turns, each with its embedded stores.
func compare(ctx context.Context, chosen []workload.Workload, a arguments, directory string, messages io.Writer) ([]measure.Comparison, error) {
	var comparisons []measure.Comparison
	for _, w := range chosen {
		var own, other []measure.Summary
		for range comparisonRounds {
			measured, err := measureAll(ctx, []workload.Workload{w}, a, directory, messages)
			if err != nil {
				return nil, err
			}
			theirs, err := runOther(ctx, a, w.Name(), directory)
			if err != nil {
				return nil, err
			}
			own, other = append(own, measured[0].Service), append(other, theirs)
		}
		comparisons = append(comparisons, measure.Compare(w.Name(), own, other))
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
	var printed results.Results
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
