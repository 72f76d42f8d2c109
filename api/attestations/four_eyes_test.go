package attestations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/evidencetest"
)

// approvalPolicy requires independent approval of pull requests.
const approvalPolicy = apitest.PolicyHead + "artifacts:\n  attestations:\n    - {type: pull_request, independent_approval: true}\n"

// fourEyes asserts an artifact against the policy four-eyes and returns the verdict and its explanation.
func fourEyes(s *apitest.Service, fingerprint string) (passes bool, why string) {
	s.T.Helper()
	path := "/asserts/" + s.Org + "/fingerprint/" + fingerprint
	passes = apitest.Lookup(s.T, s.Read(path+"?policy_name=four-eyes"), "compliant").(bool)
	return passes, strings.Join(apitest.TextsIn(s.Read(path+"/explanation?policy_name="+url.QueryEscape("four-eyes"))), "\n")
}

func TestPoliciesSetApproversAndMachineAccounts(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateFlow("build")
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/build", `{"name":"t","git_commit_info":{"sha1":"`+apitest.TrailCommit+`","message":"m","author":"svc_deploy","branch":"main","timestamp":5}}`)
	s.ReportArtifact("build", "t", "app", apitest.CLIFingerprint, apitest.TrailCommit)
	s.PullRequests("t", apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{"grace APPROVED 20", "Grace APPROVED 21"}})
	rule := func(status int, rule, says string) {
		t.Helper()
		s.PutPolicy(status, `{"name":"four-eyes"}`, apitest.PolicyFile(apitest.PolicyHead+"artifacts:\n  attestations:\n    - {type: pull_request, independent_approval: "+rule+"}\n"))
		if _, why := fourEyes(s, apitest.CLIFingerprint); !strings.Contains(why, says) {
			t.Errorf("%s says %s, want %s", rule, why, says)
		}
	}
	rule(http.StatusCreated, "{approvers: 2, machine_accounts: []}", "an author has the approval of 1 after the last commit, the rule asks for 2")
	rule(http.StatusOK, "{approvers: 2}", "machine account")
	rule(http.StatusOK, "{approvers: 1, machine_accounts: ['robot-.*']}", "there is the compliant attestation 'pr'")
	rule(http.StatusOK, "false", "there is the compliant attestation 'pr'")
	// An override counts with its verdict because its reason is recorded.
	rule(http.StatusOK, "{approvers: 2, machine_accounts: []}", "the rule asks for 2")
	s.Want(http.StatusOK, http.MethodPost, "/attestations/"+s.Org+"/build/trail/t/override",
		[]byte(`{"attestation_name":"pr","original_attestation_type":"pull_request","new_compliance_status":true,"reason":"joan approved on paper"}`))
	if passes, why := fourEyes(s, apitest.CLIFingerprint); !passes || !strings.Contains(why, "there is the compliant attestation") {
		t.Errorf("with an override the verdict is %t: %s", passes, why)
	}
	s.Want(http.StatusOK, http.MethodPost, "/attestations/"+s.Org+"/build/trail/t/override",
		[]byte(`{"attestation_name":"pr","original_attestation_type":"pull_request","new_compliance_status":false,"reason":"it was no machine"}`))
	rule(http.StatusOK, "true", "is non-compliant: overridden by administrator: it was no machine.")
	apitest.Each(s, map[string]struct{ rule, says string }{
		"another type":      {"{type: junit, independent_approval: true}", "needs the type 'pull_request'"},
		"too few":           {"{type: pull_request, independent_approval: {approvers: 0}}", "from 1 to 20"},
		"too many":          {"{type: pull_request, independent_approval: {approvers: 21}}", "from 1 to 20"},
		"no number":         {"{type: pull_request, independent_approval: {approvers: two}}", "from 1 to 20"},
		"no pattern":        {"{type: pull_request, independent_approval: {machine_accounts: [a, '(']}}", "independent_approval.machine_accounts.1 (line 4"},
		"two patterns":      {"{type: pull_request, independent_approval: {machine_accounts: [')|(.*']}}", "unexpected )"},
		"no list":           {"{type: pull_request, independent_approval: {machine_accounts: bot}}", "valid list"},
		"an unknown member": {"{type: pull_request, independent_approval: {approver: 2}}", "Extra inputs"},
		"a text":            {"{type: pull_request, independent_approval: 'yes'}", "valid boolean"},
	}, func(s *apitest.Service, _ string, wrong struct{ rule, says string }) {
		got := s.PutPolicy(http.StatusBadRequest, `{"name":"wrong"}`,
			apitest.PolicyFile(apitest.PolicyHead+"artifacts:\n  attestations:\n    - "+wrong.rule+"\n"))
		if !strings.Contains(string(got.Body), wrong.says) || !strings.Contains(string(got.Body), "line 4") {
			s.T.Errorf("it says %s", got.Body)
		}
	})
}

