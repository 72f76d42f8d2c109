package attestations_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/api/apitest/peers"
	"attestry/api/apitest/webclient"
	"attestry/evidence/evidencetest"
)

// separated is a policy that requires separation of duties for each decision on R-1.
const separated = apitest.PolicyHead + "artifacts:\n  attestations:\n    - {type: decision, for_control: R-1, separation_of_duties: true}\n"

// decideAs records a decision on a trail with a key.
func decideAs(s *apitest.Service, key, trail, members string) {
	s.T.Helper()
	got := s.Form(http.MethodPost, "/attestations/"+s.Org+"/build/trail/"+trail+"/system", key, "data_json", fmt.Sprintf(
		`{"attestation_name":"go","type_name":"decision","control":"R-1"%s,"attestation_data":{"is_compliant":true}}`, members))
	if got.Status != http.StatusCreated {
		s.T.Fatalf("the decision is %d: %s", got.Status, got.Body)
	}
}

func TestDecidersMustNotBeAuthorsOrApprovers(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateControl("R-1")
	s.CreateFlow("build")
	s.PutPolicy(http.StatusCreated, `{"name":"four-eyes"}`, apitest.PolicyFile(separated))
	s.Want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.Org, []byte(`{"name":"ci","privilege":"member"}`))
	var robot struct{ Key string }
	s.Want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.Org+"/ci/api-keys", []byte(`{"description":"k"}`)).Decode(t, &robot)
	forge := peers.NewIssuer(t)
	peers.Trust(s, "forge", forge, "exists(claims.sub)", "member")
	token := forge.Token(t, nil)
	approved := apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{"grace APPROVED 20"}}
	number := 0
	for name, c := range map[string]struct {
		author, people string
		pulls          []apitest.Pull
		key, members   string
		says           string // "" if it passes
	}{
		"a person who did neither":       {pulls: []apitest.Pull{approved}, key: apitest.AdminKey},
		"a service account":              {pulls: []apitest.Pull{approved}, key: robot.Key, says: "it is not known who decided"},
		"a service account for somebody": {pulls: []apitest.Pull{approved}, key: robot.Key, members: `,"annotations":{"decided_by":"eve"}`},
		"a token for an approver":        {pulls: []apitest.Pull{approved}, key: token, members: `,"annotations":{"decided_by":"Grace"}`, says: "Grace decided, and approved the code"},
		"a person who names another":     {pulls: []apitest.Pull{approved}, key: apitest.AdminKey, people: "{name: ada, accounts: [administrator]}", members: `,"annotations":{"decided_by":"eve"}`, says: "ada decided"},
		"a commit of a machine account":  {author: "renovate[bot]", key: apitest.AdminKey},
	} {
		number++
		trail, fingerprint := fmt.Sprint("t", number), apitest.PadHex(fmt.Sprintf("%x", 0xb0000+number), 64)
		t.Run(name, func(t *testing.T) {
			s := s.In(t)
			s.Want(http.StatusOK, http.MethodPut, "/organizations/"+s.Org+"/people", fmt.Appendf(nil, `{"content":"people: [%s]","comment":""}`, c.people))
			s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/build", fmt.Sprintf(
				`{"name":%q,"git_commit_info":{"sha1":%q,"message":"m","author":%q,"branch":"main","timestamp":5}}`, trail, apitest.TrailCommit, c.author))
			s.ReportArtifact("build", trail, "app", fingerprint, apitest.TrailCommit)
			if c.pulls != nil {
				s.PullRequests(trail, c.pulls...)
			}
			decideAs(s, c.key, trail, c.members)
			passes, why := fourEyes(s, fingerprint)
			remedied := strings.Contains(why, "Whoever decides must have neither written nor approved the code.")
			if passes != (c.says == "") || passes == remedied || !strings.Contains(why, c.says) || !passes && !strings.Contains(why, "is non-compliant: "+c.says) {
				t.Errorf("the verdict is %t: %s", passes, why)
			}
			got := s.Get(http.MethodGet, "/trails/"+s.Org+"/build/"+trail+"/audit_package")
			if result := apitest.VerifyCompressed(t, got.Body); len(result.Findings) > 0 {
				t.Errorf("the package does not hold: %v", result.Findings)
			}
		})
	}
	apitest.Each(s, map[string]struct{ rule, says string }{
		"another type": {"{type: junit, separation_of_duties: true}", "needs the type 'decision'"},
		"a text":       {"{type: decision, separation_of_duties: 'yes'}", "valid boolean"},
		"a mapping":    {"{type: decision, separation_of_duties: {approvers: 2}}", "valid boolean"},
	}, func(s *apitest.Service, _ string, wrong struct{ rule, says string }) {
		got := s.PutPolicy(http.StatusBadRequest, `{"name":"wrong"}`,
			apitest.PolicyFile(apitest.PolicyHead+"artifacts:\n  attestations:\n    - "+wrong.rule+"\n"))
		if !strings.Contains(string(got.Body), wrong.says) ||
			!strings.Contains(string(got.Body), "separation_of_duties (line 4") {
			s.T.Errorf("it says %s", got.Body)
		}
	})
}

