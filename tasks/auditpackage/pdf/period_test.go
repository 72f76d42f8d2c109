package pdf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attestry/app/population"
	"attestry/evidence/audit"
	"attestry/evidence/evidencetest"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
)

// quarter is the report of a quarter with failures of all kinds.
func quarter() *PeriodDocument {
	d := &PeriodDocument{
		PeriodDocument: audit.PeriodDocument{
			Generator: "Attestry 1.2", Organization: "acme", Environments: map[string]string{"e2": "prod-us", "e1": "prod-eu"}, LogEnd: "a checkpoint",
			Period: period.Period{Name: "2026-q3", From: 1_782_864_000, To: 1_790_812_800, Environments: []string{"e1", "e2"}},
		},
		Totals: population.Totals{
			Deployments: 5000, Events: population.EventTotals{Started: 5000, Changed: 12, Exited: 4980}, PerDay: 54.3478, Failed: 10, FailureRate: 0.002004,
			By:       map[string]int{"release": 4990, "rollback": 10, "compliant": 4948, "non_compliant": 52, "approved": 4948, "not_approved": 12, "no_provenance": 40, "broke_glass": 3},
			LeadTime: population.Durations{Known: 4960, Median: new(3600.0), P90: new(7325.4)},
		},
		Sample: population.Sample{Draw: period.Draw{Seed: "4711", Size: 2}, Population: 5000},
		Assessments: []population.Assessment{{Title: "SOC 2", Requirements: []population.AssessedRequirement{
			{ID: "CC8.1", Title: "Changes are approved.", State: population.NotMet, Measures: []population.Measure{
				{Title: "Others approved", State: population.NotMet, Measured: 5000, Met: 4945, Exceptions: 3, Failed: 52}, {By: "log", State: population.Met, Measured: 1, Met: 1},
			}},
			{ID: "CC6.1", Title: "Access is controlled.", State: population.NotMeasured},
		}}},
	}
	for i := range 2 {
		d.Sample.Rows = append(d.Sample.Rows, population.SampledRow{Row: population.Row{
			DeployedAt: 1_785_000_000, Environment: "prod-eu", Snapshot: 17, Fingerprint: digest(i), Artifact: fmt.Sprint("registry.example.com/web:", i), Kind: snapshot.NewRelease,
			Flow: "build", Trail: "t-17", Verdict: "non_compliant", Reasons: []string{"the attestation is missing"}, BrokeGlass: true, GlassReason: "an outage",
			Approval: period.NotApproved, Approvers: []string{"Grace Hopper"}, ApprovalLack: "Ada Lovelace has no approval of somebody else",
		}})
	}
	return d
}

// detailedPeriod has what the others lack: rarer findings and states.
func detailedPeriod() *PeriodDocument {
	d := quarter()
	d.Totals.Restore = population.Durations{Known: 1, Median: new(61.0), P90: new(61.0)}
	for i, one := range worrying {
		d.Totals.By[one.finding] = i + 1
	}
	for i, kind := range []string{"restart", "not_judged", "not_recorded", "allow_listed", "incident"} {
		d.Totals.By[kind] = 100 + i
	}
	d.Assessments[0].Requirements = append(d.Assessments[0].Requirements, population.AssessedRequirement{ID: "CC7.1", State: population.MetWithExceptions})
	d.Sample.Rows = append(d.Sample.Rows, population.SampledRow{
		Row: population.Row{
			DeployedAt: 1_786_000_000, Environment: "prod-us", Snapshot: 4, Fingerprint: digest(7), Kind: snapshot.Restart, Verdict: "compliant",
			Approval: period.Approved, Unapproved: []string{"t-15", "t-16"},
		},
	})
	return d
}

func emptyPeriod() *PeriodDocument {
	d := quarter()
	d.Totals, d.Sample, d.Assessments, d.LogEnd = population.Totals{}, population.Sample{}, nil, ""
	return d
}

