package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"attestry/scripts/fixturestest"
)

// The commits and fingerprints of the pipeline. The second artifact is built on a branch.
const (
	pipelineCommit = "e4757683b74df7033c95aa544a7824b395c2f8bb"
	branchCommit   = "30dffd09c3f896a322c65029247abcea3019c43a"
	cliFingerprint = "54f6da185cd0f0ef001a0b33c099565fa736546562e0411f706832e7aaaaaaaa"
	newFingerprint = "0cbbe3a6e73e733e8ca4b8813738d68e824badad0508ff20842832b5bbbbbbbb"
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

const commitInfo = `{"sha1":"` + pipelineCommit + `","message":"Change the button","author":"A. Person <person@example.com>",` +
	`"branch":"main","timestamp":1750923680,"url":"https://github.com/acme/cli/commit/` + pipelineCommit + `"}`

const repoInfo = `{"name":"acme/cli","id":"290597708","url":"https://github.com/acme/cli","provider":"github"}`

// attestCLI sends an attestation to a trail of the flow cli-ci, as the client does, and checks that it is accepted.
func (s *service) attestCLI(trail, kind, data string, files ...part) {
	s.t.Helper()
	s.wantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.org+"/cli-ci/trail/"+trail+"/"+kind, data, files...)
}

func artifactReport(trail, name, fingerprint, commit string) []byte {
	return fmt.Appendf(nil, `{"fingerprint":%q,"filename":"registry.example.com/cli:1.0","git_commit":%q,"git_commit_info":%s,"repo_info":%s,
		"build_url":"https://github.com/acme/cli/actions/runs/1","commit_url":"https://github.com/acme/cli/commit/%s","repo_url":"https://github.com/acme/cli",
		"template_reference_name":%q,"trail_name":%q,"annotations":{"tier":1}}`,
		fingerprint, commit, strings.ReplaceAll(commitInfo, pipelineCommit, commit), repoInfo, commit, name, trail)
}

