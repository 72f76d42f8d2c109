// Command capacity prints what a load needs: commands and bytes of the database, processors and processes, by what each
// operation was measured to cost (costs.tsv). docs/scaling.md says how to read it.
//
//	go run ./scripts/capacity -clusters 2000 -pods 100 -years 7
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	l := load{}
	flags := flag.NewFlagSet("capacity", flag.ContinueOnError)
	flags.SetOutput(errs)
	for _, number := range []struct {
		value       *float64
		name, usage string
		usual       float64
	}{
		{&l.Clusters, "clusters", "how many environments report", 2000},
		{&l.Pods, "pods", "how many pods each has", 100},
		{&l.Reports, "reports", "how many reports a minute each sends", 1},
		{&l.Changes, "changes", "how many of them a day change something", 50},
		{&l.Admissions, "admissions", "how many pods a day each asks for admission", 500},
		{&l.Pipelines, "pipelines", "how many pipelines run a day", 20000},
		{&l.Artifacts, "artifacts", "how many artifacts each reports", 1},
		{&l.Attestations, "attestations", "how many attestations each sends", 10},
		{&l.Asserts, "asserts", "how many verdicts each asks for", 2},
		{&l.Evidence, "evidence", "bytes of files of one attestation", 100e3},
		{&l.Years, "years", "for how long all is kept", 7},
		{&l.Peak, "peak", "the busiest second as a multiple of the average", 5},
		{&l.Busy, "busy", "the part of a processor that may be busy in it", 0.6},
		{&l.ShardCommands, "shard-commands", "how many commands a second a primary of the database is to answer", 10000},
		{&l.ShardBytes, "shard-bytes", "bytes of documents that it is to hold", 2e12},
	} {
		flags.Float64Var(number.value, number.name, number.usual, number.usage)
	}
	if err := flags.Parse(args); err != nil {
		if err == flag.ErrHelp {
			return 0
		}
		return 2
	}
	if err := l.check(flags); err != nil {
		fmt.Fprintln(errs, err)
		return 2
	}
	table, err := readCosts(costs)
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	fmt.Fprint(out, l.need(table))
	return 0
}
