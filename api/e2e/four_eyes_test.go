package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/audit"
)

// reviewedChange is a trail with pull requests: commits as "author time" (- for an author without a username, web for
// the website of GitHub), approvals as "name state time".
type reviewedChange struct {
	author   string // of the trail's commit
	pulls    []pull
	absent   bool // no attestation at all
	approved bool // the verdict of public policies
	says     string
}

type pull struct {
	author    string
	merge     bool // the trail has its merge commit
	commits   []string
	approvals []string
}

const trailCommit = "1111111111111111111111111111111111111111"

func (p pull) json() string {
	var commits, approvers []string
	for i, one := range p.commits {
		var author string
		var at int
		fmt.Sscan(one, &author, &at)
		by, username := author+" <"+author+"@example.com>", `"`+author+`"`
		switch author {
		case "-":
			by, username = "Somebody <somebody@example.com>", "null"
		case "web":
			by, username = "GitHub <noreply@github.com>", `"web-flow"`
		}
		commits = append(commits, fmt.Sprintf(`{"sha1":"%040d","message":"m","author":%q,"author_username":%s,"branch":"b","timestamp":%d}`, i, by, username, at))
	}
	for _, one := range p.approvals {
		var name, state string
		var at int
		fmt.Sscan(one, &name, &state, &at)
		approvers = append(approvers, fmt.Sprintf(`{"username":%q,"state":%q,"timestamp":%d}`, strings.Trim(name, "-"), state, at))
	}
	merge := "2222222222222222222222222222222222222222"
	if p.merge {
		merge = trailCommit
	}
	return fmt.Sprintf(`{"url":"https://git.example.com/pull/1","state":"MERGED","author":%q,"title":"t","created_at":1,"head_ref":"h","merge_commit":%q,"commits":[%s],"approvers":[%s]}`,
		p.author, merge, strings.Join(commits, ","), strings.Join(approvers, ","))
}

// approvalPolicy requires independent approval of pull requests.
const approvalPolicy = policyHead + "artifacts:\n  attestations:\n    - {type: pull_request, independent_approval: true}\n"

