package readmetest

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"attestry/evidence/evidencetest"
)

// capacity runs scripts/capacity, and returns its output and error.
func capacity(t *testing.T, args ...string) (printed string, err error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "../capacity", args...).CombinedOutput()
	return string(out), err
}

func TestCapacityIsComputedFromCosts(t *testing.T) {
	printed, err := capacity(t, "-clusters", "120", "-changes", "0", "--pods", "200", "-pipelines", "86400", "-attestations", "2", "-evidence", "1e3", "-years", "1", "-peak", "2", "-busy", ".5")
	if err == nil || !strings.Contains(printed, "-busy must be a number and not negative") {
		t.Errorf("%v: %s", err, printed)
	}
	printed, err = capacity(t, "-clusters", "120", "-changes", "0", "--pods", "200", "-pipelines", "86400", "-attestations", "2", "-evidence", "1e3", "-years", "1", "-peak", "2", "-busy", "0.5", "-shard-commands", "10")
	for _, want := range []string{
		"| unchanged report | 2.00 | 4.00 |", "| changed report | 0.00 | 0.00 | 0.0 | 0.0 | 0.000 | 0.000 |", "| attestation | 2.00 | 4.00 |",
		"written in 1 years: ", "Evidence in the object store: 0.06 TB", "First to be exhausted as the load grows: the commands of one primary",
	} {
		if err != nil || !strings.Contains(printed, want) {
			t.Errorf("%v: no %q in\n%s", err, want, printed)
		}
	}
	for want, args := range map[string][]string{
		"the processors": {"-busy", "0.001", "-years", "0"}, "the commands": {"-shard-commands", "1"}, "the disk": {"-shard-bytes", "1"},
	} {
		if printed, err := capacity(t, args...); err != nil || !strings.Contains(printed, "as the load grows: "+want) {
			t.Errorf("%v: want %s in\n%s", err, want, printed)
		}
	}
}

func TestEveryOperationWithCostsHasARate(t *testing.T) {
	costs, err := os.ReadFile("../costs.tsv")
	evidencetest.Must(t, err)
	printed, err := capacity(t)
	if rows := strings.Count(printed, "\n| ") - 1; err != nil || rows != strings.Count(string(costs), "\n")-1 {
		t.Errorf("%v: %d rows of\n%s", err, rows, printed)
	}
	if regexp.MustCompile(`(?m)^\| [a-z ]+ \| 0\.00 \|`).MatchString(printed) {
		t.Errorf("an operation has no rate in\n%s", printed)
	}
}

func TestArgumentsOfCapacityAreChecked(t *testing.T) {
	for name, row := range map[string]struct {
		args []string
		want string
	}{
		"several wrong numbers":     {[]string{"-clusters", "-1", "-busy", "0", "-peak", "NaN"}, "-clusters must be a number and not negative\n-peak must be a number and not negative\n-busy must be greater than 0\n"},
		"more changes than reports": {[]string{"-changes", "2000"}, "-changes are more than the -reports of a day\n"},
		"not a number":              {[]string{"-pods", "many"}, "-pods must be a number"},
		"no value":                  {[]string{"-pods"}, "-pods must be a number"},
		"unexpected argument":       {[]string{"much"}, `unexpected argument "much"`},
		"unknown flag":              {[]string{"-users", "1"}, "not defined: -users"},
	} {
		t.Run(name, func(t *testing.T) {
			if printed, err := capacity(t, row.args...); err == nil || !strings.Contains(printed, row.want) || strings.Contains(printed, "| **all** |") {
				t.Errorf("%v: %s", err, printed)
			}
		})
	}
	if printed, err := capacity(t, "--help"); err != nil || !strings.Contains(printed, "-shard-bytes NUMBER\n    \tbytes of documents that it is to hold (default 2000000000000)") {
		t.Errorf("%v: %s", err, printed)
	}
}

// TestScalingPageShowsTheOutputOfItsCommands compares docs/scaling.md with the output of its commands, or updates the page
// if ATTESTRY_TEST_UPDATE is set.
func TestScalingPageShowsTheOutputOfItsCommands(t *testing.T) {
	const page = "../../docs/scaling.md"
	content, err := os.ReadFile(page)
	evidencetest.Must(t, err)
	shown := regexp.MustCompile("(?s)(`./scripts/capacity([^`\n]*)`\n\n)(.*?)<!-- capacity -->\n")
	commands := shown.FindAllSubmatch(content, -1)
	if len(commands) != 2 {
		t.Fatalf("the page has %d commands", len(commands))
	}
	for _, command := range commands {
		printed, err := capacity(t, strings.Fields(string(command[2]))...)
		if err != nil {
			t.Fatalf("%s: %v: %s", command[1], err, printed)
		}
		if printed+"\n" == string(command[3]) {
			continue
		}
		if !Updating() {
			t.Errorf("%s prints something else: set ATTESTRY_TEST_UPDATE and check the difference", command[1])
		}
		content = []byte(strings.Replace(string(content), string(command[0]), string(command[1])+printed+"\n<!-- capacity -->\n", 1))
	}
	if Updating() {
		evidencetest.Must(t, os.WriteFile(page, content, 0o644))
	}
}
