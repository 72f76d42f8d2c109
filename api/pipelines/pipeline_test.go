package pipelines_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/scripts/fixturestest"
)

const pipelineTemplate = `version: 1
trail:
  attestations:
    - name: pull-request
      type: pull_request
    - name: risk
      type: decision
  artifacts:
    - name: cli
      attestations:
        - name: unit-test
          type: junit
        - name: coverage
          type: custom:coverage
        - name: scan
          type: snyk
`

// attestCLI sends an attestation to a trail of the flow cli-ci, as the client does, and checks that it is accepted.
func attestCLI(s *apitest.Service, trail, kind, data string, files ...apitest.Part) {
	s.T.Helper()
	s.WantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.Org+"/cli-ci/trail/"+trail+"/"+kind, data, files...)
}

// TestPipelineIsReportedAndReadBack reports a delivery and reads every resource as the client does.
func TestPipelineIsReportedAndReadBack(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)

	// A custom type and a flow are set up once.
	s.WantForm(http.StatusCreated, http.MethodPost, "/custom-attestation-types/"+s.Org,
		`{"name":"coverage","description":"Code coverage","evaluator":{"content_type":"jq","rules":[".line > 80"]},"summary":[{"name":"lines","expression":".line"}]}`,
		apitest.Part{Field: "type_schema", Filename: "schema.json", ContentType: "application/octet-stream",
			Content: []byte(`{"type":"object","required":["line"],"properties":{"line":{"type":"number"}}}`)})
	s.WantForm(http.StatusCreated, http.MethodPut, "/flows/"+s.Org+"/template_file", `{"name":"cli-ci","description":"The client"}`, apitest.YAMLFile(pipelineTemplate))
	s.Want(http.StatusOK, http.MethodPatch, "/tags/"+s.Org+"/flow/cli-ci", []byte(`{"set_tags":{"team":"tools"},"remove_tags":null}`))

	// The trail begins without evidence.
	begin := `{"name":"` + apitest.PipelineCommit + `","description":"","git_commit_info":` + apitest.CommitInfo + `,"repo_info":` + apitest.RepoInfo +
		`,"origin_url":"https://github.com/acme/cli/actions/runs/1","user_data":{}}`
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/cli-ci", begin)
	s.WantForm(http.StatusOK, http.MethodPut, "/trails/"+s.Org+"/cli-ci", begin)
	wantStatus(s, "INCOMPLETE", "MISSING")

	// The artifact is attested before it is reported, then reported.
	attestCLI(s, apitest.PipelineCommit, "junit", `{"attestation_name":"unit-test","target_artifacts":["cli"],"git_commit_info":`+apitest.CommitInfo+`,"repo_info":`+apitest.RepoInfo+
		`,"junit_results":[{"name":"suite","failures":0,"errors":0,"skipped":1,"total":5,"duration":2.5}],"user_data":{}}`,
		apitest.Attachment("evidence.tgz", string(fixturestest.Read("junit-results.xml"))))
	wantStatus(s, "INCOMPLETE", "MISSING")
	var message struct{ Message string }
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/cli-ci", apitest.ArtifactReport(apitest.PipelineCommit, "cli", apitest.CLIFingerprint, apitest.PipelineCommit)).Decode(t, &message)
	if message.Message != "OK" {
		t.Errorf("artifact report answered %+v", message)
	}
	wantStatus(s, "INCOMPLETE", "INCOMPLETE")

	// The rest of the evidence follows. Coverage and scan are non-compliant at first.
	attestCLI(s, apitest.PipelineCommit, "custom", `{"attestation_name":"coverage","artifact_fingerprint":"`+apitest.CLIFingerprint+`","type_name":"coverage","attestation_data":{"line":79.5},"user_data":{}}`)
	wantStatus(s, "NON-COMPLIANT", "NON-COMPLIANT")
	attestCLI(s, apitest.PipelineCommit, "custom", `{"attestation_name":"coverage","artifact_fingerprint":"`+apitest.CLIFingerprint+`","type_name":"coverage","attestation_data":"{\"line\":91}","user_data":{}}`)
	attestCLI(s, apitest.PipelineCommit, "snyk", `{"attestation_name":"scan","artifact_fingerprint":"`+apitest.CLIFingerprint+`","user_data":{},
		"snyk_results":{"schema_version":1,"tool":{"name":"SnykCode","version":"1.0.0"},"results":[{"high_count":0,"medium_count":1,"low_count":0,"medium":[{"id":"CVE-1","message":"weak"}]}]}}`)
	wantStatus(s, "NON-COMPLIANT", "NON-COMPLIANT")
	if got := s.Want(http.StatusOK, http.MethodPost, "/attestations/"+s.Org+"/cli-ci/trail/"+apitest.PipelineCommit+"/override",
		[]byte(`{"attestation_name":"scan","artifact_fingerprint":"`+apitest.CLIFingerprint+`","reason":"not reachable","new_compliance_status":true,"original_attestation_type":"snyk","user_data":{}}`)).Text(t); got != "OK" {
		t.Errorf("override answered %q", got)
	}
	wantStatus(s, "INCOMPLETE", "INCOMPLETE")
	attestCLI(s, apitest.PipelineCommit, "pull_request", `{"attestation_name":"pull-request","git_provider":"github","user_data":{},"git_commit_info":`+apitest.CommitInfo+`,
		"pull_requests":[{"merge_commit":"`+apitest.PipelineCommit+`","url":"https://github.com/acme/cli/pull/1","state":"MERGED","author":"someone","created_at":1750851601,
		"merged_at":1750923680,"title":"Button","head_ref":"button","base_ref":"main","approvers":[{"username":"other","state":"APPROVED","timestamp":1750923600}],
		"commits":[{"sha1":"`+apitest.BranchCommit+`","message":"m","author":"a","timestamp":1750851600,"branch":"button","verified":true,"signature_state":"valid"}]}]}`)
	attestCLI(s, apitest.PipelineCommit, "system", `{"attestation_name":"risk","type_name":"decision","control":"CTRL-1","attestation_data":{"is_compliant":true},"user_data":{}}`)
	wantStatus(s, "COMPLIANT", "COMPLIANT")

	// A non-compliant attestation counts although the template does not require it.
	attestCLI(s, apitest.PipelineCommit, "generic", `{"attestation_name":"manual","is_compliant":false,"user_data":{"who":["me"]},"annotations":{"ticket":"A-1"},"external_urls":{"ci":{"href":"https://ci.example.com/1"}}}`)
	wantStatus(s, "NON-COMPLIANT", "NON-COMPLIANT")
	attestCLI(s, apitest.PipelineCommit, "generic", `{"attestation_name":"manual","is_compliant":true,"user_data":{}}`)
	attestCLI(s, apitest.PipelineCommit, "jira", `{"attestation_name":"ticket","user_data":{},"jira_results":[{"issue_id":"ML-50","issue_url":"https://acme.atlassian.net/browse/ML-50","issue_exists":true}]}`)
	attestCLI(s, apitest.PipelineCommit, "sonar", `{"attestation_name":"quality","artifact_fingerprint":"`+apitest.CLIFingerprint+`","user_data":{},"sonar_results":{"serverUrl":"https://sonar.example.com",
		"taskId":"1","status":"SUCCESS","analysedAt":"2026-11-21T10:00:00+0000","revision":"`+apitest.PipelineCommit+`","project":{"key":"cli","name":"cli","url":"https://sonar.example.com/cli"},
		"qualityGate":{"status":"OK","conditions":[{"metric":"coverage","errorThreshold":"80","operator":"LT","value":"91","status":"OK"}]}}}`)
	wantStatus(s, "COMPLIANT", "COMPLIANT")

	// A second build replaces the artifact. It has no evidence of its own yet.
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/cli-ci", apitest.ArtifactReport(apitest.PipelineCommit, "cli", apitest.NewFingerprint, apitest.BranchCommit))
	wantStatus(s, "INCOMPLETE", "INCOMPLETE")

	wantPipelineReadBack(s)
}