func TestIndependentApprovalHasTheVerdictsOfPublicPolicies(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.putPolicy(http.StatusCreated, `{"name":"four-eyes"}`, policyFile(approvalPolicy))
	s.createFlow("build")
	ada, late := []string{"ada 10"}, "grace APPROVED 20"
	number := 0
	for name, c := range map[string]reviewedChange{
		"no attestation":                         {author: "Ada <ada@example.com>", absent: true, says: "there is no attestation of type pull_request"},
		"an attestation without a pull request":  {author: "Ada <ada@example.com>", says: "is non-compliant"},
		"a machine account svc_deploy":           {author: "svc_deploy", absent: true, approved: true, says: "machine account"},
		"dependabot":                             {author: "dependabot[bot] <49699333+dependabot[bot]@users.noreply.github.com>", absent: true, approved: true},
		"github-actions":                         {author: "github-actions[bot]", absent: true, approved: true},
		"ci-signed-commit-bot":                   {author: "ci-signed-commit-bot[bot] <x@example.com>", absent: true, approved: true},
		"an address that begins like a machine":  {author: "Ada <ada@users.noreply.github.com>", absent: true},
		"approved after the last commit":         {pulls: []pull{{author: "ada", commits: ada, approvals: []string{late}}}, approved: true},
		"the merge commit, approved by another":  {pulls: []pull{{author: "ada", merge: true, commits: ada, approvals: []string{late}}}, approved: true},
		"merged by the approver":                 {pulls: []pull{{author: "grace", merge: true, commits: ada, approvals: []string{late}}}, approved: true},
		"opened by the approver, not merged":     {pulls: []pull{{author: "grace", commits: ada, approvals: []string{late}}}, says: "grace has no approval of somebody else after the last commit"},
		"approved by its author":                 {pulls: []pull{{author: "ada", commits: ada, approvals: []string{"ada APPROVED 20"}}}, says: "ada has no approval"},
		"merged and approved by its author":      {pulls: []pull{{author: "ada", merge: true, commits: ada, approvals: []string{"ADA APPROVED 20"}}}, says: "ada has no approval"},
		"another commit after the approval":      {pulls: []pull{{author: "ada", commits: []string{"ada 10", "ada 30"}, approvals: []string{late}}}, says: "after the last commit"},
		"no approval":                            {pulls: []pull{{author: "ada", commits: ada}}, says: "ada has no approval"},
		"two authors approve one another":        {pulls: []pull{{author: "ada", merge: true, commits: []string{"ada 10", "grace 11"}, approvals: []string{late, "ada APPROVED 21"}}}, approved: true},
		"two authors, one approves":              {pulls: []pull{{author: "ada", merge: true, commits: []string{"ada 10", "grace 11"}, approvals: []string{late}}}, says: "grace has no approval"},
		"a commit of nobody":                     {pulls: []pull{{author: "ada", merge: true, commits: []string{"ada 10", "- 11"}, approvals: []string{late}}}, says: "it is not known who wrote commit"},
		"all commits of nobody":                  {pulls: []pull{{author: "ada", merge: true, commits: []string{"- 10"}, approvals: []string{late}}}, says: "it is not known who wrote commit"},
		"no commits":                             {pulls: []pull{{author: "ada", merge: true, approvals: []string{late}}}, says: "it is not known who wrote the code"},
		"a machine account with unknown authors": {author: "svc_deploy", pulls: []pull{{author: "ada", commits: []string{"- 10"}}}, approved: true},
		"a commit of the website beside others":  {pulls: []pull{{author: "ada", merge: true, commits: []string{"ada 10", "web 11"}, approvals: []string{late}}}, approved: true},
		"the second pull request is approved":    {pulls: []pull{{author: "ada", commits: ada}, {author: "ada", commits: ada, approvals: []string{late}}}, approved: true},
		"dismissed or changes requested":         {pulls: []pull{{author: "ada", commits: ada, approvals: []string{"grace DISMISSED 20", "joan CHANGES_REQUESTED 20"}}}, says: "ada has no approval"},
		"one dismissed and one approved":         {pulls: []pull{{author: "ada", commits: ada, approvals: []string{"joan DISMISSED 20", late}}}, approved: true},
		"an approver without a name":             {pulls: []pull{{author: "ada", commits: ada, approvals: []string{"- APPROVED 20"}}}, says: "ada has no approval"},
	} {
		number++
		trail, fingerprint := fmt.Sprint("t", number), padHex(fmt.Sprintf("%x", 0xf0000+number), 64)
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			author := c.author
			if author == "" {
				author = "Ada <ada@example.com>"
			}
			s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/build", fmt.Sprintf(
				`{"name":%q,"git_commit_info":{"sha1":%q,"message":"m","author":%q,"branch":"main","timestamp":5,"url":"https://git.example.com/1"}}`, trail, trailCommit, author))
			if !c.absent {
				s.pullRequests(trail, c.pulls...)
			}
			s.reportArtifact("build", trail, "app", fingerprint, trailCommit)
			verdict, texts := s.fourEyes(fingerprint)
			if verdict != c.approved || !strings.Contains(texts, c.says) {
				t.Errorf("the verdict is %t: %s", verdict, texts)
			}
		})
	}
}

// pullRequests attests pull requests in a trail.
func (s *service) pullRequests(trail string, pulls ...pull) { s.pullRequestsOf(trail, "", pulls...) }

// pullRequestsOf attests pull requests in a trail for an artifact by its name in the template, "" for the trail.
func (s *service) pullRequestsOf(trail, artifact string, pulls ...pull) {
	s.t.Helper()
	target := ""
	if artifact != "" {
		target = fmt.Sprintf(`"target_artifacts":[%q],`, artifact)
	}
	var all []string
	for _, one := range pulls {
		all = append(all, one.json())
	}
	s.wantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.org+"/build/trail/"+trail+"/pull_request",
		`{`+target+`"attestation_name":"pr","git_provider":"github","pull_requests":[`+strings.Join(all, ",")+`]}`)
}

