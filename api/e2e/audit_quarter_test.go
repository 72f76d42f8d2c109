package e2e_test

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

	"attestry/evidence"
)

// services is how many services run at a time in the simulated quarter. Each deployment replaces one of them.
const services = 10

// quarterOf is a simulated quarter: how much was deployed, and how much of that in other ways than approved by another.
type quarterOf struct {
	deployments int
	others      map[string]int
}

// fates are what becomes of the deployments, in the words of the population and always in the same order. The first of each
// service are approved.
func (q *quarterOf) fates() []string {
	fates := slices.Repeat([]string{"approved"}, q.deployments)
	order := rand.New(rand.NewPCG(1, 2)).Perm(q.deployments - 2*services)
	for _, fate := range slices.Sorted(maps.Keys(q.others)) {
		for range q.others[fate] {
			fates[order[0]+2*services], order = fate, order[1:]
		}
	}
	return fates
}

// simulate has a quarter happen in the environment prod, and returns when it began and ended.
func (s *service) simulate(of *quarterOf) (from, to time.Time) {
	s.t.Helper()
	s.createFlow("build")
	s.putPolicy(http.StatusCreated, `{"name":"four-eyes"}`, policyFile(policyHead+"artifacts:\n  provenance: {required: true}\n"+
		"  attestations:\n    - {type: pull_request, independent_approval: true}\n"))
	s.createEnvironment("prod", evidence.K8S)
	s.attach("prod", "four-eyes")
	s.setAdmission("prod", `{"mode":"deny","break_glass":"example.com/why"}`)
	from = s.clock.read()
	var running [services]string
	var approved [services][]string
	step := 91 * 24 * time.Hour / time.Duration(of.deployments)
	fates := of.fates()
	for i, fate := range fates {
		s.clock.advance(step)
		on, name := i%services, fmt.Sprint("release-", i)
		known := approved[on]
		if fate == "rollback" && running[on] != known[len(known)-1] {
			// What runs now was not built by the flow, or not approved: it is rolled back later.
			fates[i+services], fate = "rollback", fates[i+services]
		}
		switch fate {
		case "rollback":
			name = known[len(known)-2]
		case "no_provenance":
		default:
			s.buildRelease(name, fate)
		}
		if fate == "no_pull_request" {
			s.admit("prod", review("Pod", pod(`"example.com/why":"INC-7"`, "registry.example.com/app@sha256:"+digestOf(name)), false))
		}
		if fate == "approved" {
			approved[on] = append(approved[on], name)
		}
		running[on] = name
		s.runPods("prod", slices.DeleteFunc(slices.Clone(running[:]), func(name string) bool { return name == "" })...)
	}
	s.clock.advance(time.Minute)
	return from, s.clock.read()
}

