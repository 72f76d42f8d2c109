package audits_test

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

func linesOf(rows []apitest.PopulationRow) string {
	var lines strings.Builder
	for i := range rows {
		lines.WriteString(rows[i].Line() + "\n")
	}
	return lines.String()
}

// quarter are the lines of the population of prod and canary after RunQuarter.
const quarter = `approved release compliant approved grace
alone release non_compliant not_approved ada
intruder release non_compliant no_provenance
intruder restart non_compliant no_provenance
machine release compliant machine_account
late release non_compliant approved_late joan
emergency release non_compliant no_pull_request glass:INC-7
waved release compliant no_pull_request allowed
approved rollback compliant approved grace
machine release compliant machine_account
`

func TestPopulationHasAllDeploymentsOfAPeriod(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod","canary"`, from, to)
	rows, total := s.Population("?per_page=100")
	if got := linesOf(rows); got != quarter || total != 10 {
		t.Errorf("%d rows:\n%swant\n%s", total, got, quarter)
	}
	alone, intruder := rows[1], rows[2]
	if alone.Flow != "build" || alone.Trail != "alone" || alone.Author != "Ada <ada@example.com>" || alone.Environment != "prod" ||
		alone.Lack != "ada has no approval of somebody else after the last commit" ||
		fmt.Sprint(alone.Reasons) != "[four-eyes: non_compliant_attestation 'pr': ada has no approval of somebody else after the last commit]" {
		t.Errorf("the deployment that only its author approved is %+v", alone)
	}
	apitest.Equal(t, intruder.Flow, "")
	apitest.Equal(t, fmt.Sprint(intruder.Reasons), "[four-eyes: missing_provenance four-eyes: no_provenance]")
	apitest.Each(s, map[string]string{
		"rollback": "approved", "restart": "intruder", "no_provenance": "intruder intruder", "broke_glass": "emergency", "allow_listed": "waved",
		"not_approved": "alone", "approved_late": "late", "machine_account": "machine machine", "not_judged": "",
	}, func(s *apitest.Service, finding, want string) {
		found, _ := s.Population("?finding=" + finding)
		var names []string
		for _, row := range found {
			names = append(names, row.Artifact)
		}
		apitest.Equal(s.T, strings.Join(names, " "), want)
	})
	second, total := s.Population("?finding=non_compliant&page=2&per_page=2")
	if len(second) != 2 || total != 5 || second[0].Artifact != "intruder" || second[1].Artifact != "late" {
		t.Errorf("the second page of %d is\n%s", total, linesOf(second))
	}
	third, total := s.Population("?page=3&per_page=4")
	if total != 10 || linesOf(third) != linesOf(rows[8:]) {
		t.Errorf("the third page of %d is\n%s", total, linesOf(third))
	}
}

func TestPopulationAsCSVHasTheSameRows(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod","canary"`, from, to)
	got := s.Want(http.StatusOK, http.MethodGet, s.AuditsPath()+"/q3/population/csv", nil)
	lines, err := csv.NewReader(strings.NewReader(string(got.Body))).ReadAll()
	if err != nil || len(lines) != 11 {
		t.Fatalf("%d lines, %v:\n%s", len(lines), err, got.Body)
	}
	rows, _ := s.Population("?per_page=100")
	column := func(name string) int { return slices.Index(lines[0], name) }
	for i, row := range rows {
		line := lines[i+1]
		if line[column("id")] != row.ID || line[column("approval")] != row.Approval || line[column("reasons")] != strings.Join(row.Reasons, "; ") ||
			line[column("verdict")] != row.Verdict || line[column("broke_glass_reason")] != row.GlassReason {
			t.Errorf("%q is not %+v", line, row)
		}
	}
	evidencetest.Contains(t, got.Header.Get("Content-Disposition"), "q3-population.csv")
	some := s.Want(http.StatusOK, http.MethodGet, s.AuditsPath()+"/q3/population/csv?finding=broke_glass", nil)
	apitest.Equal(t, strings.Count(string(some.Body), "\n"), 2, "lines with break-glass")
}

func TestTotalsOfAPeriodAddUpToItsEvents(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod","canary"`, from, to)
	totals := s.Totals()
	if e := totals.Events; e.Started != 10 || e.Total != e.Started+e.Changed+e.Exited || e.Exited != 9 || totals.Deployments != e.Started {
		t.Errorf("the totals are %+v", totals)
	}
	want := map[string]int{
		"release": 8, "restart": 1, "rollback": 1, "compliant": 5, "non_compliant": 5, "approved": 2, "not_approved": 1, "no_provenance": 2,
		"machine_account": 2, "approved_late": 1, "no_pull_request": 2, "allow_listed": 1, "broke_glass": 1,
	}
	apitest.Equal(t, fmt.Sprint(totals.By), fmt.Sprint(want), totals.By, want)
	if totals.Rate != 0.125 || totals.PerDay == 0 || totals.LeadTime.Known != 0 {
		t.Errorf("the figures are %+v", totals)
	}
}