// fourEyes asserts an artifact against the policy four-eyes and returns the verdict and its explanation.
func (s *service) fourEyes(fingerprint string) (passes bool, why string) {
	s.t.Helper()
	path := "/asserts/" + s.org + "/fingerprint/" + fingerprint
	passes = lookup(s.t, s.read(path+"?policy_name=four-eyes"), "compliant").(bool)
	return passes, strings.Join(textsIn(s.read(path+"/explanation?policy_name="+url.QueryEscape("four-eyes"))), "\n")
}

func TestPoliciesSetApproversAndMachineAccounts(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createFlow("build")
	s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/build", `{"name":"t","git_commit_info":{"sha1":"`+trailCommit+`","message":"m","author":"svc_deploy","branch":"main","timestamp":5}}`)
	s.reportArtifact("build", "t", "app", cliFingerprint, trailCommit)
	s.pullRequests("t", pull{author: "ada", commits: []string{"ada 10"}, approvals: []string{"grace APPROVED 20", "Grace APPROVED 21"}})
	rule := func(status int, rule, says string) {
		t.Helper()
		s.putPolicy(status, `{"name":"four-eyes"}`, policyFile(policyHead+"artifacts:\n  attestations:\n    - {type: pull_request, independent_approval: "+rule+"}\n"))
		if _, why := s.fourEyes(cliFingerprint); !strings.Contains(why, says) {
			t.Errorf("%s says %s, want %s", rule, why, says)
		}
	}
	rule(http.StatusCreated, "{approvers: 2, machine_accounts: []}", "an author has the approval of 1 after the last commit, the rule asks for 2")
	rule(http.StatusOK, "{approvers: 2}", "machine account")
	rule(http.StatusOK, "{approvers: 1, machine_accounts: ['robot-.*']}", "there is the compliant attestation 'pr'")
	rule(http.StatusOK, "false", "there is the compliant attestation 'pr'")
	// An override counts with its verdict because its reason is recorded.
	rule(http.StatusOK, "{approvers: 2, machine_accounts: []}", "the rule asks for 2")
	s.want(http.StatusOK, http.MethodPost, "/attestations/"+s.org+"/build/trail/t/override",
		[]byte(`{"attestation_name":"pr","original_attestation_type":"pull_request","new_compliance_status":true,"reason":"joan approved on paper"}`))
	if passes, why := s.fourEyes(cliFingerprint); !passes || !strings.Contains(why, "there is the compliant attestation") {
		t.Errorf("with an override the verdict is %t: %s", passes, why)
	}
	for name, wrong := range map[string]struct{ rule, says string }{
		"another type":      {"{type: junit, independent_approval: true}", "needs the type 'pull_request'"},
		"too few":           {"{type: pull_request, independent_approval: {approvers: 0}}", "from 1 to 20"},
		"too many":          {"{type: pull_request, independent_approval: {approvers: 21}}", "from 1 to 20"},
		"no number":         {"{type: pull_request, independent_approval: {approvers: two}}", "from 1 to 20"},
		"no pattern":        {"{type: pull_request, independent_approval: {machine_accounts: [a, '(']}}", "independent_approval.machine_accounts.1 (line 4"},
		"two patterns":      {"{type: pull_request, independent_approval: {machine_accounts: [')|(.*']}}", "unexpected )"},
		"no list":           {"{type: pull_request, independent_approval: {machine_accounts: bot}}", "valid list"},
		"an unknown member": {"{type: pull_request, independent_approval: {approver: 2}}", "Extra inputs"},
		"a text":            {"{type: pull_request, independent_approval: 'yes'}", "valid boolean"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			got := s.putPolicy(http.StatusBadRequest, `{"name":"wrong"}`, policyFile(policyHead+"artifacts:\n  attestations:\n    - "+wrong.rule+"\n"))
			if !strings.Contains(string(got.body), wrong.says) || !strings.Contains(string(got.body), "line 4") {
				t.Errorf("it says %s", got.body)
			}
		})
	}
}

