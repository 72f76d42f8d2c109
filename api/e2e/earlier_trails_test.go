package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/audit"
)

// sinceRelease is a policy that requires independent approval of every earlier trail that a release brings.
const sinceRelease = policyHead + "artifacts:\n  attestations:\n    - {type: pull_request, independent_approval: {since_last_release: true}}\n"

// byGrace is a pull request of ada that grace approved.
var byGrace = pull{author: "ada", commits: []string{"ada 10"}, approvals: []string{"grace APPROVED 20"}}

// push records a trail of the flow build with a commit of its own, and an artifact with the trail's name.
func (s *service) push(trail, author, branch string, pulls ...pull) {
	s.t.Helper()
	commit := digestOf(trail)[:40]
	s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/build", fmt.Sprintf(
		`{"name":%q,"git_commit_info":{"sha1":%q,"message":"m","author":%q,"branch":%q,"timestamp":5}}`, trail, commit, author, branch))
	if pulls != nil {
		s.pullRequests(trail, pulls...)
	}
	s.reportArtifact("build", trail, "app", digestOf(trail), commit)
}

// stateOf reads the compliance state of the environment prod.
func (s *service) stateOf() any { return lookup(s.t, s.read(s.environmentsPath()+"/prod"), "state") }

// mayRelease asserts an artifact against the environment prod and returns the verdict and its explanation.
func (s *service) mayRelease(trail string) (bool, string) {
	s.t.Helper()
	path, query := "/asserts/"+s.org+"/fingerprint/"+digestOf(trail), "?environment_name=prod"
	return lookup(s.t, s.read(path+query), "compliant") == true, strings.Join(textsIn(s.read(path+"/explanation"+query)), "\n")
}

func TestEarlierTrailsOfAReleaseNeedApprovalToo(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true})
	const ada = "Ada <ada@example.com>"
	s.createFlow("build", yamlFile("version: 1\ntrail:\n  attestations:\n    - {name: pr, type: pull_request}\n"))
	s.putPolicy(http.StatusCreated, `{"name":"four-eyes"}`, policyFile(sinceRelease))
	s.createEnvironment("prod", evidence.K8S)
	s.attach("prod", "four-eyes")
	from := s.clock.read()
	run := func(trail string) {
		s.clock.advance(3600e9)
		s.runPods("prod", trail)
	}
	s.push("before", ada, "main")
	s.push("v1", ada, "main", byGrace)
	run("v1")
	if s.stateOf() != true {
		t.Fatal("a trail before the first release counts")
	}

	s.push("direct", ada, "main")
	s.push("alone", ada, "main", pull{author: "ada", commits: []string{"ada 10"}, approvals: []string{"ada APPROVED 20"}})
	s.push("feature", ada, "feature", []pull{}...)
	s.push("robot", "svc_deploy", "main")
	s.push("paper", ada, "main")
	s.want(http.StatusOK, http.MethodPost, "/attestations/"+s.org+"/build/trail/paper/override",
		[]byte(`{"attestation_name":"pr","original_attestation_type":"pull_request","new_compliance_status":true,"reason":"joan approved on paper"}`))
	s.push("v2", ada, "main", byGrace)
	const text = "In trail 'v2' of flow 'build' the artifact brings changes without independent approval: nobody else had approved the earlier trails that it brings since the last release: direct, alone."
	if may, why := s.mayRelease("v2"); may || !strings.Contains(why, text) {
		t.Errorf("before the release compliant is %t: %s", may, why)
	}
	s.setAdmission("prod", `{"mode":"deny"}`)
	reviewOf := func(version string) []byte {
		return review("Pod", pod("", "registry.example.com/app@sha256:"+digestOf(version)), false)
	}
	if !s.admit("prod", reviewOf("v1")).Response.Allowed {
		t.Error("the cluster denies the version that it runs")
	}
	if got := s.admit("prod", reviewOf("v2")).Response; got.Allowed || !strings.Contains(got.Status.Message, "since the last release: direct, alone.") {
		t.Errorf("the cluster may run it: %+v", got)
	}
	if may, _ := s.mayRelease("v1"); !may {
		t.Error("the running version does not comply")
	}
	run("v2")
	if s.stateOf() != false {
		t.Error("the snapshot does not count the earlier trails")
	}
	const rules = "attestations: [{type: pull_request, independent_approval: {since_last_release: true}}]"
	dry := s.dryRun(http.StatusOK, `{"environment_name":"prod","policy_name":"four-eyes"}`, rules)
	if says := lookup(t, dry, "artifacts", 0, "explanation", 0, "text"); says != text {
		t.Errorf("the dry run says %v", says)
	}

	s.pullRequests("direct", byGrace)
	s.pullRequests("alone", byGrace)
	if may, why := s.mayRelease("v2"); !may {
		t.Errorf("not compliant after all approvals: %s", why)
	}
	s.putPolicy(http.StatusOK, `{"name":"four-eyes"}`, policyFile(sinceRelease+"# evaluated again\n"))
	run("v2")
	if s.stateOf() != false {
		t.Error("an approval counts that was given after it began to run")
	}
	got := s.get(http.MethodGet, "/trails/"+s.org+"/build/v2/audit_package")
	if result := verifyCompressed(t, got.body); len(result.Findings) > 0 {
		t.Errorf("the package does not hold: %v", result.Findings)
	}
	alterPackage(t, got.body, func(name string, content []byte) []byte {
		if name == audit.EnvironmentsPath && (!strings.Contains(string(content), `"compliant": false,`) || !strings.Contains(string(content), text)) {
			t.Errorf("the package says of the environment %s", content)
		}
		return content
	})

	s.push("merged", "renovate[bot]", "main")
	run("merged")
	if s.stateOf() != true {
		t.Error("trails of the previous release count again")
	}
	s.push("late", ada, "main")
	s.push("bot", "renovate[bot]", "main")
	run("bot")
	run("v1")
	s.pullRequests("late", byGrace)
	run("v2")
	s.clock.advance(3600e9)
	s.createAudit(`"prod"`, from, s.clock.read())
	rows, _ := s.population("?per_page=100")
	var lines []string
	for i := range rows {
		lines = append(lines, rows[i].line()+" "+strings.Join(rows[i].Unapproved, ","))
	}
	want := []string{
		"v1 release compliant approved grace ", "v2 release non_compliant approved grace direct,alone", "merged release compliant machine_account ",
		"bot release non_compliant machine_account late", "v1 rollback compliant approved grace ", "v2 release compliant approved grace ",
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("the population is\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if _, total := s.population("?finding=unapproved_trails"); total != 2 || s.totals().By["unapproved_trails"] != 2 {
		t.Errorf("%d deployments brought unapproved trails, by the totals %d", total, s.totals().By["unapproved_trails"])
	}
	s.signedIn(adminKey).wantPage(http.StatusOK, "/"+s.org+"/audits/q3?finding=unapproved_trails", "2, oldest first", "brings unapproved trails",
		`/flows/build/trails/alone"><bdi>alone`)
}

func TestTemplatesCannotRequireApprovalSinceTheLastRelease(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	got := s.wantForm(http.StatusBadRequest, http.MethodPut, "/flows/"+s.org+"/template_file", `{"name":"build","description":"","visibility":"private"}`,
		yamlFile("version: 1\ntrail:\n  attestations:\n    - {name: pr, type: pull_request, independent_approval: {since_last_release: true}}\n"))
	if !strings.Contains(string(got.body), "since_last_release is for policies only") {
		t.Errorf("it says %s", got.body)
	}
}
