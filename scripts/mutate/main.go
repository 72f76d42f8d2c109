// Command mutate is mutation testing of the core packages. It alters the code at random places, one at a time, runs the
// tests, and reports the alterations that no test has found. The working tree does not change.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"attestry/scripts/mutate/mutationtest"
)

func main() {
	var o mutationtest.Options
	flag.IntVar(&o.Count, "count", 60, "how many alterations to test")
	flag.Uint64Var(&o.Seed, "seed", 1, "chooses the alterations")
	least := flag.Int("least", 90, "the percentage of alterations that must be found")
	flag.DurationVar(&o.Timeout, "timeout", 5*time.Minute, "the time that the tests of one package may take")
	flag.BoolVar(&o.Stories, "stories", true, "let the tests of the whole service, which take minutes, look for what others have not found")
	flag.Parse()
	o.Patterns = flag.Args()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	found, tested, err := mutationtest.Run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
	fmt.Printf("%d of %d alterations found, seed %d\n", found, tested, o.Seed)
	if found*100 < *least*tested {
		fmt.Printf("less than %d %%\n", *least)
		os.Exit(1)
	}
}
