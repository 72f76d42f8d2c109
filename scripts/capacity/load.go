package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"strings"
)

const day = 24 * 60 * 60

// load is what is to be served. The flags of main.go say what the numbers mean.
type load struct {
	Clusters, Pods, Reports, Changes, Admissions                 float64
	Pipelines, Artifacts, Attestations, Asserts, Evidence, Years float64
	Peak, Busy, ShardCommands, ShardBytes                        float64
}

// check returns an error that names all numbers that mean nothing.
func (l *load) check(flags *flag.FlagSet) error {
	var faults []error
	if flags.NArg() > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
	flags.VisitAll(func(f *flag.Flag) {
		value := f.Value.(flag.Getter).Get().(float64)
		if value < 0 || math.IsNaN(value) || math.IsInf(value, 0) {
			faults = append(faults, fmt.Errorf("-%s must not be negative or infinite", f.Name))
		}
	})
	for name, value := range map[string]float64{"busy": l.Busy, "peak": l.Peak, "shard-commands": l.ShardCommands, "shard-bytes": l.ShardBytes} {
		if value == 0 {
			faults = append(faults, fmt.Errorf("-%s must be greater than 0", name))
		}
	}
	if l.Changes > l.Reports*24*60 {
		faults = append(faults, errors.New("-changes are more than the -reports of a day"))
	}
	return errors.Join(faults...)
}

// rates are the operations of an average second. Admission of a pod that was judged within the last second costs less.
func (l *load) rates() map[string]float64 {
	return map[string]float64{
		"unchanged report": l.Clusters * (l.Reports/60 - l.Changes/day),
		"changed report":   l.Clusters * l.Changes / day,
		"artifact report":  l.Pipelines * l.Artifacts / day,
		"attestation":      l.Pipelines * l.Attestations / day,
		"assert":           l.Pipelines * l.Asserts / day,
		"admission":        l.Clusters * l.Admissions / day,
	}
}

// need is what the load needs, as Markdown.
func (l *load) need(table []cost) string {
	var text strings.Builder
	text.WriteString("| operation | a second, on average | at the peak | commands a second | of them write | MB a second | processors |\n|---|--:|--:|--:|--:|--:|--:|\n")
	var total, workers need
	rates := l.rates()
	for _, c := range table {
		one := c.at(rates[c.Operation]*l.Peak, l.Pods)
		fmt.Fprintf(&text, "| %s | %.2f | %.2f | %.1f | %.1f | %.3f | %.3f |\n", c.Operation, rates[c.Operation], rates[c.Operation]*l.Peak, one.Commands, one.Writes, one.Bytes/1e6, one.Processors)
		total = total.plus(one)
		if c.Operation == "changed report" {
			workers = one
		}
	}
	fmt.Fprintf(&text, "| **all** | | | %.1f | %.1f | %.3f | %.3f |\n\n", total.Commands, total.Writes, total.Bytes/1e6, total.Processors)
	written := total.Bytes / l.Peak * 365 * day * l.Years
	evidence := l.Pipelines * l.Attestations * l.Evidence * 365 * l.Years
	shards := []float64{total.Commands / l.ShardCommands, written / l.ShardBytes}
	fmt.Fprintf(&text, "- Processors of api processes: %.1f; of workers for reports: %.1f.\n", (total.Processors-workers.Processors)/l.Busy, workers.Processors/l.Busy)
	fmt.Fprintf(&text, "- Documents written in %g years: %.2f TB before compression; less is stored, as some replace others. Evidence in the object store: %.2f TB, the same content once.\n", l.Years, written/1e12, evidence/1e12)
	fmt.Fprintf(&text, "- The database: %.2f of a primary for commands, %.2f for bytes: %.0f shards.\n", shards[0], shards[1], math.Max(1, math.Ceil(math.Max(shards[0], shards[1]))))
	fmt.Fprintf(&text, "- First to be exhausted as the load grows: %s.\n", l.first(total, shards))
	return text.String()
}

// first names what one machine of two processors, or one primary, runs out of first.
func (l *load) first(total need, shards []float64) string {
	most, name := total.Processors/l.Busy/2, "the processors of an api machine of two (add api processes and workers)"
	if shards[0] > most {
		most, name = shards[0], "the commands of one primary (shard the database, or divide organizations among several)"
	}
	if shards[1] > most {
		name = "the disk of one primary (shard the database, or keep less)"
	}
	return name
}
