package pipelines_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/evidencetest"
)

// sinceRelease is a policy that requires independent approval of every earlier trail that a release brings.
const sinceRelease = apitest.PolicyHead + "artifacts:\n  attestations:\n    - {type: pull_request, independent_approval: {since_last_release: true}}\n"

// byGrace is a pull request of ada that grace approved.
var byGrace = apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{"grace APPROVED 20"}}

// push records a trail of the flow build with a commit of its own, and an artifact with the trail's name.
func push(s *apitest.Service, trail, author, branch string, pulls ...apitest.Pull) {
	s.T.Helper()
	commit := apitest.DigestOf(trail)[:40]
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/build", fmt.Sprintf(
		`{"name":%q,"git_commit_info":{"sha1":%q,"message":"m","author":%q,"branch":%q,"timestamp":5}}`, trail, commit, author, branch))
	if pulls != nil {
		s.PullRequests(trail, pulls...)
	}
	s.ReportArtifact("build", trail, "app", apitest.DigestOf(trail), commit)
}

// stateOf reads the compliance state of the environment prod.
func stateOf(s *apitest.Service) any {
	return apitest.Lookup(s.T, s.Read(s.EnvironmentsPath()+"/prod"), "state")
}

// mayRelease asserts an artifact against the environment prod and returns the verdict and its explanation.
func mayRelease(s *apitest.Service, trail string) (bool, string) {
	s.T.Helper()
	path, query := "/asserts/"+s.Org+"/fingerprint/"+apitest.DigestOf(trail), "?environment_name=prod"
	return apitest.Lookup(s.T, s.Read(path+query), "compliant") == true, strings.Join(apitest.TextsIn(s.Read(path+"/explanation"+query)), "\n")
}

