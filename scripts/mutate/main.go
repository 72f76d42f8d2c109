// Command mutate measures what the tests notice. It alters the code of core packages at random places, one at a time,
// runs the tests, and reports which alterations no test has found. The working tree does not change.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// corePackages are the packages altered where none are named.
var corePackages = []string{
	"./evidence/...", "./app/recording", "./app/states", "./app/facts", "./tasks/...", "./storage", "./storage/names",
	"./storage/pipelines", "./storage/environments", "./storage/governance", "./storage/tenancy", "./storage/notifications",
}

// maxMemory is how much memory each process may use, in bytes: an altered loop may allocate without end. The address
// space is not limited, as browsers reserve much more.
const maxMemory = 12 << 30

func main() {
	count := flag.Int("count", 60, "how many alterations to test")
	seed := flag.Uint64("seed", 1, "chooses the alterations")
	least := flag.Int("least", 90, "the percentage of alterations that must be found")
	timeout := flag.Duration("timeout", 5*time.Minute, "the time that the tests of one package may take")
	withStories := flag.Bool("stories", true, "let the tests of the whole service, which take minutes, look for what others have not found")
	flag.Parse()
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = corePackages
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tests := tests{ctx: ctx, timeout: *timeout, stories: *withStories}
	found, tested, err := run(tests, patterns, *count, *seed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
	fmt.Printf("%d of %d alterations found, seed %d\n", found, tested, *seed)
	if found*100 < *least*tested {
		fmt.Printf("less than %d %%\n", *least)
		os.Exit(1)
	}
}

// run tests alterations in a random order until count of them have compiled.
func run(tests tests, patterns []string, count int, seed uint64) (found, tested int, err error) {
	limit := syscall.Rlimit{Cur: maxMemory, Max: maxMemory}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &limit); err != nil {
		return 0, 0, fmt.Errorf("limit the memory: %w", err)
	}
	if tests.folder, err = os.MkdirTemp("", "mutate-"); err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(tests.folder)
	if err := tests.checkStories(); err != nil {
		return 0, 0, err
	}
	all, err := alterationsOf(patterns)
	if err != nil {
		return 0, 0, err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })

	for _, altered := range all {
		if tested == count {
			break
		}
		by, compiles, err := tests.find(altered)
		if err != nil {
			return found, tested, err
		}
		if !compiles {
			continue
		}
		tested++
		if by != "" {
			found++
			fmt.Printf("found      %s by %s\n", altered, by)
			continue
		}
		fmt.Printf("NOT FOUND  %s\n%s", altered, altered.diff())
	}
	return found, tested, nil
}

// alterationsOf lists all alterations of the packages.
func alterationsOf(patterns []string) ([]alteration, error) {
	list := exec.Command("go", append([]string{"list", "-f", `{{.ImportPath}} {{.Dir}}{{range .GoFiles}} {{.}}{{end}}`}, patterns...)...)
	list.Stderr = os.Stderr
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	var all []alteration
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		name, folder := fields[0], fields[1]
		if strings.HasSuffix(name, "test") {
			continue // helpers of tests
		}
		for _, file := range fields[2:] {
			path := filepath.Join(folder, file)
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			in, err := alterations(name, path, string(content))
			if err != nil {
				return nil, err
			}
			all = append(all, in...)
		}
	}
	return all, nil
}
