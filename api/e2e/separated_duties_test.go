package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// separated is a policy that requires separation of duties for each decision on R-1.
const separated = policyHead + "artifacts:\n  attestations:\n    - {type: decision, for_control: R-1, separation_of_duties: true}\n"

// decideAs records a decision on a trail with a key.
func (s *service) decideAs(key, trail, members string) {
	s.t.Helper()
	got := s.form(http.MethodPost, "/attestations/"+s.org+"/build/trail/"+trail+"/system", key, "data_json", fmt.Sprintf(
		`{"attestation_name":"go","type_name":"decision","control":"R-1"%s,"attestation_data":{"is_compliant":true}}`, members))
	if got.status != http.StatusCreated {
		s.t.Fatalf("the decision is %d: %s", got.status, got.body)
	}
}

func TestDecidersMustNotBeAuthorsOrApprovers(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createControl("R-1")
	s.createFlow("build")
	s.putPolicy(http.StatusCreated, `{"name":"four-eyes"}`, policyFile(separated))
	s.want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.org, []byte(`{"name":"ci","privilege":"member"}`))
	var robot struct{ Key string }
	s.want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.org+"/ci/api-keys", []byte(`{"description":"k"}`)).decode(t, &robot)
	forge := newIssuer(t)
	s.trust("forge", forge, "exists(claims.sub)", "member")
	token := forge.token(t, nil)
	approved := pull{author: "ada", commits: []string{"ada 10"}, approvals: []string{"grace APPROVED 20"}}
	number := 0
	for name, c := range map[string]struct {
		author, people string
		pulls          []pull
		key, members   string
		says           string // "" if it passes
	}{
		"a person who did neither":                               {pulls: []pull{approved}, key: adminKey},
		"a person who wrote it":                                  {pulls: []pull{approved}, key: adminKey, people: "{name: ada, accounts: [administrator]}", says: "ada decided, and wrote the code"},
		"a person who approved it":                               {pulls: []pull{approved}, key: adminKey, people: "{name: Grace Hopper, accounts: [administrator, grace]}", says: "Grace Hopper decided, and approved the code"},
		"a service account":                                      {pulls: []pull{approved}, key: robot.Key, says: "it is not known who decided"},
		"a service account for somebody":                         {pulls: []pull{approved}, key: robot.Key, members: `,"annotations":{"decided_by":"eve"}`},
		"a service account for an approver":                      {pulls: []pull{approved}, key: robot.Key, members: `,"annotations":{"decided_by":"Grace"}`, says: "Grace decided, and approved the code"},
		"a token":                                                {pulls: []pull{approved}, key: token, says: "it is not known who decided"},
		"a token for somebody":                                   {pulls: []pull{approved}, key: token, members: `,"annotations":{"decided_by":"eve"}`},
		"a token for an approver":                                {pulls: []pull{approved}, key: token, members: `,"annotations":{"decided_by":"Grace"}`, says: "Grace decided, and approved the code"},
		"a person who names another":                             {pulls: []pull{approved}, key: adminKey, people: "{name: ada, accounts: [administrator]}", members: `,"annotations":{"decided_by":"eve"}`, says: "ada decided"},
		"without a pull request":                                 {key: adminKey, says: "it is not known who wrote and who approved the code"},
		"a pull request without approval":                        {pulls: []pull{{author: "ada", commits: []string{"ada 10"}}}, key: adminKey, says: "it is not known who wrote and who approved"},
		"a pull request of an unknown author":                    {pulls: []pull{{author: "ada", commits: []string{"- 10"}}}, key: adminKey, says: "it is not known who wrote commit"},
		"a commit of a machine account":                          {author: "renovate[bot]", key: adminKey},
		"a commit of a machine account, decided by the approver": {author: "renovate[bot]", pulls: []pull{approved}, key: robot.Key, members: `,"annotations":{"decided_by":"grace"}`, says: "grace decided, and approved the code"},
	} {
		number++
		trail, fingerprint := fmt.Sprint("t", number), padHex(fmt.Sprintf("%x", 0xb0000+number), 64)
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.want(http.StatusOK, http.MethodPut, "/organizations/"+s.org+"/people", fmt.Appendf(nil, `{"content":"people: [%s]","comment":""}`, c.people))
			s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/build", fmt.Sprintf(
				`{"name":%q,"git_commit_info":{"sha1":%q,"message":"m","author":%q,"branch":"main","timestamp":5}}`, trail, trailCommit, c.author))
			s.reportArtifact("build", trail, "app", fingerprint, trailCommit)
			if c.pulls != nil {
				s.pullRequests(trail, c.pulls...)
			}
			s.decideAs(c.key, trail, c.members)
			passes, why := s.fourEyes(fingerprint)
			remedied := strings.Contains(why, "Whoever decides must have neither written nor approved the code.")
			if passes != (c.says == "") || passes == remedied || !strings.Contains(why, c.says) || !passes && !strings.Contains(why, "is non-compliant: "+c.says) {
				t.Errorf("the verdict is %t: %s", passes, why)
			}
			got := s.get(http.MethodGet, "/trails/"+s.org+"/build/"+trail+"/audit_package")
			if result := verifyCompressed(t, got.body); len(result.Findings) > 0 {
				t.Errorf("the package does not hold: %v", result.Findings)
			}
		})
	}
	for name, wrong := range map[string]struct{ rule, says string }{
		"another type": {"{type: junit, separation_of_duties: true}", "needs the type 'decision'"},
		"a text":       {"{type: decision, separation_of_duties: 'yes'}", "valid boolean"},
		"a mapping":    {"{type: decision, separation_of_duties: {approvers: 2}}", "valid boolean"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			got := s.putPolicy(http.StatusBadRequest, `{"name":"wrong"}`, policyFile(policyHead+"artifacts:\n  attestations:\n    - "+wrong.rule+"\n"))
			if !strings.Contains(string(got.body), wrong.says) || !strings.Contains(string(got.body), "separation_of_duties (line 4") {
				t.Errorf("it says %s", got.body)
			}
		})
	}
}

