// Package mutationtest alters code, and checks whether tests fail because of it.
package mutationtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// corePackages are the packages that are altered by default.
var corePackages = []string{
	"./evidence/...", "./app/recording", "./app/states", "./app/facts", "./tasks/...", "./storage", "./storage/names",
	"./storage/pipelines", "./storage/environments", "./storage/governance", "./storage/tenancy", "./storage/notifications",
}

// maxMemory is how much memory each process may use, in bytes: an altered loop may allocate without end. The address
// space is not limited, as browsers reserve much more.
const maxMemory = 12 << 30

// Options say what is altered, and which tests run.
type Options struct {
	// Patterns match the packages that are altered. The default are corePackages.
	Patterns []string
	// Count is how many alterations are tested, and Seed chooses them.
	Count int
	Seed  uint64
	// Timeout is the time that the tests of one package may take.
	Timeout time.Duration
	// Stories also runs the tests of the whole service, if no others have failed.
	Stories bool
}

// Run tests alterations in the order of the seed until Count of them have compiled, and prints the result of each. It limits
// the memory of this process and of those that it starts.
func Run(ctx context.Context, o Options) (found, tested int, err error) {
	tests := tests{ctx: ctx, timeout: o.Timeout, stories: o.Stories}
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
	patterns := o.Patterns
	if len(patterns) == 0 {
		patterns = corePackages
	}
	all, err := alterationsOf(patterns)
	if err != nil {
		return 0, 0, err
	}
	all = arranged(all, o.Seed)
	for _, altered := range all {
		if tested == o.Count {
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

// arranged sorts alterations by a hash of what they change, so that a seed chooses the same ones until their lines
// change.
func arranged(all []alteration, seed uint64) []alteration {
	ranks := make(map[[sha256.Size]byte]alteration, len(all))
	repeated := map[string]int{}
	for _, altered := range all {
		change := fmt.Sprint(seed, altered.pkg, filepath.Base(altered.file), altered.diff())
		repeated[change]++
		ranks[sha256.Sum256([]byte(fmt.Sprint(change, repeated[change])))] = altered
	}
	sorted := make([]alteration, 0, len(all))
	for _, rank := range slices.SortedFunc(maps.Keys(ranks), func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) }) {
		sorted = append(sorted, ranks[rank])
	}
	return sorted
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
			continue // a helper package of tests
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