// wantStatus checks the states of the trail and of its artifact.
func wantStatus(s *apitest.Service, trail, artifact string) {
	s.T.Helper()
	got := s.Read("/trails/" + s.Org + "/cli-ci/" + apitest.PipelineCommit)
	clientReadsTrail(s.T, got)
	if state := apitest.Lookup(s.T, got, "compliance_state"); state != trail {
		s.T.Errorf("the trail is %v, want %s: %s", state, trail, apitest.AsJSON(apitest.Lookup(s.T, got, "compliance_status")))
	}
	if apitest.Lookup(s.T, got, "is_compliant") != (trail == "COMPLIANT") {
		s.T.Errorf("is_compliant does not fit %s", trail)
	}
	status := apitest.Lookup(s.T, got, "compliance_status", "artifacts_statuses", "cli")
	if state := apitest.Lookup(s.T, status, "status"); state != artifact {
		s.T.Errorf("the artifact is %v, want %s: %s", state, artifact, apitest.AsJSON(status))
	}
	if compliant := apitest.Lookup(s.T, status, "is_compliant"); (compliant == nil) != (artifact == "MISSING") {
		s.T.Errorf("is_compliant of a %s artifact is %v", artifact, compliant)
	}
}

func wantPipelineReadBack(s *apitest.Service) {
	t := s.T
	t.Helper()
	trail := s.Read("/trails/" + s.Org + "/cli-ci/" + apitest.PipelineCommit)
	var kinds []string
	for _, event := range apitest.Lookup(t, trail, "events").([]any) {
		kinds = append(kinds, apitest.Lookup(t, event, "type").(string))
	}
	want := []string{
		"trail_reported", "trail_attestation_for_artifact_reported", "artifact_creation_reported",
		"artifact_attestation_reported", "artifact_attestation_reported", "artifact_attestation_reported", "artifact_attestation_reported",
		"trail_attestation_reported", "trail_attestation_reported", "trail_attestation_reported", "trail_attestation_reported",
		"trail_attestation_reported", "artifact_attestation_reported", "artifact_creation_reported",
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("events are %q, want %q", kinds, want)
	}
	if content := apitest.Lookup(t, trail, "template", "content"); content != pipelineTemplate {
		t.Errorf("the template came back as %q", content)
	}

	// Trails, flows, repos.
	for _, query := range []string{"?page=1&per_page=20", "?page=1&per_page=20&flow=cli-ci", "?flow_tag=team=tools", "?fingerprint=" + apitest.CLIFingerprint} {
		list := s.Read("/trails/" + s.Org + query)
		apitest.ClientReadsEach(t, "trails_item", apitest.Lookup(t, list, "data"))
		apitest.ClientReads(t, "pagination", apitest.Lookup(t, list, "pagination"))
	}
	apitest.ClientReadsEach(t, "trails_item", s.Read("/trails/"+s.Org+"/cli-ci"))
	apitest.ClientReads(t, "flow", s.Read("/flows/"+s.Org+"/cli-ci"))
	apitest.ClientReadsEach(t, "flows_item", s.Read("/flows/"+s.Org))
	apitest.ClientReads(t, "pagination", apitest.Lookup(t, s.Read("/flows/"+s.Org+"?page=1&per_page=20"), "pagination"))
	repos := s.Read("/repos/" + s.Org + "?page=1&per_page=15")
	apitest.ClientReads(t, "repos", repos)
	repo := apitest.ClientReadsEach(t, "repo", apitest.Lookup(t, repos, "repos"))[0]
	apitest.ClientReads(t, "repo", s.Read("/repos/"+s.Org+"/acme/cli"))
	s.Want(http.StatusOK, http.MethodPatch, "/tags/"+s.Org+"/repo/"+apitest.Lookup(t, repo, "id").(string), []byte(`{"set_tags":{"team":"tools"}}`))
	if tag := apitest.Lookup(t, s.Read("/repos/"+s.Org+"/acme/cli"), "tags", "team"); tag != "tools" {
		t.Errorf("the repo's tag is %v", tag)
	}

	// Artifacts.
	for _, path := range []string{"/artifacts/" + s.Org + "?page=1&per_page=15", "/artifacts/" + s.Org + "?flow_name=cli-ci", "/artifacts/" + s.Org + "?repo_name=acme/cli", "/artifacts/" + s.Org + "/cli-ci"} {
		if items := apitest.ClientReadsEach(t, "artifacts_item", s.Read(path)); len(items) != 2 || apitest.Lookup(t, items[0], "fingerprint") != apitest.NewFingerprint {
			t.Errorf("%s: got %s", path, apitest.AsJSON(items))
		}
	}
	for _, fingerprint := range []string{apitest.CLIFingerprint, apitest.CLIFingerprint[:5], apitest.CLIFingerprint[:40]} {
		artifact := s.Read("/artifacts/" + s.Org + "/cli-ci/fingerprint/" + fingerprint)
		apitest.ClientReads(t, "artifact", artifact)
		apitest.ClientReadsEach(t, "history", apitest.Lookup(t, artifact, "history"))
		if apitest.Lookup(t, artifact, "fingerprint") != apitest.CLIFingerprint || apitest.Lookup(t, artifact, "state") != "COMPLIANT" {
			t.Errorf("%s: got %s", fingerprint, apitest.AsJSON(artifact))
		}
	}
	apitest.ClientReadsEach(t, "artifact", s.Read("/artifacts/"+s.Org+"/cli-ci/commit_sha/"+apitest.PipelineCommit))
	wantLatestCommit(s, apitest.CLIFingerprint, "", apitest.PipelineCommit)
	wantLatestCommit(s, strings.Repeat("0", 64), "", apitest.BranchCommit)
	wantLatestCommit(s, strings.Repeat("0", 64), "?branch=elsewhere", nil)

	// Attestations, each with the member that only its type has.
	members := map[string]string{
		"unit-test": "junit_results", "coverage": "attestation_data", "scan": "processed_snyk_results", "pull-request": "pull_requests",
		"risk": "attestation_data", "ticket": "jira_results", "quality": "sonar_results",
	}
	for name, member := range members {
		found := apitest.ClientReadsEach(t, "attestation", s.Read("/attestations/"+s.Org+"/cli-ci/trail/"+apitest.PipelineCommit+"/"+name))
		// Newest first: an override comes before the attestation that it replaces.
		if first := found[len(found)-1]; apitest.Lookup(t, first, member) == nil {
			t.Errorf("%s has no %s: %s", name, member, apitest.AsJSON(first))
		}
		id := apitest.Lookup(t, found[0], "attestation_id").(string)
		detail := apitest.Lookup(t, s.Read("/attestations/"+s.Org+"?attestation_id="+id), "data")
		if items := apitest.ClientReadsEach(t, "attestation", detail); len(items) != 1 {
			t.Errorf("%s by id: %s", name, apitest.AsJSON(detail))
		}
	}
	if both := s.Read("/attestations/" + s.Org + "/cli-ci/trail/" + apitest.PipelineCommit + "/manual").([]any); len(both) != 2 || apitest.Lookup(t, both[0], "is_compliant") != true {
		t.Errorf("an attestation reported twice: %s", apitest.AsJSON(both))
	}
	apitest.ClientReadsEach(t, "attestation", s.Read("/attestations/"+s.Org+"/cli-ci/artifact/"+apitest.CLIFingerprint+"/coverage"))
	apitest.ClientReadsEach(t, "attestation", apitest.Lookup(t, s.Read("/attestations/"+s.Org+"/cli-ci?page=1&per_page=5"), "data"))
	byCommit := s.Read("/attestations/" + s.Org + "/list_attestations_for_criteria?commit_list=" + apitest.PipelineCommit)
	apitest.ClientReadsEach(t, "attestation", apitest.Lookup(t, byCommit, apitest.PipelineCommit))
	wantAttestationsByCursor(s, 11)

	// The evidence comes back byte for byte.
	attached := apitest.Lookup(t, s.Read("/attestations/"+s.Org+"/cli-ci/trail/"+apitest.PipelineCommit+"/unit-test"), 0)
	if sum := fmt.Sprintf("%x", sha256.Sum256(fixturestest.Read("junit-results.xml"))); apitest.Lookup(t, attached, "evidence_archive_fingerprint") != sum {
		t.Errorf("the evidence is not %s: %s", sum, apitest.AsJSON(attached))
	}
	evidenceLink := apitest.Lookup(t, attached, "_links", "evidence", "href").(string)
	if got := s.Do(http.MethodGet, strings.TrimPrefix(evidenceLink, s.URL), apitest.AdminKey, nil); got.Status != http.StatusOK || !bytes.Equal(got.Body, fixturestest.Read("junit-results.xml")) {
		t.Errorf("evidence: status %d, %d of %d bytes", got.Status, len(got.Body), len(fixturestest.Read("junit-results.xml")))
	}

	// Search, and the types.
	for _, value := range []string{apitest.CLIFingerprint[:8], apitest.PipelineCommit} {
		found := s.Read("/search/" + s.Org + "/sha/" + value)
		apitest.ClientReads(t, "search", found)
		apitest.ClientReads(t, "search.resolved_to", apitest.Lookup(t, found, "resolved_to"))
		apitest.ClientReads(t, "search.matches", apitest.Lookup(t, found, "resolved_to", "fingerprints"))
		apitest.ClientReads(t, "search.matches", apitest.Lookup(t, found, "resolved_to", "commits"))
		apitest.ClientReadsEach(t, "search.artifact", apitest.Lookup(t, found, "artifacts"))
	}
	for _, kind := range []any{s.Read("/custom-attestation-types/" + s.Org + "/coverage"), apitest.Lookup(t, s.Read("/custom-attestation-types/"+s.Org), 0)} {
		apitest.ClientReads(t, "attestation_type", kind)
		apitest.ClientReadsEach(t, "attestation_type.version", apitest.Lookup(t, kind, "versions"))
	}
	if name := apitest.Lookup(t, s.Read("/attestations/system-attestation-types"), "system_attestation_types", 0, "name"); name == nil {
		t.Error("no system attestation types")
	}
	for _, schema := range []string{"flow-template", "environment-policy"} {
		if id := apitest.Lookup(t, s.Read("/schemas/"+schema+"/v1"), "$schema"); id == nil {
			t.Errorf("%s is no JSON Schema", schema)
		}
	}
}