func TestTemplatesRequireIndependentApproval(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createFlow("build", yamlFile("version: 1\ntrail:\n  artifacts:\n    - {name: app, attestations: [{name: pr, type: pull_request, independent_approval: true}]}\n"))
	begin := func(status int, author string) {
		t.Helper()
		s.wantForm(status, http.MethodPut, "/trails/"+s.org+"/build", fmt.Sprintf(
			`{"name":"t","git_commit_info":{"sha1":%q,"message":"m","author":%q,"branch":"main","timestamp":5}}`, trailCommit, author))
	}
	wantTrail := func(status, lack string) {
		t.Helper()
		trail := s.read("/trails/" + s.org + "/build/t")
		found := lookup(t, trail, "compliance_status", "artifacts_statuses", "app", "attestations_statuses").([]any)
		if got := lookup(t, trail, "compliance_status", "status"); got != status || column(t, found, "approval_lack") != lack {
			t.Errorf("the trail is %v, %v; want %s, %s", got, found, status, lack)
		}
	}
	begin(http.StatusCreated, "Ada <ada@example.com>")
	s.reportArtifact("build", "t", "app", cliFingerprint, trailCommit)
	wantTrail("INCOMPLETE", "<nil>")
	// A machine account needs no pull request. A change of the trail's commit evaluates the artifact again.
	begin(http.StatusOK, "svc_deploy")
	wantTrail("COMPLIANT", "")
	begin(http.StatusOK, "Ada <ada@example.com>")
	wantTrail("INCOMPLETE", "<nil>")
	s.pullRequestsOf("t", "app", pull{author: "ada", commits: []string{"ada 10"}})
	wantTrail("NON-COMPLIANT", "ada has no approval of somebody else after the last commit")
	if why := strings.Join(textsIn(s.read("/asserts/"+s.org+"/fingerprint/"+cliFingerprint+"/explanation?flow=build")), "\n"); !strings.Contains(why, "ada has no approval of somebody else") {
		t.Errorf("the explanation is %s", why)
	}
	v := s.signedIn(adminKey)
	v.wantPage(http.StatusOK, "/"+s.org+"/flows/build", "pull_request</bdi>, approved by others")
	v.wantPage(http.StatusOK, "/"+s.org+"/flows/build/trails/t", "ada has no approval of somebody else after the last commit")
	got := s.get(http.MethodGet, "/trails/"+s.org+"/build/t/audit_package")
	if result := verifyCompressed(t, got.body); len(result.Findings) > 0 {
		t.Errorf("the package does not hold: %v", result.Findings)
	}
	s.pullRequestsOf("t", "app", pull{author: "ada", commits: []string{"ada 10"}, approvals: []string{"grace APPROVED 20"}})
	wantTrail("COMPLIANT", "<nil>")
	if compliant := lookup(t, s.read("/trails/"+s.org+"/build/t"), "template", "trail", "artifacts", 0, "attestations", 0, "independent_approval", "approvers"); compliant != 1.0 {
		t.Errorf("the template asks for %v", compliant)
	}
}

func TestEnvironmentsAreEvaluatedAgainAfterAChangeOfTheAuthor(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.putPolicy(http.StatusCreated, `{"name":"four-eyes"}`, policyFile(approvalPolicy))
	s.createFlow("build")
	s.want(http.StatusCreated, http.MethodPut, s.environmentsPath(), []byte(`{"name":"prod","type":"server","description":"","policies":["four-eyes"]}`))
	status := http.StatusCreated
	for author, compliant := range map[string]bool{"Ada <ada@example.com>": false, "svc_deploy": true} {
		s.wantForm(status, http.MethodPut, "/trails/"+s.org+"/build", fmt.Sprintf(
			`{"name":"t","git_commit_info":{"sha1":%q,"message":"m","author":%q,"branch":"main","timestamp":5}}`, trailCommit, author))
		if status == http.StatusCreated {
			s.reportArtifact("build", "t", "app", evidence.HashAPIKey("app"), trailCommit)
		}
		status = http.StatusOK
		s.reportServer("prod", "app")
		if got := lookup(t, s.read(s.environmentsPath()+"/prod"), "state"); got != compliant {
			t.Errorf("after a commit of %s, the environment is %v", author, got)
		}
	}
}