func TestTemplatesRequireIndependentApproval(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateFlow("build", apitest.YAMLFile("version: 1\ntrail:\n  artifacts:\n    - {name: app, attestations: [{name: pr, type: pull_request, independent_approval: true}]}\n"))
	begin := func(status int, author string) {
		t.Helper()
		s.WantForm(status, http.MethodPut, "/trails/"+s.Org+"/build", fmt.Sprintf(
			`{"name":"t","git_commit_info":{"sha1":%q,"message":"m","author":%q,"branch":"main","timestamp":5}}`, apitest.TrailCommit, author))
	}
	wantTrail := func(status, lack string) {
		t.Helper()
		trail := s.Read("/trails/" + s.Org + "/build/t")
		found := apitest.Lookup(t, trail, "compliance_status", "artifacts_statuses", "app", "attestations_statuses").([]any)
		if got := apitest.Lookup(t, trail, "compliance_status", "status"); got != status || apitest.Column(t, found, "approval_lack") != lack {
			t.Errorf("the trail is %v, %v; want %s, %s", got, found, status, lack)
		}
	}
	begin(http.StatusCreated, "Ada <ada@example.com>")
	s.ReportArtifact("build", "t", "app", apitest.CLIFingerprint, apitest.TrailCommit)
	wantTrail("INCOMPLETE", "<nil>")
	// A machine account needs no pull request. A change of the trail's commit evaluates the artifact again.
	begin(http.StatusOK, "svc_deploy")
	wantTrail("COMPLIANT", "")
	begin(http.StatusOK, "Ada <ada@example.com>")
	wantTrail("INCOMPLETE", "<nil>")
	s.PullRequestsOf("t", "app", apitest.Pull{Author: "ada", Commits: []string{"ada 10"}})
	wantTrail("NON-COMPLIANT", "ada has no approval of somebody else after the last commit")
	if why := strings.Join(apitest.TextsIn(s.Read("/asserts/"+s.Org+"/fingerprint/"+apitest.CLIFingerprint+"/explanation?flow=build")), "\n"); !strings.Contains(why, "ada has no approval of somebody else") {
		t.Errorf("the explanation is %s", why)
	}
	v := webclient.SignedIn(s, apitest.AdminKey)
	v.WantPage(http.StatusOK, "/"+s.Org+"/flows/build", "pull_request</bdi>, approved by others")
	v.WantPage(http.StatusOK, "/"+s.Org+"/flows/build/trails/t", "ada has no approval of somebody else after the last commit")
	got := s.Get(http.MethodGet, "/trails/"+s.Org+"/build/t/audit_package")
	if result := apitest.VerifyCompressed(t, got.Body); len(result.Findings) > 0 {
		t.Errorf("the package does not hold: %v", result.Findings)
	}
	s.PullRequestsOf("t", "app", apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{"grace APPROVED 20"}})
	wantTrail("COMPLIANT", "<nil>")
	if compliant := apitest.Lookup(t, s.Read("/trails/"+s.Org+"/build/t"), "template", "trail", "artifacts", 0, "attestations", 0, "independent_approval", "approvers"); compliant != 1.0 {
		t.Errorf("the template asks for %v", compliant)
	}
}

func TestEnvironmentsAreEvaluatedAgainAfterAChangeOfTheAuthor(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.PutPolicy(http.StatusCreated, `{"name":"four-eyes"}`, apitest.PolicyFile(approvalPolicy))
	s.CreateFlow("build")
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath(), []byte(`{"name":"prod","type":"server","description":"","policies":["four-eyes"]}`))
	status := http.StatusCreated
	for author, compliant := range map[string]bool{"Ada <ada@example.com>": false, "svc_deploy": true} {
		s.WantForm(status, http.MethodPut, "/trails/"+s.Org+"/build", fmt.Sprintf(
			`{"name":"t","git_commit_info":{"sha1":%q,"message":"m","author":%q,"branch":"main","timestamp":5}}`, apitest.TrailCommit, author))
		if status == http.StatusCreated {
			s.ReportArtifact("build", "t", "app", evidence.HashAPIKey("app"), apitest.TrailCommit)
		}
		status = http.StatusOK
		s.ReportServer("prod", "app")
		apitest.Equal[any](t, apitest.Lookup(t, s.Read(s.EnvironmentsPath()+"/prod"), "state"), compliant, author)
	}
}

