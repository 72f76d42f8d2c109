// Command faultstest tests that the service loses nothing. It starts the service, lets writers send trails, artifacts,
// attestations and reports, and meanwhile kills and pauses processes, fills the disk and changes clocks. Then it
// compares all acknowledged facts with those in the API, in notifications and in the transparency log. The exit status
// is 1 if a fact is lost, doubled or misnumbered, or has a wrong verdict.
//
//	./scripts/faults              # all in one process
//	./scripts/faults --cluster    # api and worker processes with Redis, MinIO and a MongoDB-compatible server
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// maxPrinted bounds the findings that are printed.
const maxPrinted = 50

func main() {
	cluster := flag.Bool("cluster", false, "test api and worker processes with the stores of scripts/services")
	duration := flag.Duration("duration", 3*time.Minute, "how long faults are injected; each is injected at least once")
	writers := flag.Int("writers", 16, "how many write at the same time")
	pause := flag.Duration("pause", 100*time.Millisecond, "how long a writer pauses after each request")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *cluster, *duration, *writers, *pause); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cluster bool, duration time.Duration, writers int, pause time.Duration) error {
	if writers < 1 {
		return errors.New("--writers must be at least 1")
	}
	folder, err := os.MkdirTemp("", "attestry-faults-")
	if err != nil {
		return err
	}
	s, err := open(ctx, folder, cluster)
	if err == nil {
		err = test(ctx, s, duration, writers, pause)
	}
	if err = errors.Join(err, s.close()); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w\ndata and logs are left in %s; unmount %s before you remove them", err, folder, s.disk())
	}
	return errors.Join(err, s.remove())
}

// test runs writers and faults, waits until the service has finished its work, and prints the findings.
func test(ctx context.Context, s *system, duration time.Duration, writers int, pause time.Duration) error {
	t, err := prepare(ctx, s, writers, pause)
	if err != nil {
		return err
	}
	defer t.receiver.server.Close()
	if err := t.run(ctx, duration, os.Stdout); err != nil {
		return err
	}
	for _, fault := range s.leftOut {
		fmt.Printf("\nLeft out: %s.\n", fault)
	}
	l, took, err := t.awaitFacts(ctx)
	if err == nil && len(l.compare()) > 0 {
		l, took, err = t.awaitLaterFacts(ctx, l, os.Stdout)
	}
	if err == nil {
		err = t.checkPackages(ctx, l)
	}
	if err != nil {
		return err
	}
	fmt.Printf("\nThe service was at rest after %.0f s.\n\n", took.Seconds())
	return printLedger(os.Stdout, l)
}

// printLedger prints the number of wanted facts of each kind, and the findings. It returns an error if there are any.
func printLedger(out io.Writer, l *ledger) error {
	findings, counts := l.compare(), map[string]int{}
	for name, n := range l.want {
		counts[kindOf(name)] += n
	}
	for _, f := range findings {
		counts[f.fault+kindOf(f.name)]++
	}
	fmt.Fprint(out, "| kind | acknowledged | lost | twice | unexpected |\n|---|---|---|---|---|\n")
	for _, kind := range []string{"trail", "artifact", "attestation", "snapshot", "notice", "entry", "package"} {
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d |\n", kind, counts[kind], counts[lost+kind], counts[twice+kind], counts[unexpected+kind])
	}
	if len(findings) == 0 {
		return nil
	}
	printFindings(out, findings)
	return fmt.Errorf("%d findings", len(findings))
}

func printFindings(out io.Writer, findings []finding) {
	for _, f := range findings[:min(len(findings), maxPrinted)] {
		fmt.Fprintf(out, "%s: %s\n", f.fault, f.name)
	}
}