// buildRelease records a trail of the flow build, an hour after its commit, with an artifact for the service of the release.
func (s *service) buildRelease(name, fate string) {
	s.t.Helper()
	commit := fmt.Sprintf(`{"sha1":%q,"message":"m","author":"Ada <ada@example.com>","branch":"main","timestamp":%d}`,
		commitOf(name), s.clock.read().Add(-time.Hour).Unix())
	s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/build", fmt.Sprintf(`{"name":%q,"git_commit_info":%s}`, name, commit))
	switch fate {
	case "approved":
		s.pullRequests(name, pull{author: "ada", commits: []string{"ada 10"}, approvals: []string{"grace APPROVED 20"}})
	case "not_approved":
		s.pullRequests(name, pull{author: "ada", commits: []string{"ada 10"}, approvals: []string{"ada APPROVED 20"}})
	}
	var number int
	_, err := fmt.Sscanf(name, "release-%d", &number)
	s.must(err)
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/build", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":%q,"build_url":"b","commit_url":"c","git_commit":%q,"trail_name":%q,"template_reference_name":"service-%d","git_commit_info":%s}`,
		digestOf(name), name, commitOf(name), name, number%services, commit))
}

// TestAQuarterOfDeploymentsIsFoundAsItHappened simulates three months with 5,000 deployments, of which 40 went past the
// process, 12 were approved by their authors alone, 3 broke glass and 10 were rolled back; in short mode with fewer.
func TestAQuarterOfDeploymentsIsFoundAsItHappened(t *testing.T) {
	t.Parallel()
	of := quarterOf{5000, map[string]int{"no_provenance": 40, "not_approved": 12, "no_pull_request": 3, "rollback": 10}}
	if testing.Short() {
		of = quarterOf{250, map[string]int{"no_provenance": 8, "not_approved": 5, "no_pull_request": 3, "rollback": 4}}
	}
	s := start(t, options{})
	from, to := s.simulate(&of)
	s.createAudit(`"prod"`, from, to)
	failing := of.others["no_provenance"] + of.others["not_approved"] + of.others["no_pull_request"]
	releases := of.deployments - of.others["rollback"]

	totals := s.totals()
	want := map[string]int{
		"release": releases, "rollback": of.others["rollback"], "compliant": of.deployments - failing, "non_compliant": failing,
		"approved": of.deployments - failing, "not_approved": of.others["not_approved"], "no_provenance": of.others["no_provenance"],
		"no_pull_request": of.others["no_pull_request"], "broke_glass": of.others["no_pull_request"],
	}
	if !maps.Equal(totals.By, want) || totals.Deployments != of.deployments || totals.Events.Started != of.deployments {
		t.Errorf("the totals are %+v, want %v", totals, want)
	}
	if share := float64(of.others["rollback"]) / float64(releases); totals.Rate < share-1e-6 || totals.Rate > share+1e-6 ||
		totals.PerDay < float64(of.deployments)/92 || totals.PerDay > float64(of.deployments)/90 {
		t.Errorf("%g are deployed a day, %g of releases are rolled back", totals.PerDay, totals.Rate)
	}
	if lead := totals.LeadTime; lead.Known != of.deployments-of.others["no_provenance"] || lead.Median < 3600 || lead.Median > 3700 || lead.P90 < lead.Median {
		t.Errorf("the lead times are %+v", lead)
	}

	lines, err := csv.NewReader(strings.NewReader(string(s.want(http.StatusOK, http.MethodGet, s.auditsPath()+"/q3/population/csv", nil).body))).ReadAll()
	if err != nil || len(lines) != of.deployments+1 {
		t.Fatalf("the CSV has %d lines: %v", len(lines), err)
	}
	var ranks []string
	for _, line := range lines[1:] {
		sum := sha256.Sum256([]byte("4711\n" + line[0]))
		ranks = append(ranks, hex.EncodeToString(sum[:]))
	}
	slices.Sort(ranks)
	var drawn struct{ Sample []populationRow }
	s.want(http.StatusOK, http.MethodGet, s.auditsPath()+"/q3/sample?frequency=daily&seed=4711", nil).decode(t, &drawn)
	var got []string
	for _, row := range drawn.Sample {
		got = append(got, row.Rank)
	}
	if !slices.Equal(got, ranks[:25]) {
		t.Errorf("the sample is %v, by the CSV it is %v", got, ranks[:25])
	}
	// Everything fails that a measure asks for, but what broke the glass is an exception.
	found := s.assess("soc2")
	approved := found.Requirements[1].Measures[1]
	if failed := of.others["no_provenance"] + of.others["not_approved"]; found.Requirements[1].ID != "CC8.1" || found.Requirements[1].State != "not_met" ||
		approved.Measured != of.deployments || approved.Failed != failed || approved.Exceptions != of.others["no_pull_request"] || len(approved.Listed) != failed+approved.Exceptions {
		t.Errorf("soc2 is assessed as %s", found.text())
	}
	for finding, number := range of.others {
		if _, total := s.population("?finding=" + finding); total != number {
			t.Errorf("%d rows are found by %s, want %d", total, finding, number)
		}
	}
}
