package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"attestry/evidence/evidencetest"
	"attestry/scripts/bench/benchtest/results"
)

func TestRunPrintsItsConditionsAndResults(t *testing.T) {
	data := t.TempDir()
	args := []string{"--seconds", "0.001", "--rows", "report unchanged, 100 artifacts, 1 client", "--data", data}
	var out bytes.Buffer
	evidencetest.Must(t, run(t.Context(), args, &out, io.Discard))
	for _, want := range []string{"`go run ./scripts/bench --seconds 0.001 --rows 'report unchanged", "cores", "miniredis",
		"| report unchanged, 100 artifacts, 1 client |"} {
		evidencetest.Contains(t, out.String(), want)
	}
	assertEmpty(t, data)

	out.Reset()
	evidencetest.Must(t, run(t.Context(), append(args, "--json"), &out, io.Discard))
	var printed results.Results
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil || len(printed.Workloads) != 1 || printed.Machine.Cores < 1 {
		t.Errorf("%v, %+v", err, printed)
	}
}

func TestInterruptedRunLeavesNothingBehind(t *testing.T) {
	data := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	evidencetest.Is(t, run(ctx, []string{"--data", data}, io.Discard, io.Discard), context.Canceled)
	assertEmpty(t, data)
}

func assertEmpty(t *testing.T, folder string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRunRefusesInvalidArguments(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown workload":  {"--rows", "no such row"},
		"no duration":       {"--seconds", "0"},
		"argument":          {"stray"},
		"missing directory": {"--data", "/no/such/folder"},
		"missing program":   {"--other", "/no/such/program"},
		"not a program":     {"--other", "main.go"},
	} {
		t.Run(name, func(t *testing.T) {
			var messages bytes.Buffer
			if err := run(t.Context(), args, io.Discard, &messages); err == nil || messages.Len() > 0 {
				t.Errorf("%v: error %v after %s", args, err, messages.String())
			}
		})
	}
}

func TestFailedWorkloadLeavesItsData(t *testing.T) {
	data := t.TempDir()
	args := []string{"--data", data, "--rows", "report unchanged, 100 ", "--mongodb", "mongodb://127.0.0.1:1/db?serverSelectionTimeoutMS=50"}
	err := run(t.Context(), args, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), data) {
		t.Fatalf("got %v", err)
	}
	if left, _ := os.ReadDir(data); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// TestOtherProgramIsComparedInTurns uses a script as the other program.
func TestOtherProgramIsComparedInTurns(t *testing.T) {
	const name = "page 1 of events, 1 client"
	other := filepath.Join(t.TempDir(), "other")
	script := "#!/bin/sh\necho '{\"rows\":[{\"name\":\"" + name + "\",\"service\":{\"per_second\":0.001,\"cpu_ms\":4}}]}'\n"
	evidencetest.Must(t, os.WriteFile(other, []byte(script), 0o700))
	var out bytes.Buffer
	args := []string{"--data", t.TempDir(), "--rows", "attestation to one trail", "--seconds", "0.01", "--other", other}
	if err := run(t.Context(), args, &out, io.Discard); err == nil || !strings.Contains(err.Error(), "does not know the workload") {
		t.Errorf("got %v", err)
	}
	args[3] = name
	evidencetest.Must(t, run(t.Context(), args, &out, io.Discard))
	line := regexp.MustCompile(`(?m)^\| page 1 of events, 1 client \|.*\| 0\.0 \|.*\| [0-9]+\.[0-9]+ \([0-9.]+\.\.[0-9.]+\) \| [0-9.]+ \|$`)
	if !line.MatchString(out.String()) {
		t.Errorf("printed\n%s", out.String())
	}
}