func TestPoliciesRequireSeparationOfDutiesWithoutAControl(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateFlow("build")
	s.PutPolicy(http.StatusCreated, `{"name":"four-eyes"}`, apitest.PolicyFile(apitest.PolicyHead+"artifacts:\n  attestations:\n    - {type: decision, name: go, separation_of_duties: true}\n"))
	s.ReportArtifact("build", "t", "app", apitest.CLIFingerprint, apitest.TrailCommit)
	for approver, says := range map[string]string{
		"administrator": "the attestation 'go' of type system:decision is non-compliant: administrator decided, and approved the code.",
		"grace":         "there is the compliant attestation 'go' of type system:decision.",
	} {
		s.PullRequests("t", apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{approver + " APPROVED 20"}})
		decideAs(s, apitest.AdminKey, "t", "")
		if passes, why := fourEyes(s, apitest.CLIFingerprint); passes != (approver == "grace") || !strings.Contains(why, says) {
			t.Errorf("approved by %s, the verdict is %t: %s", approver, passes, why)
		}
	}
}

func TestTemplatesRequireSeparationOfDuties(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateFlow("build", apitest.YAMLFile("version: 1\ntrail:\n  attestations:\n    - {name: go, type: decision, separation_of_duties: true}\n"))
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/build", fmt.Sprintf(
		`{"name":"t","git_commit_info":{"sha1":%q,"message":"m","author":"Ada <ada@example.com>","branch":"main","timestamp":5}}`, apitest.TrailCommit))
	wantTrail := func(status, lack string) {
		t.Helper()
		trail := s.Read("/trails/" + s.Org + "/build/t")
		found := apitest.Lookup(t, trail, "compliance_status", "attestations_statuses").([]any)
		if got := apitest.Lookup(t, trail, "compliance_status", "status"); got != status || fmt.Sprint(found[0].(map[string]any)["approval_lack"]) != lack {
			t.Errorf("the trail is %v, %v; want %s, %s", got, found[0], status, lack)
		}
	}
	decideAs(s, apitest.AdminKey, "t", "")
	wantTrail("NON-COMPLIANT", "it is not known who wrote and who approved the code")
	s.PullRequests("t", apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{"administrator APPROVED 20"}})
	wantTrail("NON-COMPLIANT", "administrator decided, and approved the code")
	s.PullRequests("t", apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{"grace APPROVED 20"}})
	wantTrail("COMPLIANT", "<nil>")
	s.PostAttestation(http.StatusCreated, "t", "system", `{"attestation_name":"go","type_name":"decision","control":"R-1","description":"not tested","attestation_data":{"is_compliant":false}}`)
	wantTrail("NON-COMPLIANT", "<nil>")
	decideAs(s, apitest.AdminKey, "t", "")
	webclient.SignedIn(s, apitest.AdminKey).WantPage(http.StatusOK, "/"+s.Org+"/flows/build", "decision</bdi>, by who neither wrote nor approved the code")
	got := s.Form(http.MethodPut, "/flows/"+s.Org+"/template_file", apitest.AdminKey, "data_json", `{"name":"x","description":""}`, apitest.YAMLFile("version: 1\ntrail:\n  attestations:\n    - {name: a, type: junit, separation_of_duties: true}\n"))
	apitest.WantAnswer(t, got, http.StatusBadRequest, "separation_of_duties needs the type 'decision'")
}

func TestPackagesShowForgedParticipants(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateFlow("build")
	s.ReportArtifact("build", "t", "app", apitest.CLIFingerprint, apitest.TrailCommit)
	s.PullRequests("t", apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{"grace APPROVED 20"}})
	decideAs(s, apitest.AdminKey, "t", "")
	body := s.Get(http.MethodGet, "/trails/"+s.Org+"/build/t/audit_package").Body
	for original, forged := range map[string]string{"decided administrator": "decided eve", "approved grace": "approved joan"} {
		found := fmt.Sprint(apitest.VerifyPackage(t, apitest.AlterPackage(t, body, func(_ string, content []byte) []byte {
			return []byte(strings.ReplaceAll(string(content), original, forged))
		})).Findings)
		evidencetest.Contains(t, found, "who it says wrote, approved or decided does not follow from the rest of it")
	}
}