func TestPoliciesRequireSeparationOfDutiesWithoutAControl(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createFlow("build")
	s.putPolicy(http.StatusCreated, `{"name":"four-eyes"}`, policyFile(policyHead+"artifacts:\n  attestations:\n    - {type: decision, name: go, separation_of_duties: true}\n"))
	s.reportArtifact("build", "t", "app", cliFingerprint, trailCommit)
	for approver, says := range map[string]string{
		"administrator": "the attestation 'go' of type system:decision is non-compliant: administrator decided, and approved the code.",
		"grace":         "there is the compliant attestation 'go' of type system:decision.",
	} {
		s.pullRequests("t", pull{author: "ada", commits: []string{"ada 10"}, approvals: []string{approver + " APPROVED 20"}})
		s.decideAs(adminKey, "t", "")
		if passes, why := s.fourEyes(cliFingerprint); passes != (approver == "grace") || !strings.Contains(why, says) {
			t.Errorf("approved by %s, the verdict is %t: %s", approver, passes, why)
		}
	}
}

func TestTemplatesRequireSeparationOfDuties(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createFlow("build", yamlFile("version: 1\ntrail:\n  attestations:\n    - {name: go, type: decision, separation_of_duties: true}\n"))
	s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/build", fmt.Sprintf(
		`{"name":"t","git_commit_info":{"sha1":%q,"message":"m","author":"Ada <ada@example.com>","branch":"main","timestamp":5}}`, trailCommit))
	wantTrail := func(status, lack string) {
		t.Helper()
		trail := s.read("/trails/" + s.org + "/build/t")
		found := lookup(t, trail, "compliance_status", "attestations_statuses").([]any)
		if got := lookup(t, trail, "compliance_status", "status"); got != status || fmt.Sprint(found[0].(map[string]any)["approval_lack"]) != lack {
			t.Errorf("the trail is %v, %v; want %s, %s", got, found[0], status, lack)
		}
	}
	s.decideAs(adminKey, "t", "")
	wantTrail("NON-COMPLIANT", "it is not known who wrote and who approved the code")
	s.pullRequests("t", pull{author: "ada", commits: []string{"ada 10"}, approvals: []string{"administrator APPROVED 20"}})
	wantTrail("NON-COMPLIANT", "administrator decided, and approved the code")
	s.pullRequests("t", pull{author: "ada", commits: []string{"ada 10"}, approvals: []string{"grace APPROVED 20"}})
	wantTrail("COMPLIANT", "<nil>")
	s.signedIn(adminKey).wantPage(http.StatusOK, "/"+s.org+"/flows/build", "decision</bdi>, by who neither wrote nor approved the code")
	got := s.form(http.MethodPut, "/flows/"+s.org+"/template_file", adminKey, "data_json", `{"name":"x","description":""}`, yamlFile("version: 1\ntrail:\n  attestations:\n    - {name: a, type: junit, separation_of_duties: true}\n"))
	if got.status != http.StatusBadRequest || !strings.Contains(string(got.body), "separation_of_duties needs the type 'decision'") {
		t.Errorf("a wrong template is %d: %s", got.status, got.body)
	}
}

func TestPackagesShowForgedParticipants(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createFlow("build")
	s.reportArtifact("build", "t", "app", cliFingerprint, trailCommit)
	s.pullRequests("t", pull{author: "ada", commits: []string{"ada 10"}, approvals: []string{"grace APPROVED 20"}})
	s.decideAs(adminKey, "t", "")
	body := s.get(http.MethodGet, "/trails/"+s.org+"/build/t/audit_package").body
	for original, forged := range map[string]string{"decided administrator": "decided eve", "approved grace": "approved joan"} {
		found := fmt.Sprint(verifyPackage(t, alterPackage(t, body, func(_ string, content []byte) []byte {
			return []byte(strings.ReplaceAll(string(content), original, forged))
		})).Findings)
		if !strings.Contains(found, "who it says wrote, approved or decided does not follow from the rest of it") {
			t.Errorf("%s instead of %s is found as %s", forged, original, found)
		}
	}
}
