package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"attestry/scripts/readmetest"
)

const (
	defaultAddress = "127.0.0.1:8001"

	maxTourLines = 40 // of commands, answers and the policy
)

// keyShown matches the key in the output of a first start.
var keyShown = regexp.MustCompile(`shown this once: (att_\w+)`)

// exchange is a command of the tour, and the lines that it prints.
type exchange struct {
	command string
	want    []string
}

// tourOf reads the exchanges of the tour in README.md, and the policy that a reader saves as a file. Further lines of a
// command are indented.
func tourOf(t *testing.T) (exchanges []exchange, policy string) {
	t.Helper()
	_, rest, _ := strings.Cut(readmetest.Read(t, "../../README.md"), "\n## Five minutes\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	lines := 0
	for _, block := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(section, -1) {
		lines += strings.Count(block[2], "\n")
		if block[1] == "yaml" {
			policy = block[2]
			continue
		}
		for line := range strings.Lines(block[2]) {
			last := len(exchanges) - 1
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				exchanges = append(exchanges, exchange{command: command})
			} else if strings.HasPrefix(line, "    ") {
				exchanges[last].command += line
			} else {
				exchanges[last].want = append(exchanges[last].want, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	if lines > maxTourLines {
		t.Errorf("the tour has %d lines, at most %d are allowed", lines, maxTourLines)
	}
	if len(exchanges) == 0 || !strings.HasPrefix(exchanges[0].command, "KEY=") || policy == "" {
		t.Fatalf("README.md has the tour %q with the policy %q", exchanges, policy)
	}
	return exchanges, policy
}

// printedAs reports whether a printed line is that of the page, where … matches anything.
func printedAs(want, got string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}

// TestTourOfReadme runs the commands of README.md and compares their output. Then it adds what the last answer says is
// missing, which makes the environment compliant.
func TestTourOfReadme(t *testing.T) {
	for _, program := range []string{"bash", "curl", "openssl", "xxd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	exchanges, policy := tourOf(t)
	exchanges = append(exchanges,
		exchange{`call POST /attestations/acme/build/trail/1.0/generic -F 'data_json={"attestation_name": "approved-by-security", "is_compliant": true}'`, []string{`"OK"`}},
		exchange{`call PUT /environments/acme/production/report/K8S -d '{"artifacts": [{"podName": "web-1", "namespace": "shop", "digests": {"shop/web:1.0": "'$SHA'"}, "creationTimestamp": 1793613000}]}'`, []string{`"OK"`}},
		exchange{`call GET /snapshots/acme/production/-1 | grep -oE '^."index":[0-9]*|"compliant":[a-z]*,"html_url"'`, []string{`{"index":2`, `"compliant":true,"html_url"`}},
	)
	address := freeAddress(t)
	tr := newTrial()
	tr.serve(t, "--ephemeral", "--listen", address)
	shown := keyShown.FindStringSubmatch(tr.out.String())
	if shown == nil {
		t.Fatalf("no key in %s", tr.out)
	}
	exchanges[0].command = "KEY=" + shown[1] + "\n"
	folder := t.TempDir()
	if err := os.WriteFile(folder+"/releases.yaml", []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	const end = "end of a command"
	var script strings.Builder
	for _, e := range exchanges {
		fmt.Fprintf(&script, "%s\necho '%s'\n", strings.ReplaceAll(e.command, defaultAddress, address), end)
	}
	bash := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	bash.Dir = folder
	printed, err := bash.CombinedOutput()
	answers := strings.Split(string(printed), end+"\n")
	if err != nil || len(answers) != len(exchanges)+1 {
		t.Fatalf("%v: %s", err, printed)
	}
	for i, e := range exchanges {
		got := strings.Split(strings.TrimSuffix(answers[i], "\n"), "\n")
		if answers[i] == "" {
			got = nil
		}
		if !slices.EqualFunc(e.want, got, printedAs) {
			t.Errorf("%sprinted %q, README.md has %q", e.command, got, e.want)
		}
	}
}

// differs matches parts that differ between two demonstrations.
var differs = regexp.MustCompile(`att_\w+|\b\d{10}(\.\d+)?\b|"duration":[0-9.]+|in \d+ms\b|\d+ bytes, SHA-256 \w+`)

// runName matches the part of names that is unique to a demonstration.
var runName = regexp.MustCompile(`checkout-ci-([0-9a-f]{8})`)

// TestDemonstrationPage compares docs/demo.md with the output of the demonstration, and runs it twice on the same service.
func TestDemonstrationPage(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	address := freeAddress(t)
	tr := newTrial()
	tr.serve(t, "--ephemeral", "--listen", address)
	shown := keyShown.FindStringSubmatch(tr.out.String())
	if shown == nil {
		t.Fatalf("no key in %s", tr.out)
	}
	for _, times := range []string{"first", "second"} {
		printed, err := exec.CommandContext(t.Context(), "../demo", shown[1], "acme", "http://"+address).CombinedOutput()
		if err != nil {
			t.Fatalf("the %s demonstration: %v: %s", times, err, printed)
		}
		if times == "second" { // it prints more, as the artifact has provenance from two flows then
			continue
		}
		text := strings.ReplaceAll(string(printed), address, defaultAddress)
		run := runName.FindStringSubmatch(text)
		if run == nil {
			t.Fatalf("no flow in %s", text)
		}
		readmetest.CheckOutput(t, "../../docs/demo.md", "demo", "```\n$ scripts/demo $KEY\n"+strings.ReplaceAll(text, run[1], "4f1c09ae")+"```\n",
			func(text string) string { return differs.ReplaceAllString(text, "*") })
	}
	refused, err := exec.CommandContext(t.Context(), "../demo", "wrong", "acme", "http://"+address).CombinedOutput()
	if err == nil || !strings.Contains(string(refused), "status 401, want 201") {
		t.Errorf("with a wrong key: %v: %s", err, refused)
	}
}