// TestPipelineIsReportedAndReadBack reports a delivery and reads every resource as the client does.
func TestPipelineIsReportedAndReadBack(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)

	// A custom type and a flow are set up once.
	s.wantForm(http.StatusCreated, http.MethodPost, "/custom-attestation-types/"+s.org,
		`{"name":"coverage","description":"Code coverage","evaluator":{"content_type":"jq","rules":[".line > 80"]},"summary":[{"name":"lines","expression":".line"}]}`,
		part{field: "type_schema", filename: "schema.json", contentType: "application/octet-stream",
			content: []byte(`{"type":"object","required":["line"],"properties":{"line":{"type":"number"}}}`)})
	s.wantForm(http.StatusCreated, http.MethodPut, "/flows/"+s.org+"/template_file", `{"name":"cli-ci","description":"The client"}`, yamlFile(pipelineTemplate))
	s.want(http.StatusOK, http.MethodPatch, "/tags/"+s.org+"/flow/cli-ci", []byte(`{"set_tags":{"team":"tools"},"remove_tags":null}`))

	// The trail begins without evidence.
	begin := `{"name":"` + pipelineCommit + `","description":"","git_commit_info":` + commitInfo + `,"repo_info":` + repoInfo +
		`,"origin_url":"https://github.com/acme/cli/actions/runs/1","user_data":{}}`
	s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/cli-ci", begin)
	s.wantForm(http.StatusOK, http.MethodPut, "/trails/"+s.org+"/cli-ci", begin)
	s.wantStatus("INCOMPLETE", "MISSING")

	// The artifact is attested before it is reported, then reported.
	s.attestCLI(pipelineCommit, "junit", `{"attestation_name":"unit-test","target_artifacts":["cli"],"git_commit_info":`+commitInfo+`,"repo_info":`+repoInfo+
		`,"junit_results":[{"name":"suite","failures":0,"errors":0,"skipped":1,"total":5,"duration":2.5}],"user_data":{}}`,
		attachment("evidence.tgz", string(fixturestest.Read("junit-results.xml"))))
	s.wantStatus("INCOMPLETE", "MISSING")
	var message struct{ Message string }
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/cli-ci", artifactReport(pipelineCommit, "cli", cliFingerprint, pipelineCommit)).decode(t, &message)
	if message.Message != "OK" {
		t.Errorf("artifact report answered %+v", message)
	}
	s.wantStatus("INCOMPLETE", "INCOMPLETE")

	// The rest of the evidence follows. Coverage and scan are non-compliant at first.
	s.attestCLI(pipelineCommit, "custom", `{"attestation_name":"coverage","artifact_fingerprint":"`+cliFingerprint+`","type_name":"coverage","attestation_data":{"line":79.5},"user_data":{}}`)
	s.wantStatus("NON-COMPLIANT", "NON-COMPLIANT")
	s.attestCLI(pipelineCommit, "custom", `{"attestation_name":"coverage","artifact_fingerprint":"`+cliFingerprint+`","type_name":"coverage","attestation_data":"{\"line\":91}","user_data":{}}`)
	s.attestCLI(pipelineCommit, "snyk", `{"attestation_name":"scan","artifact_fingerprint":"`+cliFingerprint+`","user_data":{},
		"snyk_results":{"schema_version":1,"tool":{"name":"SnykCode","version":"1.0.0"},"results":[{"high_count":0,"medium_count":1,"low_count":0,"medium":[{"id":"CVE-1","message":"weak"}]}]}}`)
	s.wantStatus("NON-COMPLIANT", "NON-COMPLIANT")
	if got := s.want(http.StatusOK, http.MethodPost, "/attestations/"+s.org+"/cli-ci/trail/"+pipelineCommit+"/override",
		[]byte(`{"attestation_name":"scan","artifact_fingerprint":"`+cliFingerprint+`","reason":"not reachable","new_compliance_status":true,"original_attestation_type":"snyk","user_data":{}}`)).text(t); got != "OK" {
		t.Errorf("override answered %q", got)
	}
	s.wantStatus("INCOMPLETE", "INCOMPLETE")
	s.attestCLI(pipelineCommit, "pull_request", `{"attestation_name":"pull-request","git_provider":"github","user_data":{},"git_commit_info":`+commitInfo+`,
		"pull_requests":[{"merge_commit":"`+pipelineCommit+`","url":"https://github.com/acme/cli/pull/1","state":"MERGED","author":"someone","created_at":1750851601,
		"merged_at":1750923680,"title":"Button","head_ref":"button","base_ref":"main","approvers":[{"username":"other","state":"APPROVED","timestamp":1750923600}],
		"commits":[{"sha1":"`+branchCommit+`","message":"m","author":"a","timestamp":1750851600,"branch":"button","verified":true,"signature_state":"valid"}]}]}`)
	s.attestCLI(pipelineCommit, "system", `{"attestation_name":"risk","type_name":"decision","control":"CTRL-1","attestation_data":{"is_compliant":true},"user_data":{}}`)
	s.wantStatus("COMPLIANT", "COMPLIANT")

	// A non-compliant attestation counts although the template does not require it.
	s.attestCLI(pipelineCommit, "generic", `{"attestation_name":"manual","is_compliant":false,"user_data":{"who":["me"]},"annotations":{"ticket":"A-1"},"external_urls":{"ci":{"href":"https://ci.example.com/1"}}}`)
	s.wantStatus("NON-COMPLIANT", "NON-COMPLIANT")
	s.attestCLI(pipelineCommit, "generic", `{"attestation_name":"manual","is_compliant":true,"user_data":{}}`)
	s.attestCLI(pipelineCommit, "jira", `{"attestation_name":"ticket","user_data":{},"jira_results":[{"issue_id":"ML-50","issue_url":"https://acme.atlassian.net/browse/ML-50","issue_exists":true}]}`)
	s.attestCLI(pipelineCommit, "sonar", `{"attestation_name":"quality","artifact_fingerprint":"`+cliFingerprint+`","user_data":{},"sonar_results":{"serverUrl":"https://sonar.example.com",
		"taskId":"1","status":"SUCCESS","analysedAt":"2026-11-21T10:00:00+0000","revision":"`+pipelineCommit+`","project":{"key":"cli","name":"cli","url":"https://sonar.example.com/cli"},
		"qualityGate":{"status":"OK","conditions":[{"metric":"coverage","errorThreshold":"80","operator":"LT","value":"91","status":"OK"}]}}}`)
	s.wantStatus("COMPLIANT", "COMPLIANT")

	// A second build replaces the artifact. It has no evidence of its own yet.
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/cli-ci", artifactReport(pipelineCommit, "cli", newFingerprint, branchCommit))
	s.wantStatus("INCOMPLETE", "INCOMPLETE")

	s.wantPipelineReadBack()
}

// wantStatus checks the states of the trail and of its artifact.
func (s *service) wantStatus(trail, artifact string) {
	s.t.Helper()
	got := s.read("/trails/" + s.org + "/cli-ci/" + pipelineCommit)
	clientReadsTrail(s.t, got)
	if state := lookup(s.t, got, "compliance_state"); state != trail {
		s.t.Errorf("the trail is %v, want %s: %s", state, trail, asJSON(lookup(s.t, got, "compliance_status")))
	}
	if lookup(s.t, got, "is_compliant") != (trail == "COMPLIANT") {
		s.t.Errorf("is_compliant does not fit %s", trail)
	}
	status := lookup(s.t, got, "compliance_status", "artifacts_statuses", "cli")
	if state := lookup(s.t, status, "status"); state != artifact {
		s.t.Errorf("the artifact is %v, want %s: %s", state, artifact, asJSON(status))
	}
	if compliant := lookup(s.t, status, "is_compliant"); (compliant == nil) != (artifact == "MISSING") {
		s.t.Errorf("is_compliant of a %s artifact is %v", artifact, compliant)
	}
}

