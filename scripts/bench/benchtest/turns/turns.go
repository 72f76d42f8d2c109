// Package turns measures workloads with this program, or with it and another one in turns.
package turns

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"attestry/scripts/bench/benchtest/measure"
	"attestry/scripts/bench/benchtest/results"
	"attestry/scripts/bench/benchtest/workload"
)

// rounds is how often two programs alternate.
const rounds = 3

// Options say how workloads are measured.
type Options struct {
	// Engines are those of this program. Another program uses its embedded ones.
	Engines workload.Engines
	// Seconds is how long each side of a workload is measured.
	Seconds float64
	// Directory is for the data.
	Directory string
	// Messages gets a line at the beginning of each measurement.
	Messages io.Writer
}

// Measure measures workloads with this program.
func (o Options) Measure(ctx context.Context, chosen []workload.Workload) ([]measure.Result, error) {
	var measured []measure.Result
	for _, w := range chosen {
		fmt.Fprintf(o.Messages, "%s: %s …\n", w.Name(), w.Measures())
		result, err := w.Run(ctx, o.Engines, o.Directory, time.Duration(o.Seconds*float64(time.Second)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.Name(), err)
		}
		measured = append(measured, result)
	}
	return measured, nil
}

// Compare measures workloads with this program and the one of another commit in turns.
func (o Options) Compare(ctx context.Context, chosen []workload.Workload, other string) ([]measure.Comparison, error) {
	var comparisons []measure.Comparison
	for _, w := range chosen {
		var own, others []measure.Summary
		for range rounds {
			measured, err := o.Measure(ctx, []workload.Workload{w})
			if err != nil {
				return nil, err
			}
			theirs, err := o.measureBy(ctx, other, w.Name())
			if err != nil {
				return nil, err
			}
			own, others = append(own, measured[0].Service), append(others, theirs)
		}
		comparisons = append(comparisons, measure.Compare(w.Name(), own, others))
	}
	return comparisons, nil
}

// measureBy measures a workload with another program.
func (o Options) measureBy(ctx context.Context, other, name string) (measure.Summary, error) {
	command := exec.CommandContext(ctx, other, "--json", "--rows", name, "--seconds", fmt.Sprint(o.Seconds), "--data", o.Directory)
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		return measure.Summary{}, fmt.Errorf("%s: %w: %s", other, err, strings.TrimSpace(errs.String()))
	}
	var printed results.Results
	if err := json.Unmarshal(out, &printed); err != nil {
		return measure.Summary{}, fmt.Errorf("%s printed no results: %w", other, err)
	}
	for _, result := range printed.Workloads {
		if result.Name == name {
			return result.Service, nil
		}
	}
	return measure.Summary{}, fmt.Errorf("%s does not know the workload %q", other, name)
}