func longPeriod() *PeriodDocument {
	long := quarter()
	long.Period.Name, long.Sample.Seed = strings.Repeat("n", 255), strings.Repeat("seed\n", 1000)
	for i := range 300 {
		long.Environments[fmt.Sprint("x", i)] = strings.Repeat("ع", 200)
		long.Assessments[0].Requirements = append(long.Assessments[0].Requirements, population.AssessedRequirement{ID: strings.Repeat("i", 300), Title: strings.Repeat("word ", 60)})
		long.Sample.Rows = append(long.Sample.Rows, long.Sample.Rows...)[:min(2*len(long.Sample.Rows), 1000)]
	}
	return long
}

// periods are the fixtures by name.
var periods = map[string]func() *PeriodDocument{"a quarter": quarter, "a detailed quarter": detailedPeriod, "an empty quarter": emptyPeriod, "a long quarter": longPeriod}

// textsOf returns the text of each page of a report of a period, line by line.
func textsOf(d *PeriodDocument) (pages []string) {
	r := &periodReport{PeriodDocument: d}
	r.write()
	for i := range r.sheets {
		pages = append(pages, textOf(&report{layout: layout{sheets: r.sheets[i : i+1]}}))
	}
	return pages
}

func TestPeriodsAreSummedUpOnTheFirstPage(t *testing.T) {
	pages := textsOf(quarter())
	for _, want := range []string{
		"2026-q3", "Organization acme, 2026-07-01 00:00:00 UTC until 2026-10-01 00:00:00 UTC", "5000 deployments", "40 went past the process", "12 were not approved by somebody else.", "3 broke glass.",
		"10 were rollbacks.", "In 2 environments: prod-eu, prod-us", "4990 release, 10 rollback", "5000 started, 12 changed, 4980 exited", "54.35, without restarts", "median 1h0m0s, nine of ten at most 2h2m5s; of 4960",
		"0.2 %, 10 failed", "1 not met, 1 not measured", "2 of 5000, drawn by the seed \"4711\"", "a checkpoint covers the period",
	} {
		evidencetest.Contains(t, pages[0], want)
	}
	rest := strings.Join(pages[1:], "\n")
	evidencetest.Contains(t, rest,
		"CC8.1", "4945 of 5000 met, 3 exceptions, 52 failed", "log: met", "prod-eu #17", "the attestation is missing",
		"broke glass: an outage", "by Grace Hopper", "Ada Lovelace has no approval", "python3 recount.py")
}

func TestDurationsOfAnyLengthKeepTheirValue(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "0s", 7325.4: "2h2m5s", -60: "-1m0s", 9e9: "2500000h0m0s", 1e308: "1e+308 s", -1_794_211_457_528: "-1.79421e+12 s",
	} {
		want = "median " + want + ", nine of ten at most " + want + "; of 2 deployments"
		if got := durations(&population.Durations{Known: 2, Median: &seconds, P90: &seconds}); got != want {
			t.Errorf("%v seconds are %q, not %q", seconds, got, want)
		}
	}
}

func TestAnEmptyPeriodIsReportedInWords(t *testing.T) {
	page := textsOf(emptyPeriod())[0]
	evidencetest.Contains(t, page,
		"0 deployments", "Nothing that this report looks for was found.", "unknown", "no checkpoint covers the period")
}

// TestReportsOfPeriodsAreRendered writes the reports into the folder ATTESTRY_TEST_PDF, if that is set, for inspection.
func TestReportsOfPeriodsAreRendered(t *testing.T) {
	for name, document := range periods {
		t.Run(name, func(t *testing.T) {
			d := document()
			file, err := RenderPeriod(d)
			if err != nil || !bytes.HasPrefix(file, []byte("%PDF-")) {
				t.Fatalf("%d bytes, %v", len(file), err)
			}
			if again, _ := RenderPeriod(d); !bytes.Equal(again, file) {
				t.Error("the same document makes other bytes")
			}
			if folder := os.Getenv("ATTESTRY_TEST_PDF"); folder != "" {
				if err := os.WriteFile(filepath.Join(folder, name+".pdf"), file, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