func (s *service) wantPipelineReadBack() {
	t := s.t
	t.Helper()
	trail := s.read("/trails/" + s.org + "/cli-ci/" + pipelineCommit)
	var kinds []string
	for _, event := range lookup(t, trail, "events").([]any) {
		kinds = append(kinds, lookup(t, event, "type").(string))
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
	if content := lookup(t, trail, "template", "content"); content != pipelineTemplate {
		t.Errorf("the template came back as %q", content)
	}

	// Trails, flows, repos.
	for _, query := range []string{"?page=1&per_page=20", "?page=1&per_page=20&flow=cli-ci", "?flow_tag=team=tools", "?fingerprint=" + cliFingerprint} {
		list := s.read("/trails/" + s.org + query)
		clientReadsEach(t, "trails_item", lookup(t, list, "data"))
		clientReads(t, "pagination", lookup(t, list, "pagination"))
	}
	clientReadsEach(t, "trails_item", s.read("/trails/"+s.org+"/cli-ci"))
	clientReads(t, "flow", s.read("/flows/"+s.org+"/cli-ci"))
	clientReadsEach(t, "flows_item", s.read("/flows/"+s.org))
	clientReads(t, "pagination", lookup(t, s.read("/flows/"+s.org+"?page=1&per_page=20"), "pagination"))
	repos := s.read("/repos/" + s.org + "?page=1&per_page=15")
	clientReads(t, "repos", repos)
	repo := clientReadsEach(t, "repo", lookup(t, repos, "repos"))[0]
	clientReads(t, "repo", s.read("/repos/"+s.org+"/acme/cli"))
	s.want(http.StatusOK, http.MethodPatch, "/tags/"+s.org+"/repo/"+lookup(t, repo, "id").(string), []byte(`{"set_tags":{"team":"tools"}}`))
	if tag := lookup(t, s.read("/repos/"+s.org+"/acme/cli"), "tags", "team"); tag != "tools" {
		t.Errorf("the repo's tag is %v", tag)
	}

	// Artifacts.
	for _, path := range []string{"/artifacts/" + s.org + "?page=1&per_page=15", "/artifacts/" + s.org + "?flow_name=cli-ci", "/artifacts/" + s.org + "?repo_name=acme/cli", "/artifacts/" + s.org + "/cli-ci"} {
		if items := clientReadsEach(t, "artifacts_item", s.read(path)); len(items) != 2 || lookup(t, items[0], "fingerprint") != newFingerprint {
			t.Errorf("%s: got %s", path, asJSON(items))
		}
	}
	for _, fingerprint := range []string{cliFingerprint, cliFingerprint[:5], cliFingerprint[:40]} {
		artifact := s.read("/artifacts/" + s.org + "/cli-ci/fingerprint/" + fingerprint)
		clientReads(t, "artifact", artifact)
		clientReadsEach(t, "history", lookup(t, artifact, "history"))
		if lookup(t, artifact, "fingerprint") != cliFingerprint || lookup(t, artifact, "state") != "COMPLIANT" {
			t.Errorf("%s: got %s", fingerprint, asJSON(artifact))
		}
	}
	clientReadsEach(t, "artifact", s.read("/artifacts/"+s.org+"/cli-ci/commit_sha/"+pipelineCommit))
	s.wantLatestCommit(cliFingerprint, "", pipelineCommit)
	s.wantLatestCommit(strings.Repeat("0", 64), "", branchCommit)
	s.wantLatestCommit(strings.Repeat("0", 64), "?branch=elsewhere", nil)

	// Attestations, each with the member that only its type has.
	members := map[string]string{
		"unit-test": "junit_results", "coverage": "attestation_data", "scan": "processed_snyk_results", "pull-request": "pull_requests",
		"risk": "attestation_data", "ticket": "jira_results", "quality": "sonar_results",
	}
	for name, member := range members {
		found := clientReadsEach(t, "attestation", s.read("/attestations/"+s.org+"/cli-ci/trail/"+pipelineCommit+"/"+name))
		// Newest first: an override comes before the attestation that it replaces.
		if first := found[len(found)-1]; lookup(t, first, member) == nil {
			t.Errorf("%s has no %s: %s", name, member, asJSON(first))
		}
		id := lookup(t, found[0], "attestation_id").(string)
		detail := lookup(t, s.read("/attestations/"+s.org+"?attestation_id="+id), "data")
		if items := clientReadsEach(t, "attestation", detail); len(items) != 1 {
			t.Errorf("%s by id: %s", name, asJSON(detail))
		}
	}
	if both := s.read("/attestations/" + s.org + "/cli-ci/trail/" + pipelineCommit + "/manual").([]any); len(both) != 2 || lookup(t, both[0], "is_compliant") != true {
		t.Errorf("an attestation reported twice: %s", asJSON(both))
	}
	clientReadsEach(t, "attestation", s.read("/attestations/"+s.org+"/cli-ci/artifact/"+cliFingerprint+"/coverage"))
	clientReadsEach(t, "attestation", lookup(t, s.read("/attestations/"+s.org+"/cli-ci?page=1&per_page=5"), "data"))
	byCommit := s.read("/attestations/" + s.org + "/list_attestations_for_criteria?commit_list=" + pipelineCommit)
	clientReadsEach(t, "attestation", lookup(t, byCommit, pipelineCommit))
	s.wantAttestationsByCursor(11)

	// The evidence comes back byte for byte.
	attached := lookup(t, s.read("/attestations/"+s.org+"/cli-ci/trail/"+pipelineCommit+"/unit-test"), 0)
	if sum := fmt.Sprintf("%x", sha256.Sum256(fixturestest.Read("junit-results.xml"))); lookup(t, attached, "evidence_archive_fingerprint") != sum {
		t.Errorf("the evidence is not %s: %s", sum, asJSON(attached))
	}
	evidenceLink := lookup(t, attached, "_links", "evidence", "href").(string)
	if got := s.do(http.MethodGet, strings.TrimPrefix(evidenceLink, s.URL), adminKey, nil); got.status != http.StatusOK || !bytes.Equal(got.body, fixturestest.Read("junit-results.xml")) {
		t.Errorf("evidence: status %d, %d of %d bytes", got.status, len(got.body), len(fixturestest.Read("junit-results.xml")))
	}

	// Search, and the types.
	for _, value := range []string{cliFingerprint[:8], pipelineCommit} {
		found := s.read("/search/" + s.org + "/sha/" + value)
		clientReads(t, "search", found)
		clientReads(t, "search.resolved_to", lookup(t, found, "resolved_to"))
		clientReads(t, "search.matches", lookup(t, found, "resolved_to", "fingerprints"))
		clientReads(t, "search.matches", lookup(t, found, "resolved_to", "commits"))
		clientReadsEach(t, "search.artifact", lookup(t, found, "artifacts"))
	}
	for _, kind := range []any{s.read("/custom-attestation-types/" + s.org + "/coverage"), lookup(t, s.read("/custom-attestation-types/"+s.org), 0)} {
		clientReads(t, "attestation_type", kind)
		clientReadsEach(t, "attestation_type.version", lookup(t, kind, "versions"))
	}
	if name := lookup(t, s.read("/attestations/system-attestation-types"), "system_attestation_types", 0, "name"); name == nil {
		t.Error("no system attestation types")
	}
	for _, schema := range []string{"flow-template", "environment-policy"} {
		if id := lookup(t, s.read("/schemas/"+schema+"/v1"), "$schema"); id == nil {
			t.Errorf("%s is no JSON Schema", schema)
		}
	}
}

func (s *service) wantLatestCommit(fingerprint, query string, want any) {
	s.t.Helper()
	got := lookup(s.t, s.read("/artifacts/"+s.org+"/cli-ci/"+fingerprint+"/latest_commit"+query), "latest_commit")
	if got != want {
		s.t.Errorf("latest commit of %.8s%s is %v, want %v", fingerprint, query, got, want)
	}
}

// wantAttestationsByCursor follows the cursors to the end and counts the attestations.
func (s *service) wantAttestationsByCursor(want int) {
	s.t.Helper()
	seen := map[string]bool{}
	next := s.URL + "/api/v2/attestations/" + s.org + "?per_page=3"
	for rounds := 0; next != "" && rounds < 2*want; rounds++ {
		got := s.do(http.MethodGet, strings.TrimPrefix(next, s.URL), readerKey, nil)
		if got.status != http.StatusOK {
			s.t.Fatalf("%s: status %d: %s", next, got.status, got.body)
		}
		var page struct {
			Data []struct {
				ID string `json:"attestation_id"`
			}
			Links map[string]struct{ Href string } `json:"_links"`
		}
		s.must(json.Unmarshal(got.body, &page))
		for _, item := range page.Data {
			if seen[item.ID] {
				s.t.Errorf("attestation %s came twice", item.ID)
			}
			seen[item.ID] = true
		}
		next = page.Links["next"].Href
	}
	if len(seen) != want {
		s.t.Errorf("walked over %d attestations, want %d", len(seen), want)
	}
}
