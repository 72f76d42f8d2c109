// Command bench measures the service over connections of the loopback device, and in the same run a baseline: a fiber
// handler that only reads and decodes the same requests. Absolute figures depend on the machine, but their ratio
// depends on the service.
//
//	go run ./scripts/bench
//	go run ./scripts/bench --rows 'report changed' --seconds 10 --redis redis://127.0.0.1:6379/0
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"attestry/app/evaluation"
	"attestry/process"
	"attestry/scripts/bench/benchtest/measure"
	"attestry/scripts/bench/benchtest/results"
	"attestry/scripts/bench/benchtest/turns"
	"attestry/scripts/bench/benchtest/workload"
)

func main() {
	evaluation.ServeChild()
	process.TuneGC(process.DefaultGCPercent)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type arguments struct {
	engines workload.Engines
	seconds float64
	rows    string
	data    string
	// other is the executable to compare with, "" for none.
	other string
	json  bool
}

const usage = `Usage: go run ./scripts/bench [flags]

Before a workload is measured its data is made, which can take minutes for the large ones. One line
to standard error says when each begins.

Flags:`

func parse(args []string, messages io.Writer) (arguments, error) {
	var a arguments
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.Usage = func() {
		fmt.Fprintln(messages, usage)
		flags.PrintDefaults()
	}
	flags.Float64Var(&a.seconds, "seconds", 3, "how long each side of a workload is measured, in `SECONDS`")
	flags.StringVar(&a.rows, "rows", "", "measure only the workloads whose name contains `TEXT`")
	flags.StringVar(&a.data, "data", "", "`DIRECTORY` on the disk to measure, for temporary data (default: the system's)")
	flags.StringVar(&a.engines.Redis, "redis", "", "`URL` of a Redis that nothing else uses, instead of the one in memory")
	flags.StringVar(&a.engines.MongoDB, "mongodb", "", "`URI` of a MongoDB to use instead of Pebble")
	flags.StringVar(&a.engines.S3, "s3", "", "`URL` of a bucket, http(s)://ACCESS:SECRET@host:port/bucket, to use instead of files")
	flags.StringVar(&a.other, "other", "", "compare with `FILE`, this program built from another commit: both measure each workload in turns")
	flags.BoolVar(&a.json, "json", false, "print JSON instead of a Markdown table")
	if err := flags.Parse(args); err != nil {
		return a, err
	}
	if flags.NArg() > 0 {
		return a, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if a.seconds <= 0 {
		return a, errors.New("--seconds must be more than 0")
	}
	if a.other != "" {
		if _, err := exec.LookPath(a.other); err != nil {
			return a, fmt.Errorf("--other: %w", err)
		}
	}
	return a, nil
}

// run measures the workloads that args select, and prints the results to out.
func run(ctx context.Context, args []string, out, messages io.Writer) error {
	a, err := parse(args, messages)
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(workload.All(), func(w workload.Workload) bool { return !strings.Contains(w.Name(), a.rows) })
	if len(chosen) == 0 {
		return fmt.Errorf("no workload's name contains %q", a.rows)
	}
	r, err := results.New(args, a.engines, a.data)
	if err != nil {
		return err
	}
	directory, err := os.MkdirTemp(a.data, "attestry-bench-")
	if err != nil {
		return err
	}
	options := turns.Options{Engines: a.engines, Seconds: a.seconds, Directory: directory, Messages: messages}
	if a.other == "" {
		r.Workloads, err = options.Measure(ctx, chosen)
	} else {
		r.Comparisons, err = options.Compare(ctx, chosen, a.other)
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w (data and logs are left in %s)", err, directory)
	}
	if err := errors.Join(ctx.Err(), os.RemoveAll(directory)); err != nil {
		return err
	}
	r.Scalings = measure.Scalings(r.Workloads)
	if a.json {
		return r.WriteJSON(out)
	}
	return r.WriteMarkdown(out)
}
