package audits_test

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

// services is the number of services in the simulated quarter. Each deployment replaces a release of one of them.
const services = 10

// simulatedQuarter has the number of deployments, and how many of them have another finding than approved.
type simulatedQuarter struct {
	deployments int
	others      map[string]int
}

// findings returns a finding of the population for each deployment, always in the same order. The first two deployments
// of each service are approved.
func (q *simulatedQuarter) findings() []string {
	findings := slices.Repeat([]string{"approved"}, q.deployments)
	order := rand.New(rand.NewPCG(1, 2)).Perm(q.deployments - 2*services)
	for _, finding := range slices.Sorted(maps.Keys(q.others)) {
		for range q.others[finding] {
			findings[order[0]+2*services], order = finding, order[1:]
		}
	}
	return findings
}

// simulate deploys to the environment prod for a quarter, and returns when the quarter began and ended.
func simulate(s *apitest.Service, q *simulatedQuarter) (from, to time.Time) {
	s.T.Helper()
	s.CreateFlow("build")
	s.PutPolicy(http.StatusCreated, `{"name":"four-eyes"}`, apitest.PolicyFile(apitest.PolicyHead+"artifacts:\n  provenance: {required: true}\n"+
		"  attestations:\n    - {type: pull_request, independent_approval: true}\n"))
	s.CreateEnvironment("prod", evidence.K8S)
	s.Attach("prod", "four-eyes")
	s.SetAdmission("prod", `{"mode":"deny","break_glass":"example.com/why"}`)
	from = s.Clock.Read()
	var running [services]string
	var approved [services][]string
	step := 91 * 24 * time.Hour / time.Duration(q.deployments)
	findings := q.findings()
	for i, finding := range findings {
		s.Clock.Advance(step)
		on, name := i%services, fmt.Sprint("release-", i)
		known := approved[on]
		if finding == "rollback" && running[on] != known[len(known)-1] {
			// Only the last approved release is rolled back. Otherwise, the service's next deployment is the rollback.
			findings[i+services], finding = "rollback", findings[i+services]
		}
		switch finding {
		case "rollback":
			name = known[len(known)-2]
		case "no_provenance":
		default:
			buildRelease(s, name, finding)
		}
		if finding == "no_pull_request" {
			s.Admit("prod", apitest.Review("Pod", apitest.Pod(`"example.com/why":"INC-7"`, "registry.example.com/app@sha256:"+apitest.DigestOf(name)), false))
		}
		if finding == "approved" {
			approved[on] = append(approved[on], name)
		}
		running[on] = name
		s.RunPods("prod", slices.DeleteFunc(slices.Clone(running[:]), func(name string) bool { return name == "" })...)
	}
	s.Clock.Advance(time.Minute)
	return from, s.Clock.Read()
}