func TestIndependentApprovalUsesTheAccountsOfPeople(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.PutPolicy(http.StatusCreated, `{"name":"four-eyes"}`, apitest.PolicyFile(approvalPolicy))
	s.CreateFlow("build")
	put := func(s *apitest.Service, status int, file string) apitest.Answer {
		t.Helper()
		body, err := json.Marshal(map[string]string{"content": file, "comment": "for the audit"})
		s.Must(err)
		return s.Want(status, http.MethodPut, "/organizations/"+s.Org+"/people", body)
	}
	file := "people:\n  - {name: Ada Lovelace, accounts: [ada, ada-work]}\n  - {name: Grace Hopper, accounts: [grace, grace@example.com]}\n"
	number := 0
	attestPulls := func(s *apitest.Service, pulls string) (trail, fingerprint string) {
		s.T.Helper()
		number++
		trail, fingerprint = fmt.Sprint("t", number), apitest.PadHex(fmt.Sprintf("%x", 0xa0000+number), 64)
		s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/build", fmt.Sprintf(
			`{"name":%q,"git_commit_info":{"sha1":%q,"message":"m","author":"Ada <ada@example.com>","branch":"main","timestamp":5}}`, trail, apitest.TrailCommit))
		s.WantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.Org+"/build/trail/"+trail+"/pull_request",
			`{"attestation_name":"pr","git_provider":"github","pull_requests":[`+pulls+`]}`)
		s.ReportArtifact("build", trail, "app", fingerprint, apitest.TrailCommit)
		return trail, fingerprint
	}
	twice := apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{"Ada-Work APPROVED 20"}}.JSON()
	_, before := attestPulls(s, twice)
	if passes, why := fourEyes(s, before); !passes {
		t.Errorf("before the file, two accounts are not two people: %s", why)
	}
	if version := apitest.Lookup(t, s.Read("/organizations/"+s.Org+"/people"), "version"); version != 0.0 {
		t.Errorf("before the first file, the version is %v", version)
	}
	put(s, http.StatusOK, file)
	put(s, http.StatusOK, file) // unchanged: makes no version
	apitest.WantMembers(t, s.Read("/organizations/"+s.Org+"/people"), map[string]any{"version": 1.0, "content": file})
	if passes, _ := fourEyes(s, before); !passes {
		t.Error("the file changes the verdict on what was recorded before")
	}
	unknown := strings.Replace(apitest.Pull{Author: "ada", Merge: true, Commits: []string{"- 10"}, Approvals: []string{"ada APPROVED 20"}}.JSON(), "Somebody <somebody@", "Grace <grace@", 1)
	verified := strings.Replace(unknown, `"branch":"b"`, `"branch":"b","verified":true`, 1)
	type testCase struct {
		pulls  string
		passes bool
		says   string
	}
	apitest.Each(s, map[string]testCase{
		"approved with a second account":   {twice, false, "Ada Lovelace has no approval of somebody else"},
		"approved by another":              {apitest.Pull{Author: "ADA", Commits: []string{"ada-work 10"}, Approvals: []string{"grace APPROVED 20"}}.JSON(), true, ""},
		"a verified address that approves": {strings.Replace(verified, `"username":"ada"`, `"username":"Grace"`, 1), false, "Grace Hopper has no approval of somebody else"},
	}, func(s *apitest.Service, _ string, c testCase) {
		trail, fingerprint := attestPulls(s, c.pulls)
		if passes, why := fourEyes(s, fingerprint); passes != c.passes || !strings.Contains(why, c.says) {
			s.T.Errorf("the verdict is %t: %s", passes, why)
		}
		got := s.Get(http.MethodGet, "/trails/"+s.Org+"/build/"+trail+"/audit_package")
		if result := apitest.VerifyCompressed(s.T, got.Body); len(result.Findings) > 0 {
			s.T.Errorf("without the file, the package does not hold: %v", result.Findings)
		}
	})
	put(s, http.StatusOK, "people: []\n")
	apitest.WantMember(t, s.Read("/organizations/"+s.Org+"/people?version=1"), "content", file)
	s.Want(http.StatusNotFound, http.MethodGet, "/organizations/"+s.Org+"/people?version=3", nil)
	if log := string(s.Get(http.MethodGet, "/membership-audit-log/"+s.Org).Body); strings.Count(log, `"kind":"people"`) != 2 || !strings.Contains(log, "version 2 of the accounts of people") {
		t.Errorf("the audit log is %s", log)
	}
	apitest.Each(s, map[string]struct{ file, says string }{
		"a person twice":       {"people:\n  - {name: Ada}\n  - {name: ADA}\n", "people.1.name (line 3, column 12)\\n  Value error, this is an account of 'Ada' already [input: ADA]"},
		"an account of two":    {"people:\n  - {name: Ada, accounts: [a]}\n  - {name: Grace, accounts: [g, A]}\n", "people.1.accounts.1 (line 3, column 33)"},
		"an account twice":     {"people: [{name: Ada, accounts: [a, a]}]", "people.0.accounts.1 (line 1"},
		"no name":              {"people:\n  - {accounts: [a]}\n", "people.0.name"},
		"an empty account":     {"people: [{name: Ada, accounts: ['']}]", "at least 1 character"},
		"a long account":       {"people: [{name: Ada, accounts: [" + strings.Repeat("a", 256) + "]}]", "at most 255 characters"},
		"another member":       {"people: [{name: Ada, account: a}]", "Extra inputs"},
		"no list":              {"people: Ada", "valid list"},
		"no YAML":              {"people: [", "Invalid YAML"},
		"no file":              {"", "content"},
		"too many accounts":    {"people: [{name: Ada, accounts: [\n" + strings.ReplaceAll(numbered(20_000), ",", ",\n") + "]}]", "at most 20000 names and accounts"},
		"a file that is large": {"people: [] #" + strings.Repeat("a", 524_288), "content"},
	}, func(s *apitest.Service, _ string, c struct{ file, says string }) {
		got := put(s, http.StatusBadRequest, c.file)
		evidencetest.Contains(s.T, string(got.Body), c.says)
	})
}