func TestIndependentApprovalUsesTheAccountsOfPeople(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.putPolicy(http.StatusCreated, `{"name":"four-eyes"}`, policyFile(approvalPolicy))
	s.createFlow("build")
	put := func(s *service, status int, file string) answer {
		t.Helper()
		body, err := json.Marshal(map[string]string{"content": file, "comment": "for the audit"})
		if err != nil {
			t.Fatal(err)
		}
		return s.want(status, http.MethodPut, "/organizations/"+s.org+"/people", body)
	}
	file := "people:\n  - {name: Ada Lovelace, accounts: [ada, ada-work]}\n  - {name: Grace Hopper, accounts: [grace, grace@example.com]}\n"
	number := 0
	attestPulls := func(s *service, pulls string) (trail, fingerprint string) {
		s.t.Helper()
		number++
		trail, fingerprint = fmt.Sprint("t", number), padHex(fmt.Sprintf("%x", 0xa0000+number), 64)
		s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/build", fmt.Sprintf(
			`{"name":%q,"git_commit_info":{"sha1":%q,"message":"m","author":"Ada <ada@example.com>","branch":"main","timestamp":5}}`, trail, trailCommit))
		s.wantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.org+"/build/trail/"+trail+"/pull_request",
			`{"attestation_name":"pr","git_provider":"github","pull_requests":[`+pulls+`]}`)
		s.reportArtifact("build", trail, "app", fingerprint, trailCommit)
		return trail, fingerprint
	}
	twice := pull{author: "ada", commits: []string{"ada 10"}, approvals: []string{"Ada-Work APPROVED 20"}}.json()
	_, before := attestPulls(s, twice)
	if passes, why := s.fourEyes(before); !passes {
		t.Errorf("before the file, two accounts are not two people: %s", why)
	}
	if version := lookup(t, s.read("/organizations/"+s.org+"/people"), "version"); version != 0.0 {
		t.Errorf("before the first file, the version is %v", version)
	}
	put(s, http.StatusOK, file)
	put(s, http.StatusOK, file) // unchanged: makes no version
	if got := s.read("/organizations/" + s.org + "/people"); lookup(t, got, "version") != 1.0 || lookup(t, got, "content") != file {
		t.Errorf("the file is %v", got)
	}
	if passes, _ := s.fourEyes(before); !passes {
		t.Error("the file changes the verdict on what was recorded before")
	}
	unknown := strings.Replace(pull{author: "ada", merge: true, commits: []string{"- 10"}, approvals: []string{"ada APPROVED 20"}}.json(), "Somebody <somebody@", "Grace <grace@", 1)
	verified := strings.Replace(unknown, `"branch":"b"`, `"branch":"b","verified":true`, 1)
	for name, c := range map[string]struct {
		pulls  string
		passes bool
		says   string
	}{
		"approved with a second account":    {twice, false, "Ada Lovelace has no approval of somebody else"},
		"approved by another":               {pull{author: "ADA", commits: []string{"ada-work 10"}, approvals: []string{"grace APPROVED 20"}}.json(), true, ""},
		"an account that is not in it":      {pull{author: "joan", commits: []string{"joan 10"}, approvals: []string{"ada APPROVED 20"}}.json(), true, ""},
		"an address that nobody verified":   {unknown, false, "it is not known who wrote commit"},
		"an address with a valid signature": {verified, true, ""},
		"a verified address that approves":  {strings.Replace(verified, `"username":"ada"`, `"username":"Grace"`, 1), false, "Grace Hopper has no approval of somebody else"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			trail, fingerprint := attestPulls(s, c.pulls)
			if passes, why := s.fourEyes(fingerprint); passes != c.passes || !strings.Contains(why, c.says) {
				t.Errorf("the verdict is %t: %s", passes, why)
			}
			got := s.get(http.MethodGet, "/trails/"+s.org+"/build/"+trail+"/audit_package")
			if result := verifyCompressed(t, got.body); len(result.Findings) > 0 {
				t.Errorf("without the file, the package does not hold: %v", result.Findings)
			}
		})
	}
	put(s, http.StatusOK, "people: []\n")
	if got := s.read("/organizations/" + s.org + "/people?version=1"); lookup(t, got, "content") != file {
		t.Errorf("the first version is %v", got)
	}
	s.want(http.StatusNotFound, http.MethodGet, "/organizations/"+s.org+"/people?version=3", nil)
	if log := string(s.get(http.MethodGet, "/membership-audit-log/"+s.org).body); strings.Count(log, `"kind":"people"`) != 2 || !strings.Contains(log, "version 2 of the accounts of people") {
		t.Errorf("the audit log is %s", log)
	}
	for name, c := range map[string]struct{ file, says string }{
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
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			got := put(s, http.StatusBadRequest, c.file)
			if !strings.Contains(string(got.body), c.says) {
				t.Errorf("it says %.400s", got.body)
			}
		})
	}
}