func TestSamplesCanBeReproducedFromTheirSeed(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod","canary"`, from, to)
	rows, _ := s.Population("?per_page=100")
	type shown struct {
		Size, Population int
		Strata           []struct {
			Environment       string `json:"env_name"`
			Verdict           string
			Population, Drawn int
		}
		Sample []apitest.PopulationRow
	}
	draw := func(query string) (drawn shown) {
		s.Want(http.StatusOK, http.MethodGet, s.AuditsPath()+"/q3/sample?"+query, nil).Decode(t, &drawn)
		return drawn
	}
	for _, seed := range []string{"", "4711", "Grüße & \n\"<>"} {
		var ranks []string
		for _, row := range rows {
			sum := sha256.Sum256([]byte(seed + "\n" + row.ID))
			ranks = append(ranks, hex.EncodeToString(sum[:]))
		}
		slices.Sort(ranks)
		got := draw("size=4&seed=" + url.QueryEscape(seed))
		for i, row := range got.Sample {
			apitest.Equal(t, row.Rank, ranks[i], seed, i)
		}
		if len(got.Sample) != 4 || got.Population != 10 || len(got.Strata) != 0 {
			t.Errorf("seed %q: drawn %+v", seed, got)
		}
	}
	if got := draw("frequency=weekly"); got.Size != 5 || len(got.Sample) != 5 {
		t.Errorf("with the frequency weekly, %d rows are drawn", len(got.Sample))
	}
	got := draw("size=3&by=environment&seed=1")
	if fmt.Sprint(got.Strata) != "[{prod  9 3} {canary  1 1}]" && fmt.Sprint(got.Strata) != "[{canary  1 1} {prod  9 3}]" || len(got.Sample) != 4 {
		t.Errorf("by environment, %+v are drawn", got.Strata)
	}
	got = draw("size=2&by=verdict&seed=1")
	apitest.Equal(t, fmt.Sprint(got.Strata), "[{ compliant 5 2} { non_compliant 5 2}]")
	apitest.Equal(t, len(got.Sample), 4)
	apitest.Each(s, map[string]string{
		"":                        "Exactly one of size and frequency is needed",
		"size=3&frequency=weekly": "Exactly one of size and frequency is needed",
		"size=11":                 "The population has only 10 rows",
		"size=0":                  "greater than or equal to 1",
		"frequency=hourly":        "yearly",
		"size=1&by=risk":          "environment",
	}, func(s *apitest.Service, query, says string) {
		got := s.Want(http.StatusBadRequest, http.MethodGet, s.AuditsPath()+"/q3/sample?"+query, nil)
		if !strings.Contains(string(got.Body), says) {
			s.T.Errorf("answered %s", got.Body)
		}
	})
}

func TestInvalidAuditsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod"`, from, to)
	good := map[string]string{"name": `"q4"`, "environments": `["prod"]`, "from": `"2026-03-01"`, "to": `"2027-01-01"`}
	type testCase struct {
		field, value string
		status       int
		says         string
	}
	apitest.Each(s, map[string]testCase{
		"a name that is taken":      {"name", `"q3"`, http.StatusConflict, "Audit named 'q3' already exists for organization '" + s.Org + "'"},
		"an unknown environment":    {"environments", `["prod","none"]`, http.StatusNotFound, "Environment named 'none' does not exist"},
		"no environment":            {"environments", `[]`, http.StatusBadRequest, `"environments":"List`},
		"a beginning after the end": {"to", `"2026-02-28"`, http.StatusBadRequest, "A period cannot end before it begins"},
		"an empty period":           {"to", `"2026-03-01"`, http.StatusBadRequest, "A period cannot end before it begins"},
		"a beginning in the future": {"from", `"2026-12-31"`, http.StatusBadRequest, "A period cannot begin in the future"},
		"no time":                   {"from", `"soon"`, http.StatusBadRequest, "Input should be a valid ISO 8601 date and time"},
		"a name with a blank":       {"name", `"q 4"`, http.StatusBadRequest, `"name":"String`},
	}, func(s *apitest.Service, _ string, c testCase) {
		var members []string
		for field, value := range good {
			if field == c.field {
				value = c.value
			}
			members = append(members, fmt.Sprintf("%q:%s", field, value))
		}
		got := s.Want(c.status, http.MethodPost, s.AuditsPath(), []byte("{"+strings.Join(members, ",")+"}"))
		evidencetest.Contains(s.T, string(got.Body), c.says)
	})
	s.WantError(http.StatusNotFound, "Audit named 'q9' does not exist for organization '"+s.Org+"'", http.MethodGet, s.AuditsPath()+"/q9/population", "")
	shown := s.Read(s.AuditsPath() + "/q3")
	apitest.WantMembers(t, shown, map[string]any{"open": false, "deployments": 9.0, "environments.0": "prod"})
}