// numbered returns count different words, separated by commas.
func numbered(count int) string {
	words := make([]string, count)
	for i := range words {
		words[i] = fmt.Sprint("a", i)
	}
	return strings.Join(words, ",")
}

func TestPackagesHaveTheSameVerdictsOnIndependentApproval(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.PutPolicy(http.StatusCreated, `{"name":"four-eyes"}`, apitest.PolicyFile(approvalPolicy))
	s.CreateFlow("build")
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath(), []byte(`{"name":"prod","type":"server","description":"","policies":["four-eyes"]}`))
	approved := apitest.Pull{Author: "ada", Merge: true, Commits: []string{"ada 10"}, Approvals: []string{"grace APPROVED 20"}}
	trails := []struct {
		name, author string
		pulls        []apitest.Pull
		compliant    bool
	}{
		{"by-machine", "svc_deploy", nil, true},
		{"approved", "Ada <ada@example.com>", []apitest.Pull{approved}, true},
		{"alone", "Ada <ada@example.com>", []apitest.Pull{{Author: "ada", Commits: []string{"ada 10"}}}, false},
	}
	for _, c := range trails {
		s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/build", fmt.Sprintf(
			`{"name":%q,"git_commit_info":{"sha1":%q,"message":"m","author":%q,"branch":"main","timestamp":5}}`, c.name, apitest.TrailCommit, c.author))
		if c.pulls != nil {
			s.PullRequests(c.name, c.pulls...)
		}
		s.ReportArtifact("build", c.name, "app", evidence.HashAPIKey(c.name), apitest.TrailCommit)
	}
	s.ReportServer("prod", "by-machine", "approved", "alone")
	for _, c := range trails {
		t.Run(c.name, func(t *testing.T) {
			s := s.In(t)
			got := s.Get(http.MethodGet, "/trails/"+s.Org+"/build/"+c.name+"/audit_package")
			if result := apitest.VerifyCompressed(t, got.Body); len(result.Findings) > 0 {
				t.Errorf("the package does not hold: %v", result.Findings)
			}
			environments := ""
			apitest.AlterPackage(t, got.Body, func(name string, content []byte) []byte {
				if name == audit.EnvironmentsPath {
					environments = string(content)
				}
				return content
			})
			evidencetest.Contains(t, environments, fmt.Sprintf(`"compliant": %t,`, c.compliant))
		})
	}
	forged := apitest.AlterPackage(t, s.Get(http.MethodGet, "/trails/"+s.Org+"/build/alone/audit_package").Body, func(_ string, content []byte) []byte {
		return regexp.MustCompile(`"unapproved": "[^"]*"`).ReplaceAll(content, []byte(`"approvers": 1`))
	})
	evidencetest.Contains(t, fmt.Sprint(apitest.VerifyPackage(t, forged).Findings),
		"it says that 1 approved, but its pull requests do not")
}