// numbered returns count different words, separated by commas.
func numbered(count int) string {
	words := make([]string, count)
	for i := range words {
		words[i] = fmt.Sprint("a", i)
	}
	return strings.Join(words, ",")
}

// alterPackage returns the archive of a package with the content of each member replaced by the result of alter.
func alterPackage(t *testing.T, content []byte, alter func(name string, content []byte) []byte) io.Reader {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var altered bytes.Buffer
	from, to := tar.NewReader(compressed), tar.NewWriter(&altered)
	for {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			return &altered
		}
		if err != nil {
			t.Fatal(err)
		}
		member, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		member = alter(header.Name, member)
		header.Size = int64(len(member))
		if err := errors.Join(to.WriteHeader(header), writeAll(to, member)); err != nil {
			t.Fatal(err)
		}
	}
}

func writeAll(to io.Writer, content []byte) error {
	_, err := to.Write(content)
	return err
}

func TestPackagesHaveTheSameVerdictsOnIndependentApproval(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.putPolicy(http.StatusCreated, `{"name":"four-eyes"}`, policyFile(approvalPolicy))
	s.createFlow("build")
	s.want(http.StatusCreated, http.MethodPut, s.environmentsPath(), []byte(`{"name":"prod","type":"server","description":"","policies":["four-eyes"]}`))
	approved := pull{author: "ada", merge: true, commits: []string{"ada 10"}, approvals: []string{"grace APPROVED 20"}}
	trails := []struct {
		name, author string
		pulls        []pull
		compliant    bool
	}{
		{"by-machine", "svc_deploy", nil, true},
		{"approved", "Ada <ada@example.com>", []pull{approved}, true},
		{"alone", "Ada <ada@example.com>", []pull{{author: "ada", commits: []string{"ada 10"}}}, false},
	}
	for _, c := range trails {
		s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/build", fmt.Sprintf(
			`{"name":%q,"git_commit_info":{"sha1":%q,"message":"m","author":%q,"branch":"main","timestamp":5}}`, c.name, trailCommit, c.author))
		if c.pulls != nil {
			s.pullRequests(c.name, c.pulls...)
		}
		s.reportArtifact("build", c.name, "app", evidence.HashAPIKey(c.name), trailCommit)
	}
	s.reportServer("prod", "by-machine", "approved", "alone")
	for _, c := range trails {
		t.Run(c.name, func(t *testing.T) {
			s := s.in(t)
			got := s.get(http.MethodGet, "/trails/"+s.org+"/build/"+c.name+"/audit_package")
			if result := verifyCompressed(t, got.body); len(result.Findings) > 0 {
				t.Errorf("the package does not hold: %v", result.Findings)
			}
			environments := ""
			alterPackage(t, got.body, func(name string, content []byte) []byte {
				if name == audit.EnvironmentsPath {
					environments = string(content)
				}
				return content
			})
			if want := fmt.Sprintf(`"compliant": %t,`, c.compliant); !strings.Contains(environments, want) {
				t.Errorf("the package does not say %s of the environment: %s", want, environments)
			}
		})
	}
	forged := alterPackage(t, s.get(http.MethodGet, "/trails/"+s.org+"/build/alone/audit_package").body, func(_ string, content []byte) []byte {
		return regexp.MustCompile(`"unapproved": "[^"]*"`).ReplaceAll(content, []byte(`"approvers": 1`))
	})
	if found := fmt.Sprint(verifyPackage(t, forged).Findings); !strings.Contains(found, "it says that 1 approved, but its pull requests do not") {
		t.Errorf("findings on a forged approval: %s", found)
	}
}
