package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestEveryOperationHasARate(t *testing.T) {
	table, err := readCosts(costs)
	if err != nil {
		t.Fatal(err)
	}
	rates := (&load{Clusters: 1, Reports: 1, Changes: 1, Admissions: 1, Pipelines: 1, Artifacts: 1, Attestations: 1, Asserts: 1}).rates()
	if len(table) != len(rates) {
		t.Errorf("%d operations have costs, %d a rate", len(table), len(rates))
	}
	for _, c := range table {
		if rates[c.Operation] <= 0 || c.Commands < 0 || c.Milliseconds <= 0 {
			t.Errorf("%+v at %g a second", c, rates[c.Operation])
		}
	}
}

func TestNeedsFollowFromCosts(t *testing.T) {
	l := load{Clusters: 120, Pods: 200, Reports: 1, Pipelines: day, Attestations: 2, Evidence: 1000, Years: 1, Peak: 2, Busy: 0.5, ShardCommands: 10, ShardBytes: 1e12}
	got := l.need([]cost{{"unchanged report", 1, 0, 0, 10}, {"attestation", 5, 2, 3000, 20}})
	for _, want := range []string{
		"| unchanged report | 2.00 | 4.00 | 4.0 | 0.0 | 0.000 | 0.080 |\n",
		"| attestation | 2.00 | 4.00 | 20.0 | 8.0 | 0.012 | 0.080 |\n",
		"| **all** | | | 24.0 | 8.0 | 0.012 | 0.160 |\n",
		"api processes: 0.3; of workers for reports: 0.0.",
		"written in 1 years: 0.19 TB before compression; less is stored, as some replace others. Evidence in the object store: 0.06 TB",
		"2.40 of a primary for commands, 0.19 for bytes: 3 shards",
		"First to be exhausted as the load grows: the commands of one primary",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestWhatIsExhaustedFirst(t *testing.T) {
	l := load{Busy: 0.5}
	for want, row := range map[string]struct {
		processors float64
		shards     []float64
	}{
		"the processors": {2, []float64{1, 1}},
		"the commands":   {0.5, []float64{2, 1}},
		"the disk":       {0.5, []float64{2, 3}},
	} {
		t.Run(want, func(t *testing.T) {
			if got := l.first(need{Processors: row.processors}, row.shards); !strings.HasPrefix(got, want) {
				t.Errorf("it is %s", got)
			}
		})
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	for name, row := range map[string]struct {
		args []string
		code int
		want string
	}{
		"none":                   {nil, 0, "| **all** |"},
		"several wrong ones":     {[]string{"-clusters", "-1", "-busy", "0", "-peak", "NaN"}, 2, "-clusters must not be negative or infinite\n-peak must not be negative or infinite\n-busy must be greater than 0\n"},
		"more changes than":      {[]string{"-changes", "2000"}, 2, "-changes are more than the -reports of a day\n"},
		"no number":              {[]string{"-pods", "many"}, 2, "invalid value"},
		"something else":         {[]string{"much"}, 2, `unexpected argument "much"`},
		"a flag that is unknown": {[]string{"-users", "1"}, 2, "not defined: -users"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			if code := run(row.args, &out, &errs); code != row.code || !strings.Contains(out.String()+errs.String(), row.want) {
				t.Errorf("%d: %s%s", code, out.String(), errs.String())
			}
		})
	}
}

// TestPageHasWhatIsPrinted compares docs/scaling.md with what its commands print. With ATTESTRY_TEST_UPDATE set it writes it.
func TestPageHasWhatIsPrinted(t *testing.T) {
	const page = "../../docs/scaling.md"
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)(`go run ./scripts/capacity([^`\n]*)`\n\n)(.*?)<!-- capacity -->\n")
	commands := shown.FindAllSubmatch(content, -1)
	if len(commands) != 2 {
		t.Fatalf("the page has %d commands", len(commands))
	}
	for _, command := range commands {
		var out, errs strings.Builder
		if code := run(strings.Fields(string(command[2])), &out, &errs); code != 0 {
			t.Fatalf("%s: %s", command[1], errs.String())
		}
		if out.String()+"\n" == string(command[3]) {
			continue
		}
		if os.Getenv("ATTESTRY_TEST_UPDATE") == "" {
			t.Errorf("%s prints something else: set ATTESTRY_TEST_UPDATE and look at the difference", command[1])
		}
		content = []byte(strings.Replace(string(content), string(command[0]), string(command[1])+out.String()+"\n<!-- capacity -->\n", 1))
	}
	if os.Getenv("ATTESTRY_TEST_UPDATE") != "" {
		if err := os.WriteFile(page, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