// buildRelease records a trail of the flow build with an artifact of the release. The commit is an hour old.
func buildRelease(s *apitest.Service, name, finding string) {
	s.T.Helper()
	commit := fmt.Sprintf(`{"sha1":%q,"message":"m","author":"Ada <ada@example.com>","branch":"main","timestamp":%d}`,
		apitest.CommitOf(name), s.Clock.Read().Add(-time.Hour).Unix())
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/build", fmt.Sprintf(`{"name":%q,"git_commit_info":%s}`, name, commit))
	switch finding {
	case "approved":
		s.PullRequests(name, apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{"grace APPROVED 20"}})
	case "not_approved":
		s.PullRequests(name, apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{"ada APPROVED 20"}})
	}
	var number int
	_, err := fmt.Sscanf(name, "release-%d", &number)
	s.Must(err)
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/build", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":%q,"build_url":"b","commit_url":"c","git_commit":%q,"trail_name":%q,"template_reference_name":"service-%d","git_commit_info":%s}`,
		apitest.DigestOf(name), name, apitest.CommitOf(name), name, number%services, commit))
}

// TestAuditFindsAllDeviationsOfAQuarter simulates three months with 5,000 deployments: 40 are without provenance, 12
// were approved by their authors alone, 3 used break-glass and 10 are rollbacks. In short mode there are fewer.
func TestAuditFindsAllDeviationsOfAQuarter(t *testing.T) {
	t.Parallel()
	q := simulatedQuarter{5000, map[string]int{"no_provenance": 40, "not_approved": 12, "no_pull_request": 3, "rollback": 10}}
	if testing.Short() {
		q = simulatedQuarter{250, map[string]int{"no_provenance": 8, "not_approved": 5, "no_pull_request": 3, "rollback": 4}}
	}
	s := apitest.Start(t, apitest.Options{})
	from, to := simulate(s, &q)
	s.CreateAudit(`"prod"`, from, to)
	failing := q.others["no_provenance"] + q.others["not_approved"] + q.others["no_pull_request"]
	releases := q.deployments - q.others["rollback"]

	totals := s.Totals()
	want := map[string]int{
		"release": releases, "rollback": q.others["rollback"], "compliant": q.deployments - failing, "non_compliant": failing,
		"approved": q.deployments - failing, "not_approved": q.others["not_approved"], "no_provenance": q.others["no_provenance"],
		"no_pull_request": q.others["no_pull_request"], "broke_glass": q.others["no_pull_request"],
	}
	if !maps.Equal(totals.By, want) || totals.Deployments != q.deployments || totals.Events.Started != q.deployments {
		t.Errorf("the totals are %+v, want %v", totals, want)
	}
	if share := float64(q.others["rollback"]) / float64(releases); totals.Rate < share-1e-6 || totals.Rate > share+1e-6 ||
		totals.PerDay < float64(q.deployments)/92 || totals.PerDay > float64(q.deployments)/90 {
		t.Errorf("%g deployments a day, %g of the releases are rolled back", totals.PerDay, totals.Rate)
	}
	if lead := totals.LeadTime; lead.Known != q.deployments-q.others["no_provenance"] || lead.Median < 3600 || lead.Median > 3700 || lead.P90 < lead.Median {
		t.Errorf("the lead times are %+v", lead)
	}

	lines, err := csv.NewReader(strings.NewReader(string(s.Want(http.StatusOK, http.MethodGet, s.AuditsPath()+"/q3/population/csv", nil).Body))).ReadAll()
	if err != nil || len(lines) != q.deployments+1 {
		t.Fatalf("the CSV has %d lines: %v", len(lines), err)
	}
	var ranks []string
	for _, line := range lines[1:] {
		sum := sha256.Sum256([]byte("4711\n" + line[0]))
		ranks = append(ranks, hex.EncodeToString(sum[:]))
	}
	slices.Sort(ranks)
	var drawn struct{ Sample []apitest.PopulationRow }
	s.Want(http.StatusOK, http.MethodGet, s.AuditsPath()+"/q3/sample?frequency=daily&seed=4711", nil).Decode(t, &drawn)
	var got []string
	for _, row := range drawn.Sample {
		got = append(got, row.Rank)
	}
	apitest.EqualList(t, got, ranks[:25])
	// Deployments that used break-glass are exceptions, all others without an approval fail.
	found := assess(s, "soc2")
	approved := found.Requirements[1].Measures[1]
	if failed := q.others["no_provenance"] + q.others["not_approved"]; found.Requirements[1].ID != "CC8.1" || found.Requirements[1].State != "not_met" ||
		approved.Measured != q.deployments || approved.Failed != failed || approved.Exceptions != q.others["no_pull_request"] || len(approved.Listed) != failed+approved.Exceptions {
		t.Errorf("soc2 is assessed as %s", found.text())
	}
	for finding, number := range q.others {
		if _, total := s.Population("?finding=" + finding); total != number {
			t.Errorf("%d rows have the finding %s, want %d", total, finding, number)
		}
	}
}
