// Command verify-package verifies an audit package, without a database, and without a network unless it is to
// read a transparency log: that its members are those of its manifest, that the verdicts in it follow from the
// facts in it, and, by the keys of the log, that the service has issued it and nothing was left out. It ends with 0
// if that holds, with 1 if something was altered or does not follow, or if verifying it takes more memory than
// allowed, and with 2 if the file is no package.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"attestry/app/evaluation"
	"attestry/app/population"
	"attestry/evidence/attestation"
	"attestry/evidence/audit"
	"attestry/evidence/period"
	"attestry/goroutine"
)

// The exit codes.
const (
	sound    = 0
	unsound  = 1
	unusable = 2
)

func main() {
	evaluation.ServeChild()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, true))
}

// run does what the arguments ask for and returns the exit code. A guarded process ends by itself when it
// nears the memory that it may take.
func run(args []string, out, errOut io.Writer, guarded bool) int {
	o, err := parse(args, out)
	switch {
	case errors.Is(err, errHelp):
		return sound
	case err != nil:
		fmt.Fprintf(errOut, "verify-package: %v\nTry 'verify-package --help'.\n", err)
		return unusable
	}
	file, err := os.Open(o.file)
	if err != nil {
		fmt.Fprintln(errOut, err)
		return unusable
	}
	defer file.Close()
	var member atomic.Value
	member.Store("")
	end := func() {}
	if guarded {
		end = guardMemory(o.memory, func() {
			fmt.Fprintf(out, "FAILED   %s: to verify the package takes more than %d MiB of memory; --memory allows more\n",
				printable(member.Load().(string)), o.memory>>20)
			os.Exit(unsound)
		})
	}
	digest := sha256.New()
	// Rules in the package may be hostile, so child processes with limits evaluate them.
	evaluator := evaluation.New(slog.New(slog.DiscardHandler))
	defer evaluator.Close()
	newVerifier := func() *audit.Verifier {
		verifier := audit.NewVerifier(func(definition attestation.Definition, payload json.RawMessage) (attestation.Verdict, error) {
			return evaluator.Evaluate(context.Background(), "", definition, payload)
		}, o.memory)
		verifier.Trust(o.Keys)
		return verifier
	}
	b := &bundle{newVerifier: newVerifier, counted: population.NewTotals(), drawn: period.NewSample(period.Draw{})}
	verifier, noted := newVerifier(), func(name string) { member.Store(name) }
	err = readArchive(io.TeeReader(file, digest), noted, func(path string, size int64, content io.Reader) error {
		// No package has this member, and bundles begin with it.
		if path == audit.PeriodPath || len(b.members) > 0 {
			return b.add(path, content)
		}
		return verifier.Add(path, size, content)
	})
	var result audit.Result
	if err == nil && len(b.members) == 0 {
		result, err = finish(verifier, noted)
	}
	end()
	if o.sha256 != "" {
		if err := compareDigest(file, digest, o.sha256); err != nil {
			fmt.Fprintf(out, "FAILED   %s\n", printable(err.Error()))
			return unsound
		}
	}
	var unreadable *unreadableError
	switch {
	case errors.As(err, &unreadable):
		fmt.Fprintf(errOut, "%s is no audit package: %s\n", o.file, printable(err.Error()))
		return unusable
	case err != nil:
		fmt.Fprintf(out, "FAILED   %s\n", printable(err.Error()))
		return unsound
	}
	if len(b.members) > 0 {
		return b.print(out, &o)
	}
	compared, err := compareLog(context.Background(), &o, &result)
	if err != nil {
		fmt.Fprintf(out, "FAILED   %s\n", printable("the log "+o.log+" cannot be read: "+err.Error()))
		return unsound
	}
	if err := printResult(out, &result, &o, compared); err != nil || len(result.Findings) > 0 {
		return unsound
	}
	return sound
}

// compareDigest reads the file to its end and compares its SHA-256 with the one that is wanted.
func compareDigest(file io.Reader, digest hash.Hash, want string) error {
	if _, err := io.Copy(digest, file); err != nil {
		return err
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != want {
		return fmt.Errorf("the file is another one: its SHA-256 is %s, not %s", got, want)
	}
	return nil
}

const (
	// programSize is what the process takes beside the memory of the Go runtime, in bytes.
	programSize = 14 << 20
	// collectedShare and endedShare are at which shares of the rest garbage is collected without pause,
	// and the process ends. The rest is for what is allocated between two looks.
	collectedShare = 0.75
	endedShare     = 0.9
	// lookInterval is how often a guard looks.
	lookInterval = time.Millisecond
)

// guardMemory begins to look how much memory the process has, and calls exceeded, which ends it, when that nears a number
// of bytes. The sizes of documents are bounded, so that it cannot take much more in one step. It looks until end is called.
func guardMemory(memory int64, exceeded func()) (end func()) {
	own := float64(memory - programSize)
	debug.SetMemoryLimit(int64(own * collectedShare))
	// What the Go runtime has, and what of it was given back.
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	_, end = goroutine.Every(context.Background(), lookInterval, func(context.Context) error {
		metrics.Read(samples)
		if inUse := samples[0].Value.Uint64() - samples[1].Value.Uint64(); float64(inUse) > own*endedShare {
			exceeded()
		}
		return nil
	})
	return end
}