func TestEarlierTrailsOfAReleaseNeedApprovalToo(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true})
	const ada = "Ada <ada@example.com>"
	s.CreateFlow("build", apitest.YAMLFile("version: 1\ntrail:\n  attestations:\n    - {name: pr, type: pull_request}\n"))
	s.PutPolicy(http.StatusCreated, `{"name":"four-eyes"}`, apitest.PolicyFile(sinceRelease))
	s.CreateEnvironment("prod", evidence.K8S)
	s.Attach("prod", "four-eyes")
	from := s.Clock.Read()
	run := func(trail string) {
		s.Clock.Advance(3600e9)
		s.RunPods("prod", trail)
	}
	push(s, "before", ada, "main")
	push(s, "v1", ada, "main", byGrace)
	run("v1")
	if stateOf(s) != true {
		t.Fatal("a trail before the first release counts")
	}

	push(s, "direct", ada, "main")
	push(s, "alone", ada, "main", apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{"ada APPROVED 20"}})
	push(s, "feature", ada, "feature", []apitest.Pull{}...)
	push(s, "robot", "svc_deploy", "main")
	push(s, "paper", ada, "main")
	s.Want(http.StatusOK, http.MethodPost, "/attestations/"+s.Org+"/build/trail/paper/override",
		[]byte(`{"attestation_name":"pr","original_attestation_type":"pull_request","new_compliance_status":true,"reason":"joan approved on paper"}`))
	push(s, "v2", ada, "main", byGrace)
	const text = "In trail 'v2' of flow 'build' the artifact brings changes without independent approval: nobody else had approved the earlier trails that it brings since the last release: direct, alone."
	if may, why := mayRelease(s, "v2"); may || !strings.Contains(why, text) {
		t.Errorf("before the release compliant is %t: %s", may, why)
	}
	s.SetAdmission("prod", `{"mode":"deny"}`)
	reviewOf := func(version string) []byte {
		return apitest.Review("Pod", apitest.Pod("", "registry.example.com/app@sha256:"+apitest.DigestOf(version)), false)
	}
	if !s.Admit("prod", reviewOf("v1")).Response.Allowed {
		t.Error("the cluster denies the version that it runs")
	}
	if got := s.Admit("prod", reviewOf("v2")).Response; got.Allowed || !strings.Contains(got.Status.Message, "since the last release: direct, alone.") {
		t.Errorf("the cluster may run it: %+v", got)
	}
	if may, _ := mayRelease(s, "v1"); !may {
		t.Error("the running version does not comply")
	}
	run("v2")
	if stateOf(s) != false {
		t.Error("the snapshot does not count the earlier trails")
	}
	const rules = "attestations: [{type: pull_request, independent_approval: {since_last_release: true}}]"
	dry := s.DryRun(http.StatusOK, `{"environment_name":"prod","policy_name":"four-eyes"}`, rules)
	if says := apitest.Lookup(t, dry, "artifacts", 0, "explanation", 0, "text"); says != text {
		t.Errorf("the dry run says %v", says)
	}

	s.PullRequests("direct", byGrace)
	s.PullRequests("alone", byGrace)
	if may, why := mayRelease(s, "v2"); !may {
		t.Errorf("not compliant after all approvals: %s", why)
	}
	s.PutPolicy(http.StatusOK, `{"name":"four-eyes"}`, apitest.PolicyFile(sinceRelease+"# evaluated again\n"))
	run("v2")
	if stateOf(s) != false {
		t.Error("an approval counts that was given after it began to run")
	}
	got := s.Get(http.MethodGet, "/trails/"+s.Org+"/build/v2/audit_package")
	if result := apitest.VerifyCompressed(t, got.Body); len(result.Findings) > 0 {
		t.Errorf("the package does not hold: %v", result.Findings)
	}
	apitest.AlterPackage(t, got.Body, func(name string, content []byte) []byte {
		if name == audit.EnvironmentsPath && (!strings.Contains(string(content), `"compliant": false,`) || !strings.Contains(string(content), text)) {
			t.Errorf("the package says of the environment %s", content)
		}
		return content
	})

	push(s, "merged", "renovate[bot]", "main")
	run("merged")
	if stateOf(s) != true {
		t.Error("trails of the previous release count again")
	}
	push(s, "late", ada, "main")
	push(s, "bot", "renovate[bot]", "main")
	run("bot")
	run("v1")
	s.PullRequests("late", byGrace)
	run("v2")
	s.Clock.Advance(3600e9)
	s.CreateAudit(`"prod"`, from, s.Clock.Read())
	rows, _ := s.Population("?per_page=100")
	var lines []string
	for i := range rows {
		lines = append(lines, rows[i].Line()+" "+strings.Join(rows[i].Unapproved, ","))
	}
	want := []string{
		"v1 release compliant approved grace ", "v2 release non_compliant approved grace direct,alone", "merged release compliant machine_account ",
		"bot release non_compliant machine_account late", "v1 rollback compliant approved grace ", "v2 release compliant approved grace ",
	}
	apitest.Equal(t, strings.Join(lines, "\n"), strings.Join(want, "\n"), "the population")
	if _, total := s.Population("?finding=unapproved_trails"); total != 2 || s.Totals().By["unapproved_trails"] != 2 {
		t.Errorf("%d deployments brought unapproved trails, by the totals %d", total, s.Totals().By["unapproved_trails"])
	}
	webclient.SignedIn(s, apitest.AdminKey).WantPage(http.StatusOK, "/"+s.Org+"/audits/q3?finding=unapproved_trails", "2, oldest first", "brings unapproved trails",
		`/flows/build/trails/alone"><bdi>alone`)
}

func TestTemplatesCannotRequireApprovalSinceTheLastRelease(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	got := s.WantForm(http.StatusBadRequest, http.MethodPut, "/flows/"+s.Org+"/template_file", `{"name":"build","description":"","visibility":"private"}`,
		apitest.YAMLFile("version: 1\ntrail:\n  attestations:\n    - {name: pr, type: pull_request, independent_approval: {since_last_release: true}}\n"))
	evidencetest.Contains(t, string(got.Body), "since_last_release is for policies only")
}
