// Command verify-package verifies an audit package, without a network and without a database: that
// its members are those of its manifest, and that the verdicts in it follow from the facts in it. It
// ends with 0 if that holds, with 1 if something was altered or does not follow, and with 2 if the
// file is no package.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"attestry/app/evaluation"
	"attestry/evidence/attestation"
)

// The exit codes.
const (
	sound    = 0
	unsound  = 1
	unusable = 2
)

func main() {
	evaluation.ServeChild()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run verifies the package that the arguments name and returns the exit code.
func run(args []string, out, errOut io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(errOut, "usage: go run ./scripts/verify-package PACKAGE")
		return unusable
	}
	file, err := os.Open(args[0])
	if err != nil {
		fmt.Fprintln(errOut, err)
		return unusable
	}
	defer file.Close()
	// Rules in the package may be hostile, so child processes with limits evaluate them.
	evaluator := evaluation.New(evaluation.Options{Log: slog.New(slog.DiscardHandler)})
	defer evaluator.Close()
	result, err := verify(file, func(definition attestation.Definition, payload json.RawMessage) (attestation.Verdict, error) {
		return evaluator.Evaluate(context.Background(), "", definition, payload)
	})
	var unreadable *unreadableError
	switch {
	case errors.As(err, &unreadable):
		fmt.Fprintf(errOut, "%s is no audit package: %s\n", args[0], printable(err.Error()))
		return unusable
	case err != nil:
		fmt.Fprintf(out, "FAILED   %s\n", printable(err.Error()))
		return unsound
	}
	printResult(out, &result)
	if len(result.Findings) > 0 {
		return unsound
	}
	return sound
}
