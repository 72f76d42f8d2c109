// Command bench measures the service over real connections of the loopback
// device, and in the same run a bare fiber handler that only reads and decodes
// the same requests. Absolute figures are the machine's; the ratio of the two is
// the service's.
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
	"os/signal"
	"strings"
	"syscall"
	"time"

	"attestry/app/evaluation"
	"attestry/scripts/bench/measure"
	"attestry/scripts/bench/workload"
)

func main() {
	evaluation.ServeChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// arguments are those of the command line.
type arguments struct {
	engines workload.Engines
	seconds float64
	rows    string
	data    string
	json    bool
}

func parse(args []string, messages io.Writer) (arguments, error) {
	var a arguments
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.Float64Var(&a.seconds, "seconds", 3, "how long each side of a row is measured, in `SECONDS`")
	flags.StringVar(&a.rows, "rows", "", "measure only the rows whose name contains `TEXT`")
	flags.StringVar(&a.data, "data", "", "`DIRECTORY` on the disk to measure, for temporary data (default: the system's)")
	flags.StringVar(&a.engines.Redis, "redis", "", "`URL` of a Redis that nothing else uses, instead of the one in memory")
	flags.StringVar(&a.engines.MongoDB, "mongodb", "", "`URI` of a MongoDB to use instead of SQLite")
	flags.StringVar(&a.engines.S3, "s3", "", "`URL` of a bucket, http(s)://ACCESS:SECRET@host:port/bucket, to use instead of files")
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
	return a, nil
}

// run measures the rows that were asked for and prints them to out.
func run(ctx context.Context, args []string, out, messages io.Writer) error {
	a, err := parse(args, messages)
	if err != nil {
		return err
	}
	chosen := matching(workload.All(), a.rows)
	if len(chosen) == 0 {
		return fmt.Errorf("no row's name contains %q", a.rows)
	}
	folder, err := os.MkdirTemp(a.data, "attestry-bench-")
	if err != nil {
		return err
	}
	found, err := survey(folder, args, a.engines)
	if err != nil {
		return errors.Join(err, os.RemoveAll(folder))
	}
	span := time.Duration(a.seconds * float64(time.Second))
	for _, r := range chosen {
		fmt.Fprintf(messages, "%s …\n", r.Name())
		result, err := r.Run(ctx, a.engines, folder, span)
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), os.RemoveAll(folder))
		}
		if err != nil {
			return fmt.Errorf("%s: %w (data and logs are left in %s)", r.Name(), err, folder)
		}
		found.Rows = append(found.Rows, result)
	}
	found.Growths = measure.Scalings(found.Rows)
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if a.json {
		return found.writeJSON(out)
	}
	return found.writeMarkdown(out)
}

func matching(all []workload.Workload, text string) []workload.Workload {
	var chosen []workload.Workload
	for _, r := range all {
		if strings.Contains(r.Name(), text) {
			chosen = append(chosen, r)
		}
	}
	return chosen
}