func TestAuditsMayBeginIn1970OrEarlier(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.K8S)
	body := []byte(`{"name":"all","environments":["prod"],"from":"1969-12-31T23:59:59.5","to":"1970-01-01"}`)
	var shown struct{ From, To string }
	s.Want(http.StatusCreated, http.MethodPost, s.AuditsPath(), body).Decode(t, &shown)
	apitest.Equal(t, shown.From, "1969-12-31T23:59:59.5Z")
	apitest.Equal(t, shown.To, "1970-01-01T00:00:00Z")
}

func TestAuditsShowTheCheckpointsAtBothEndsOfTheirPeriod(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Settings: []string{apitest.LogKeyFile(t)}})
	from, to := s.RunQuarter()
	s.AwaitLogged(s.Org)
	s.CreateAudit(`"prod"`, from, to)
	shown := s.Read(s.AuditsPath() + "/q3")
	end := apitest.Lookup(t, shown, "log_end")
	if end == nil || apitest.Lookup(t, end, "timestamp").(float64) < evidence.Seconds(to) || !strings.Contains(apitest.Lookup(t, end, "note").(string), fmt.Sprintf("\n%.0f\n", apitest.Lookup(t, end, "size"))) {
		t.Errorf("the checkpoint at the end is %v", end)
	}
	if begin := apitest.Lookup(t, shown, "log_begin"); begin != nil && apitest.Lookup(t, begin, "timestamp").(float64) > evidence.Seconds(from) {
		t.Errorf("the checkpoint at the beginning is %v", begin)
	}
}

func TestLaterProvenanceKeepsTheVerdictOfTheDeployment(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod"`, from, to.Add(48*time.Hour))
	s.Clock.Advance(time.Hour)
	s.RunPods("prod", "after", "stranger")
	s.Clock.Advance(time.Hour)
	s.Release("stranger", "svc_deploy")
	s.RunPods("prod", "after", "stranger")
	rows, _ := s.Population("?per_page=100")
	if got := rows[len(rows)-1]; got.Trail != "stranger" || got.Verdict != "non_compliant" || len(got.Reasons) != 2 || got.Approval != "machine_account" {
		t.Errorf("an artifact reported after its deployment is shown as %+v", got)
	}
}

func TestAuditPagesShowPopulationSampleAndTotals(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	from, to := s.RunQuarter()
	v := webclient.SignedIn(s, apitest.AdminKey)
	v.SendForm("audits/create_audit", url.Values{
		"name": {"q3"}, "environments": {"prod\r\ncanary"}, "from": {from.UTC().Format(time.RFC3339)}, "to": {to.UTC().Format(time.RFC3339)},
	})
	path := "/" + s.Org + "/audits"
	v.WantPage(http.StatusOK, path, `/audits/q3"><bdi>q3`)
	v.WantPage(http.StatusOK, path+"/q3", "10, oldest first", "Approved late", "broke glass", "INC-7", "no provenance", "Machine account", "rollback")
	v.WantPage(http.StatusOK, path+"/q3?finding=not_approved", "1, oldest first", "ada has no approval of somebody else", "population/csv?finding=not_approved")
	v.WantPage(http.StatusOK, path+"/q3?size=3&seed=4711&by=environment", "4 of 10", "3 of 9 in", "rank <code")
	v.WantPage(http.StatusOK, path+"/q3?size=3&seed=4711", `href="`+path+`/q3/bundle?seed=4711&amp;size=3">All of it in one file`)
	v.WantPage(http.StatusOK, path+"/q3/bundle?seed=4711&size=3", "Bundle of")
	apitest.Eventually(t, "the bundle is ready", func() bool {
		return strings.Contains(string(v.Open(path+"/q3/bundle?seed=4711&size=3").Body), `/audits/acme/q3/bundle?seed=4711&amp;size=3" download>Download the bundle`)
	})
	v.WantPage(http.StatusOK, path+"/q3?show=totals", "10 started", "0.125: 1 had", "of 8 releases", `href="?finding=approved_late"`)
	v.WantPage(http.StatusOK, path+"/q3?show=requirements", "pci-dss (example)", "Assess")
	v.WantPage(http.StatusOK, path+"/q3?show=requirements&framework=soc2", "CC8.1", "Not met", "4 of 9", "2 exceptions", "3 failed", "it broke glass: INC-7", "requirements/csv?framework=soc2", "<bdi>alone</bdi>")
	v.WantPage(http.StatusNotFound, path+"/q3?show=requirements&framework=none", "Framework named &#39;none&#39; does not exist")
	v.WantPage(http.StatusOK, "/"+s.Org+"/settings/frameworks", "soc2", "put_framework")
	v.WantPage(http.StatusBadRequest, path+"/q3?size=11", "The population has only 10 rows")
	v.WantPage(http.StatusNotFound, path+"/q9", "does not exist")
	if got := webclient.SignedIn(s, apitest.StrangerKey).Open(path + "/q3").Status; got != http.StatusForbidden && got != http.StatusNotFound {
		t.Errorf("a stranger gets %d", got)
	}
}

