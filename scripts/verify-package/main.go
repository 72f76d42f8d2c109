// Command verify-package verifies an audit package without a database, and without a network unless it reads a
// transparency log. It checks that the members are those of the manifest, that the verdicts follow from the facts in
// the package, and, with the keys of the log, that the service has issued it and nothing was left out. The exit status
// is 0 if that holds, 1 if something was altered or does not follow, or if more memory than allowed is needed, and 2 if
// the file is not a package.
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

	"attestry/app/evaluation"
	"attestry/app/population"
	"attestry/evidence/attestation"
	"attestry/evidence/audit"
	"attestry/evidence/period"
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

// run verifies a package and returns the exit code. If guarded, the process exits when its memory nears the limit.
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
	setMember, end := func(string) {}, func() {}
	if guarded {
		setMember, end = watchMemory(&o, out)
	}
	digest := sha256.New()
	// Rules in the package may be hostile, so child processes with limits evaluate them.
	evaluator := evaluation.NewVerifier(slog.New(slog.DiscardHandler))
	defer evaluator.Close()
	newVerifier := func() *audit.Verifier {
		verifier := audit.NewVerifier(func(definition attestation.Definition, payload json.RawMessage) (attestation.Verdict, error) {
			return evaluator.Evaluate(context.Background(), "", definition, payload)
		}, o.memory)
		verifier.Trust(o.Keys)
		return verifier
	}
	b := &bundle{newVerifier: newVerifier, maxDocument: o.memory / 4, counted: population.NewTotals(), drawn: period.NewSample(period.Draw{})}
	verifier, first := newVerifier(), true
	err = readArchive(io.TeeReader(file, digest), setMember, func(path string, size int64, content io.Reader) error {
		// A bundle begins with this member, which no package has. Members before it would not be compared.
		isBundle := len(b.members) > 0 || first && path == audit.PeriodPath
		first = false
		if isBundle {
			return b.add(path, content)
		}
		return verifier.Add(path, size, content)
	})
	var result audit.Result
	if err == nil && len(b.members) == 0 {
		result, err = finish(verifier, setMember)
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
	switch isBundle := len(b.members) > 0; {
	case isBundle && o.log != "":
		fmt.Fprintln(errOut, "--log is for packages: unpack the bundle, and compare each of its packages with the log")
		return unusable
	case isBundle:
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

// compareDigest reads the rest of the file and compares its SHA-256 with want.
func compareDigest(file io.Reader, digest hash.Hash, want string) error {
	if _, err := io.Copy(digest, file); err != nil {
		return err
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != want {
		return fmt.Errorf("the file is another one: its SHA-256 is %s, not %s", got, want)
	}
	return nil
}