func wantLatestCommit(s *apitest.Service, fingerprint, query string, want any) {
	s.T.Helper()
	got := apitest.Lookup(s.T, s.Read("/artifacts/"+s.Org+"/cli-ci/"+fingerprint+"/latest_commit"+query), "latest_commit")
	if got != want {
		s.T.Errorf("latest commit of %.8s%s is %v, want %v", fingerprint, query, got, want)
	}
}

// wantAttestationsByCursor follows the cursors to the end and counts the attestations.
func wantAttestationsByCursor(s *apitest.Service, want int) {
	s.T.Helper()
	seen := map[string]bool{}
	next := s.URL + "/api/v2/attestations/" + s.Org + "?per_page=3"
	for rounds := 0; next != "" && rounds < 2*want; rounds++ {
		got := s.Do(http.MethodGet, strings.TrimPrefix(next, s.URL), apitest.ReaderKey, nil)
		if got.Status != http.StatusOK {
			s.T.Fatalf("%s: status %d: %s", next, got.Status, got.Body)
		}
		var page struct {
			Data []struct {
				ID string `json:"attestation_id"`
			}
			Links map[string]struct{ Href string } `json:"_links"`
		}
		s.Must(json.Unmarshal(got.Body, &page))
		for _, item := range page.Data {
			if seen[item.ID] {
				s.T.Errorf("attestation %s came twice", item.ID)
			}
			seen[item.ID] = true
		}
		next = page.Links["next"].Href
	}
	if len(seen) != want {
		s.T.Errorf("walked over %d attestations, want %d", len(seen), want)
	}
}