func TestOverrideOfAMissingPullRequestIsShownAsOverridden(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.CreateFlow("build", apitest.YAMLFile("version: 1\ntrail:\n  attestations:\n    - {name: pr, type: pull_request}\n"))
	s.CreateEnvironment("prod", evidence.K8S)
	from := s.Clock.Read()
	s.Clock.Advance(time.Minute)
	s.Release("paper", "Ada <ada@example.com>")
	s.Want(http.StatusOK, http.MethodPost, "/attestations/"+s.Org+"/build/trail/paper/override",
		[]byte(`{"attestation_name":"pr","original_attestation_type":"pull_request","new_compliance_status":true,"reason":"joan approved on paper"}`))
	s.RunPods("prod", "paper")
	s.Clock.Advance(time.Minute)
	s.CreateAudit(`"prod"`, from, s.Clock.Read())
	if rows, _ := s.Population(""); linesOf(rows) != "paper release not_judged overridden\n" {
		t.Errorf("it is shown as %s", linesOf(rows))
	}
	empty := s.Read(s.AuditsPath() + "/q3/population?finding=rollback")
	apitest.WantMember(t, empty, "total_count", 0.0)
}

func TestBreakGlassIsShownAfterItsAdmissionRecordExpired(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod","canary"`, from, to)
	s.Clock.Advance(40 * 24 * time.Hour)
	// Storing a record deletes expired records.
	s.Admit("prod", apitest.Review("Pod", apitest.Pod("", "registry.example.com/app@sha256:"+apitest.DigestOf("nobody")), false))
	if lines := s.AdmissionLines("prod"); strings.Contains(lines, "break_glass") {
		t.Errorf("after 40 days there is\n%s", lines)
	}
	rows, _ := s.Population("?per_page=100")
	apitest.Equal(t, linesOf(rows), quarter, "after 40 days")
}

func TestPopulationsTakeAsManyCommandsForManyRowsAsForOne(t *testing.T) {
	t.Parallel()
	s, counting := apitest.StartCounting(t, apitest.Options{})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod"`, from, to)
	commands := func(path string) int {
		return apitest.FewestCommands(counting, func() { s.Want(http.StatusOK, http.MethodGet, s.AuditsPath()+"/q3/"+path, nil) })
	}
	if one, many := commands("population?per_page=1"), commands("population?per_page=9"); one != many || one == 0 {
		t.Errorf("a row takes %d commands, nine take %d", one, many)
	}
}

// TestBreakGlassOfAnIndexCountsForItsRunningChild admits a workload by the digest of an index, which runs as its child.
func TestBreakGlassOfAnIndexCountsForItsRunningChild(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.RequireScans()
	s.CreateEnvironment("prod", evidence.K8S)
	s.Attach("prod", "guard")
	s.SetAdmission("prod", `{"mode":"deny","break_glass":"example.com/why"}`)
	s.ReportIndex("images", "build-1", "web", "web/amd64")
	if got := s.Admit("prod", apitest.Review("Pod", apitest.Pod(`"example.com/why":"INC-7"`, "web@sha256:"+apitest.DigestOf("web")), false)); !got.Response.Allowed {
		t.Errorf("admission answers %+v", got)
	}
	s.Report(http.StatusCreated, "prod", "K8S", fmt.Sprintf(`{"artifacts":[{"digests":{"web":%q},"creationTimestamp":1,"podName":"web-1","namespace":"shop"}]}`, apitest.DigestOf("web/amd64")))
	s.Want(http.StatusCreated, http.MethodPost, s.AuditsPath(), []byte(`{"name":"q3","environments":["prod"],"from":"2020-01-01","to":"2100-01-01"}`))
	if rows, _ := s.Population("?finding=broke_glass"); len(rows) != 1 || rows[0].GlassReason != "INC-7" {
		t.Errorf("broke glass: %+v", rows)
	}
}
