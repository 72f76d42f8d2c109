package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	attestedFingerprint = "7509e5bda0c762d2bac7f90d758b5b2263fa01ccbc542ab5e3df163be08e6ca9"
	firstCommit         = "1111111111111111111111111111111111111111"
	secondCommit        = "2222222222222222222222222222222222222222"
)

// trailPath returns the path of the attestations of a trail of the flow build.
func (s *service) trailPath(trail string) string {
	return "/attestations/" + s.org + "/build/trail/" + trail
}

// postAttestation sends an attestation to a trail of the flow build.
func (s *service) postAttestation(status int, trail, kind, data string, files ...part) answer {
	s.t.Helper()
	return s.wantForm(status, http.MethodPost, s.trailPath(trail)+"/"+kind, data, files...)
}

// attestGeneric sends a generic attestation to a trail of the flow build. more are further members, each after a comma.
func (s *service) attestGeneric(trail, name string, compliant bool, more string) {
	s.t.Helper()
	s.postAttestation(http.StatusCreated, trail, "generic", fmt.Sprintf(`{"attestation_name":%q,"is_compliant":%t%s}`, name, compliant, more))
}

// listAttestations reads a list of attestations without pages.
func (s *service) listAttestations(path string) []any {
	s.t.Helper()
	list, ok := s.read(path).([]any)
	if !ok {
		s.t.Fatalf("%s: no list", path)
	}
	for _, one := range list {
		clientReads(s.t, "attestation", one)
	}
	return list
}

// onlyAttestation reads the only attestation of a name in a trail of the flow build.
func (s *service) onlyAttestation(trail, name string) any {
	s.t.Helper()
	list := s.listAttestations(s.trailPath(trail) + "/" + name)
	if len(list) != 1 {
		s.t.Fatalf("%s: %d attestations, want 1", name, len(list))
	}
	return list[0]
}

func (s *service) reportArtifact(flow, trail, name, fingerprint, commit string) {
	s.t.Helper()
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/"+flow, fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"app.jar","git_commit":%q,"build_url":"https://ci.example.com/1","commit_url":"https://git.example.com/1",
		"template_reference_name":%q,"trail_name":%q}`, fingerprint, commit, name, trail))
}

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// wantInvalid sends an attestation that must be refused with an error at a field.
func (s *service) wantInvalid(kind, data, field, text string) {
	s.t.Helper()
	message, errors := s.postAttestation(http.StatusBadRequest, "t", kind, data).problem(s.t)
	if message != "Input payload validation failed" || errors[field] != text {
		s.t.Errorf("%s: %q %q\nwant %s: %q", kind, message, errors, field, text)
	}
}

func TestEachTypeOfAttestationIsJudgedByItsOwnRule(t *testing.T) {
	t.Parallel()
	s := share(t)
	suite := `{"name":"s","failures":%d,"errors":%d,"skipped":1,"total":5,"duration":2.5}`
	snyk := `"snyk_results":{"tool":{"name":"SnykCode","version":"1"},"results":[{"low_count":%d,"medium_count":0,"high_count":0}]}`
	issue := `{"issue_id":"ML-1","issue_url":"https://j.example.com/ML-1","issue_exists":%t}`
	sonar := `"sonar_results":{"analysedAt":"1724052982","revision":"x","project":{"key":"k","url":"https://s.example.com"}%s}`
	gate := `,"qualityGate":{"status":%q,"conditions":[]}`
	for name, c := range map[string]struct {
		kind, members, shown string
		compliant            bool
	}{
		"generic":                {"generic", `"is_compliant":true`, "generic", true},
		"generic-bad":            {"generic", `"is_compliant":false`, "generic", false},
		"junit":                  {"junit", `"junit_results":[` + fmt.Sprintf(suite, 0, 0) + `]`, "junit", true},
		"junit-empty":            {"junit", `"junit_results":[]`, "junit", true},
		"junit-failure":          {"junit", `"junit_results":[` + fmt.Sprintf(suite, 0, 0) + "," + fmt.Sprintf(suite, 1, 0) + `]`, "junit", false},
		"junit-error":            {"junit", `"junit_results":[` + fmt.Sprintf(suite, 0, 1) + `]`, "junit", false},
		"snyk":                   {"snyk", fmt.Sprintf(snyk, 0), "snyk", true},
		"snyk-finding":           {"snyk", fmt.Sprintf(snyk, 1), "snyk", false},
		"jira":                   {"jira", `"jira_results":[` + fmt.Sprintf(issue, true) + `]`, "jira", true},
		"jira-missing-issue":     {"jira", `"jira_results":[` + fmt.Sprintf(issue, true) + "," + fmt.Sprintf(issue, false) + `]`, "jira", false},
		"jira-empty":             {"jira", `"jira_results":[]`, "jira", false},
		"sonar":                  {"sonar", fmt.Sprintf(sonar, fmt.Sprintf(gate, "OK")), "sonar", true},
		"sonar-warning":          {"sonar", fmt.Sprintf(sonar, fmt.Sprintf(gate, "WARN")), "sonar", false},
		"sonar-gate-null":        {"sonar", fmt.Sprintf(sonar, `,"qualityGate":null`), "sonar", false},
		"sonar-without-gate":     {"sonar", fmt.Sprintf(sonar, ""), "sonar", false},
		"sonar-gate-in-capitals": {"sonar", fmt.Sprintf(sonar, `,"QUALITYGATE":{"status":"OK","conditions":[]}`), "sonar", false},
		"sonar-two-gates":        {"sonar", fmt.Sprintf(sonar, fmt.Sprintf(gate, "ERROR")+`,"qualitygate":{"status":"OK","conditions":[]}`), "sonar", false},
		"pull-request-missing":   {"pull_request", `"git_provider":"github","pull_requests":[]`, "pull_request", false},
		"pull-request":           {"pull_request", `"git_provider":"azure","pull_requests":[{"url":"u","state":"OPEN","merge_commit":""}]`, "pull_request", true},
		"decision":               {"system", `"type_name":"decision","attestation_data":{"is_compliant":true}`, "system:decision", true},
		"decision-as-text":       {"system", `"type_name":"decision","attestation_data":"{\"is_compliant\":false}"`, "system:decision", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			got := s.postAttestation(http.StatusCreated, "t", c.kind, `{"attestation_name":"`+name+`",`+c.members+`}`)
			if got.text(t) != "OK" {
				t.Errorf("answered %s", got.body)
			}
			shown := s.onlyAttestation("t", name)
			if lookup(t, shown, "is_compliant") != c.compliant || lookup(t, shown, "attestation_type") != c.shown {
				t.Errorf("%s is %v", c.members, shown)
			}
		})
	}
}

func TestCustomAttestationIsJudgedByItsType(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.wantForm(http.StatusCreated, http.MethodPost, "/custom-attestation-types/"+s.org,
		`{"name":"coverage","evaluator":{"content_type":"jq","rules":[".line >= 80"]}}`,
		part{field: "type_schema", filename: "s.json", contentType: "application/octet-stream",
			content: []byte(`{"type":"object","required":["line"],"properties":{"line":{"type":"number"}}}`)})
	data := `{"attestation_name":%q,"type_name":"coverage","attestation_data":%s}`
	s.postAttestation(http.StatusCreated, "t", "custom", fmt.Sprintf(data, "good", `{"line":80}`))
	s.postAttestation(http.StatusCreated, "t", "custom", fmt.Sprintf(data, "text", `"{\"line\":81}"`))
	s.postAttestation(http.StatusCreated, "t", "custom", fmt.Sprintf(data, "bad", `{"line":79.9}`))
	for name, compliant := range map[string]bool{"good": true, "text": true, "bad": false} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			shown := s.onlyAttestation("t", name)
			if lookup(t, shown, "is_compliant") != compliant || lookup(t, shown, "attestation_type") != "custom:coverage" || lookup(t, shown, "type_version") != 1.0 {
				t.Errorf("%s is %s", name, fmt.Sprint(shown))
			}
			if lookup(t, shown, "attestation_data", "line") == nil {
				t.Errorf("%s lacks its data: %v", name, shown)
			}
		})
	}
	_, errors := s.postAttestation(http.StatusBadRequest, "t", "custom", fmt.Sprintf(data, "misfit", `{"line":"many"}`)).problem(t)
	if errors["attestation_data/line"] == "" {
		t.Errorf("a payload that does not fit is refused with %q", errors)
	}
	if got := s.listAttestations(s.trailPath("t") + "/misfit"); len(got) != 0 {
		t.Errorf("a refused attestation is stored: %v", got)
	}
	s.wantForm(http.StatusCreated, http.MethodPost, "/custom-attestation-types/"+s.org,
		`{"name":"coverage","evaluator":{"content_type":"jq","rules":[".line >= 90"]}}`)
	s.postAttestation(http.StatusCreated, "t", "custom", fmt.Sprintf(data, "later", `{"line":85}`))
	if shown := s.onlyAttestation("t", "later"); lookup(t, shown, "is_compliant") != false || lookup(t, shown, "type_version") != 2.0 {
		t.Errorf("the next version judged %v", shown)
	}
	if shown := s.onlyAttestation("t", "good"); lookup(t, shown, "is_compliant") != true {
		t.Error("a later version changed an earlier verdict")
	}
	s.want(http.StatusOK, http.MethodPut, "/custom-attestation-types/"+s.org+"/coverage/archive", []byte("null"))
	s.postAttestation(http.StatusBadRequest, "t", "custom", fmt.Sprintf(data, "archived", `{"line":99}`))
	wantMessage(t, s.postAttestation(http.StatusNotFound, "t", "custom", `{"attestation_name":"x","type_name":"nosuch","attestation_data":{}}`),
		"Custom attestation type 'nosuch' does not exist for org '"+s.org+"'")
}

func TestAttestationIsReadBackAsItWasSent(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.reportArtifact("build", "t", "app", attestedFingerprint, firstCommit)
	s.postAttestation(http.StatusCreated, "t", "snyk", `{"attestation_name":"scan","artifact_fingerprint":"`+attestedFingerprint+`",
		"origin_url":"https://ci.example.com/7","description":"nightly","annotations":{"ticket_1":"A <b> & c"},
		"external_urls":{"report":{"href":"https://x.example.com","fingerprint":"`+attestedFingerprint+`"}},
		"user_data":["any",{"thing":1.50}],"repo_info":`+repoInfo+`,
		"git_commit_info":{"sha1":"`+firstCommit+`","message":"m","author":"a","branch":"main","timestamp":1750923680,"url":"https://git.example.com"},
		"snyk_results":{"schema_version":1,"tool":{"name":"Snyk Container","version":"1.1296.2"},"results":[
			{"low_count":0,"medium_count":0,"high_count":1,"high":[{"id":"CVE","message":"m","locations":[{"uri":"f","lines":"1"}],"extra":1}]}]}}`,
		attachment("evidence.tgz", "evidence"))
	shown := s.onlyAttestation("t", "scan")
	for path, want := range map[string]any{
		"schema_version": 2.0, "attestation_type": "snyk", "is_compliant": false, "reported_by": "administrator",
		"flow_name": "build", "trail_name": "t", "artifact_fingerprint": attestedFingerprint, "description": "nightly",
		"origin_url": "https://ci.example.com/7", "has_audit_package": true, "annotations/ticket_1": "A <b> & c",
		"external_urls/report/href": "https://x.example.com", "git_commit_info/branch": "main", "git_commit_info/timestamp": 1750923680.0,
		"processed_snyk_results/tool/name": "Snyk Container", "user_data/0": "any", "user_data/1/thing": 1.5,
		"evidence_archive_fingerprint": digestOf("evidence"),
	} {
		var steps []any
		for _, step := range strings.Split(path, "/") {
			if len(step) == 1 {
				steps = append(steps, int(step[0]-'0'))
				continue
			}
			steps = append(steps, step)
		}
		if got := lookup(t, shown, steps...); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	id := lookup(t, shown, "attestation_id").(string)
	if got, want := lookup(t, shown, "html_url"), s.URL+"/"+s.org+"/flows/build/trails/t?attestation_id="+id; got != want {
		t.Errorf("html_url is %v, want %s", got, want)
	}
	if repos := lookup(t, s.read("/trails/"+s.org+"/build/t"), "repo_ids").([]any); len(repos) != 1 {
		t.Errorf("the trail's repositories are %v", repos)
	}
	counts := lookup(t, shown, "processed_snyk_results", "results", 0).(map[string]any)
	if len(counts) != 3 || counts["high_count"] != 1.0 {
		t.Errorf("counts are %v", counts)
	}
	if path := lookup(t, shown, "evidence_archive_path").(string); !strings.HasSuffix(path, "/artifact_attestation/"+id+"/evidence.tgz") {
		t.Errorf("the path of the evidence is %s", path)
	}
	for _, other := range []string{"junit_results", "jira_results", "attestation_data", "control", "reason", "type_version"} {
		if _, there := shown.(map[string]any)[other]; there {
			t.Errorf("%s is not of this type", other)
		}
	}
	self := strings.TrimPrefix(lookup(t, shown, "_links", "self", "href").(string), s.URL+"/api/v2")
	if got := s.listAttestations(self); len(got) != 1 || lookup(t, got[0], "attestation_id") != id {
		t.Errorf("%s leads to %v", self, got)
	}
	file := strings.TrimPrefix(lookup(t, shown, "_links", "evidence", "href").(string), s.URL+"/api/v2")
	if got := s.want(http.StatusOK, http.MethodGet, file, nil); string(got.body) != "evidence" {
		t.Errorf("%s leads to %s", file, got.body)
	}
}

func TestMembersOfATypeAreShownAtTopLevel(t *testing.T) {
	t.Parallel()
	s := share(t)
	for kind, c := range map[string]struct{ members, path, want string }{
		"junit":        {`"junit_results":[{"name":"s","failures":0,"errors":0,"skipped":0,"total":"5","duration":2.5}]`, "junit_results", `[{"duration":2.5,"errors":0,"failures":0,"name":"s","skipped":0,"total":5}]`},
		"jira":         {`"jira_results":[{"issue_id":"I","issue_url":"u","issue_exists":true,"issue_fields":{"summary":"x"}}]`, "jira_results", `[{"issue_exists":true,"issue_fields":{"summary":"x"},"issue_id":"I","issue_url":"u"}]`},
		"sonar":        {`"sonar_results":{"analysedAt":"1","revision":"r","project":{"key":"k","url":"u"},"branch":{"name":"main","type":"BRANCH"}}`, "sonar_results", `{"analysedAt":"1","branch":{"name":"main","type":"BRANCH"},"project":{"key":"k","url":"u"},"revision":"r"}`},
		"pull_request": {`"git_provider":"gitlab","pull_requests":[{"url":"u","state":"s","merge_commit":"","approvers":["me"]}]`, "pull_requests", `[{"approvers":["me"],"merge_commit":"","state":"s","url":"u"}]`},
		"system":       {`"type_name":"decision","control":"C-1","unknown":1,"attestation_data":{"is_compliant":true,"why":"ok"}`, "attestation_data", `{"is_compliant":true,"why":"ok"}`},
	} {
		t.Run(kind, func(t *testing.T) {
			s := s.in(t)
			s.postAttestation(http.StatusCreated, "t", kind, `{"attestation_name":"`+kind+`",`+c.members+`}`)
			member := s.onlyAttestation("t", kind).(map[string]any)
			if got := asJSON(member[c.path]); got != c.want {
				t.Errorf("%s shows %s, want %s", kind, got, c.want)
			}
			if kind == "system" && (member["control"] != "C-1" || member["control_version"] != nil) {
				t.Errorf("the decision's control is %v", member["control"])
			}
			if kind == "pull_request" && member["git_provider"] != "gitlab" {
				t.Errorf("the provider is %v", member["git_provider"])
			}
		})
	}
}

func TestMemberNamesOfAttestationsAreExact(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.postAttestation(http.StatusCreated, "t", "system", `{"attestation_name":"x","type_name":"decision","attestation_data":{"is_compliant":false},
		"Artifact_Fingerprint":"../x","CONTROL":"C-2","description":"said","de\u017fcription":5,"Attestation_Data":{"is_compliant":true}}`)
	shown := s.onlyAttestation("t", "x").(map[string]any)
	if shown["is_compliant"] != false || shown["artifact_fingerprint"] != nil || shown["control"] != nil || shown["description"] != "said" {
		t.Errorf("shown %v", shown)
	}
}

func TestSnykLocationsMayLackLines(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.postAttestation(http.StatusCreated, "t", "snyk", `{"attestation_name":"x","snyk_results":{"schema_version":1,"tool":{"name":"Snyk","version":"1"},
		"results":[{"high_count":1,"medium_count":0,"low_count":0,"high":[{"id":"i","message":"m","locations":[{"uri":"a.go"}]}]}]}}`)
}

func TestPullRequestsOfBothClientVersionsAreAccepted(t *testing.T) {
	t.Parallel()
	s := share(t)
	for name, request := range map[string]string{
		"V1": `{"merge_commit":"` + firstCommit + `","url":"u","state":"MERGED","approvers":["one","two"],"author":"a","commits":[]}`,
		"V2": `{"merge_commit":"` + firstCommit + `","url":"u","state":"MERGED","approvers":null,"author":"a","created_at":1750851601,"merged_at":1750923680,
			"title":"t","head_ref":"h","base_ref":"main","commits":[{"sha1":"x","message":"**REDACTED**","author":"**REDACTED**","timestamp":1,"branch":"b"}]}`,
		"approved": `{"merge_commit":"` + firstCommit + `","url":"u","state":"OPEN","approvers":[{"username":"o","state":"APPROVED","timestamp":1}],"author":"a",
			"created_at":1,"title":"t","head_ref":"h","commits":[]}`,
		"V1-null": `{"merge_commit":"","url":"u","state":"OPEN","approvers":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.postAttestation(http.StatusCreated, "t", "pull_request", `{"attestation_name":"`+name+`","git_provider":"bitbucket","pull_requests":[`+request+`]}`)
			if got := lookup(t, s.onlyAttestation("t", name), "pull_requests", 0, "url"); got != "u" {
				t.Errorf("%s has the url %v", name, got)
			}
		})
	}
	_, errors := s.postAttestation(http.StatusBadRequest, "t", "pull_request",
		`{"attestation_name":"x","git_provider":"github","pull_requests":[{"url":"u","state":"s"}]}`).problem(t)
	if len(errors) != 1 || !strings.HasPrefix(slices.Collect(maps.Keys(errors))[0], "pull_requests[0]") {
		t.Errorf("refused with %q", errors)
	}
}

func TestBadAttestationsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	generic := `{"attestation_name":"x","is_compliant":true,%s}`
	for name, c := range map[string]struct{ kind, data, field, text string }{
		"unknown member":                {"generic", fmt.Sprintf(generic, `"colour":1`), "colour", "Extra inputs are not permitted [input: 1]"},
		"user_data empty":               {"generic", fmt.Sprintf(generic, `"user_data":""`), "user_data.dict[any,any]", "Input should be a valid dictionary [input: ]"},
		"infinite number in a decision": {"system", `{"attestation_name":"x","type_name":"decision","attestation_data":"{\"is_compliant\":true,\"cost\":1e999}"}`, "attestation_data/cost", "Input should hold numbers of moderate size only: number out of range"},
		"decision without verdict":      {"system", `{"attestation_name":"x","type_name":"decision","attestation_data":{}}`, "attestation_data.is_compliant", "Field required [input: None]"},
	} {
		t.Run(name, func(t *testing.T) {
			s.in(t).wantInvalid(c.kind, c.data, c.field, c.text)
		})
	}
	s.want(http.StatusNotFound, http.MethodGet, "/trails/"+s.org+"/build/t", nil)
}

func TestBadNamesInThePathCreateNothing(t *testing.T) {
	t.Parallel()
	s := share(t)
	for path, field := range map[string]string{
		"/-flow/trail/t":         "path.flow_name",
		"/flow/trail/a%20b":      "path.trail_name",
		"/flow/trail/a%2Fb":      "path.trail_name",
		"/flow%0A/trail/t":       "path.flow_name",
		"/flow/trail/t%E2%80%AE": "path.trail_name",
	} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			message, errors := s.wantForm(http.StatusBadRequest, http.MethodPost, "/attestations/"+s.org+path+"/generic", `{"attestation_name":"x","is_compliant":true}`).problem(t)
			if message != "Input payload validation failed" || !strings.HasPrefix(errors[field], "String should match pattern '^[a-zA-Z0-9][a-zA-Z0-9") {
				t.Errorf("%q %q", message, errors)
			}
		})
	}
	if flows := s.read("/flows/" + s.org).([]any); len(flows) != 0 {
		t.Errorf("created %v", flows)
	}
}

func TestAttestationCreatesItsFlowAndTrail(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.attestGeneric("new", "check", true, "")
	trail := s.read("/trails/" + s.org + "/build/new")
	if lookup(t, trail, "compliance_state") != "COMPLIANT" || lookup(t, trail, "events", 0, "type") != "trail_reported" || lookup(t, trail, "events", 1, "type") != "trail_attestation_reported" {
		t.Errorf("the trail is %v", trail)
	}
	wantMessage(t, s.postAttestation(http.StatusNotFound, "absent", "generic", `{"attestation_name":"x","is_compliant":true,"artifact_fingerprint":"`+attestedFingerprint+`"}`),
		`Artifact with fingerprint `+attestedFingerprint+` does not exist in trail "absent" of flow "build" belonging to organization "`+s.org+`"`)
	s.want(http.StatusNotFound, http.MethodGet, "/trails/"+s.org+"/build/absent", nil)
}

func TestRepeatedAttestationAddsARecord(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.attestGeneric("t", "check", false, `,"description":"first"`)
	s.attestGeneric("t", "check", true, `,"description":"second"`)
	list := s.listAttestations(s.trailPath("t") + "/check")
	if got := column(t, list, "description"); got != "second first" {
		t.Errorf("listed %s", got)
	}
	if got := lookup(t, s.read("/trails/"+s.org+"/build/t"), "compliance_state"); got != "COMPLIANT" {
		t.Errorf("the trail is %v", got)
	}
	first := lookup(t, list[1], "attestation_id").(string)
	if got := lookup(t, s.read("/attestations/"+s.org+"?attestation_id="+first), "data", 0, "description"); got != "first" {
		t.Errorf("by its id the first is %v", got)
	}
}

func TestOverrideReplacesTheVerdictAndNamesTheOriginal(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	override := func(s *service, status int, body string) answer {
		s.t.Helper()
		return s.want(status, http.MethodPost, s.trailPath("t")+"/override", []byte(body))
	}
	body := `{"attestation_name":"check","reason":"because","new_compliance_status":%t,"original_attestation_type":%q}`
	unknown := override(s, http.StatusBadRequest, fmt.Sprintf(body, true, "generic"))
	wantMessage(t, unknown, "Attestation named 'check' of type 'generic' does not exist in trail 't' of flow 'build' belonging to organization '"+s.org+"'")
	s.want(http.StatusNotFound, http.MethodGet, "/trails/"+s.org+"/build/t", nil)
	s.attestGeneric("t", "check", false, "")
	original := lookup(t, s.onlyAttestation("t", "check"), "attestation_id")
	override(s, http.StatusBadRequest, fmt.Sprintf(body, true, "junit"))
	override(s, http.StatusBadRequest, fmt.Sprintf(body, true, "custom:x"))
	if got := override(s, http.StatusOK, fmt.Sprintf(body, true, "generic")).text(t); got != "OK" {
		t.Errorf("answered %q", got)
	}
	override(s, http.StatusOK, strings.Replace(fmt.Sprintf(body, false, "generic"), "{", `{"git_commit_info":{"sha1":"`+firstCommit+`"},`, 1))
	list := s.listAttestations(s.trailPath("t") + "/check")
	if got := column(t, list, "is_compliant"); got != "false true false" {
		t.Errorf("the verdicts are %s", got)
	}
	for _, one := range list[:2] {
		if lookup(t, one, "overridden_attestation_id") != original || lookup(t, one, "reason") != "because" || lookup(t, one, "original_attestation_type") != "generic" || lookup(t, one, "attestation_type") != "generic" {
			t.Errorf("the override is %v", one)
		}
	}
	status := lookup(t, s.read("/trails/"+s.org+"/build/t"), "compliance_status", "attestations_statuses", 0)
	if lookup(t, status, "is_compliant") != false || lookup(t, status, "overridden_attestation_id") != original {
		t.Errorf("the trail shows %v", status)
	}
	for field, c := range map[string]struct{ member, text string }{
		"annotations":             {`"annotations":""`, "Input should be a valid dictionary [input: ]"},
		"git_commit_info":         {`"git_commit_info":""`, "Input should be a valid dictionary or object to extract fields from [input: ]"},
		"origin_url":              {`"origin_url":""`, "Input should be a valid URL, input is empty [input: ]"},
		"user_data.dict[any,any]": {`"user_data":""`, "Input should be a valid dictionary [input: ]"},
		"artifact_fingerprint":    {`"artifact_fingerprint":""`, "String should match pattern '^[a-f0-9]{64}$' [input: ]"},
		"external_urls":           {`"external_urls":""`, "Input should be a valid dictionary [input: ]"},
	} {
		t.Run(field, func(t *testing.T) {
			_, errors := override(s.in(t), http.StatusBadRequest, strings.Replace(fmt.Sprintf(body, true, "generic"), "{", "{"+c.member+",", 1)).problem(t)
			if errors[field] != c.text {
				t.Errorf("%q", errors)
			}
		})
	}
	override(s, http.StatusBadRequest, fmt.Sprintf(body, true, "nosuch"))
}

// See docs/semantics.md 6.2 and 6.4.
func TestOlderArtifactsCanBeOverridden(t *testing.T) {
	t.Parallel()
	byName := `,"target_artifacts":["app"]`
	byCommit := func(commit string) string { return byName + `,"git_commit_info":{"sha1":"` + commit + `"}` }
	byFingerprint := `,"artifact_fingerprint":"` + attestedFingerprint + `"`
	for name, c := range map[string]struct {
		attested, override string
		otherName          bool // whether the artifact is also reported under another name
		status             int
		state              string // of the artifact under the other name, or its only one
	}{
		"by the name of its commit":                 {byCommit(firstCommit), byCommit(firstCommit), false, http.StatusOK, "COMPLIANT"},
		"by the name of its commit, of all commits": {byName, byCommit(firstCommit), false, http.StatusOK, "COMPLIANT"},
		"by the name of another commit":             {byCommit(firstCommit), byCommit(secondCommit), false, http.StatusBadRequest, "NON-COMPLIANT"},
		"by the name of an unknown commit":          {byCommit(firstCommit), byCommit(pipelineCommit), false, http.StatusBadRequest, "NON-COMPLIANT"},
		"by its fingerprint":                        {byFingerprint, byFingerprint, false, http.StatusOK, "COMPLIANT"},
		"by its fingerprint, with another name":     {byFingerprint, byFingerprint, true, http.StatusOK, "COMPLIANT"},
		"by its fingerprint, of one by its name":    {byName, byFingerprint, true, http.StatusOK, "COMPLIANT"},
	} {
		t.Run(name, func(t *testing.T) {
			s := share(t)
			s.reportArtifact("build", "t", "app", attestedFingerprint, firstCommit)
			s.attestGeneric("t", "check", false, c.attested)
			if c.otherName {
				s.reportArtifact("build", "t", "lib", attestedFingerprint, firstCommit)
			}
			s.reportArtifact("build", "t", "app", strings.Repeat("ab", 32), secondCommit)
			s.want(c.status, http.MethodPost, s.trailPath("t")+"/override", []byte(
				`{"attestation_name":"check","original_attestation_type":"generic","new_compliance_status":true,"reason":"because"`+c.override+`}`))
			if got := lookup(t, s.read("/artifacts/"+s.org+"/build/fingerprint/"+attestedFingerprint), "state"); got != c.state {
				t.Errorf("the artifact is %v", got)
			}
		})
	}
}

func TestMissingAttestationCanBeOverridden(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("build", yamlFile(`version: 1
trail:
  attestations:
    - {name: check, type: generic}
    - {name: any, type: "*"}
  artifacts:
    - name: app
      attestations:
        - {name: tests, type: junit}
        - {name: risk, type: decision}
`))
	s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/build", `{"name":"t"}`)
	override := func(s *service, status int, name, kind string, compliant bool, more string) answer {
		s.t.Helper()
		got := s.do(http.MethodPost, "/api/v2"+s.trailPath("t")+"/override", adminKey, fmt.Appendf(nil,
			`{"attestation_name":%q,"original_attestation_type":%q,"new_compliance_status":%t,"reason":"because"%s}`, name, kind, compliant, more))
		if got.status != status {
			s.t.Errorf("override of %s as %s: status %d, want %d: %s", name, kind, got.status, status, got.body)
		}
		return got
	}
	for name, c := range map[string]struct{ name, kind, more string }{
		"unknown name":                      {"chek", "generic", ""},
		"type that is not required":         {"check", "junit", ""},
		"artifact attestation of the trail": {"tests", "junit", ""},
		"trail attestation of an artifact":  {"check", "generic", `,"target_artifacts":["app"]`},
		"unknown artifact":                  {"tests", "junit", `,"target_artifacts":["lib"]`},
		"known and unknown artifact":        {"tests", "junit", `,"target_artifacts":["app","lib"]`},
	} {
		t.Run(name, func(t *testing.T) {
			wantMessage(t, override(s.in(t), http.StatusBadRequest, c.name, c.kind, true, c.more), "Attestation named '"+c.name+"' of type '"+c.kind+
				"' does not exist in trail 't' of flow 'build' belonging to organization '"+s.org+"'")
		})
	}
	check := func(want string) {
		t.Helper()
		status := lookup(t, s.getTrail("build", "t"), "compliance_status", "attestations_statuses", 0)
		if got := fmt.Sprint(lookup(t, status, "status"), " ", lookup(t, status, "is_compliant"), " ", lookup(t, status, "overridden_attestation_id"), " ", lookup(t, status, "unexpected")); got != want {
			t.Errorf("check is %s, want %s", got, want)
		}
	}
	if got := override(s, http.StatusOK, "check", "generic", true, "").text(t); got != "OK" {
		t.Errorf("answered %q", got)
	}
	check("COMPLETE true <nil> false")
	shown := s.onlyAttestation("t", "check").(map[string]any)
	if original, there := shown["overridden_attestation_id"]; !there || original != nil || shown["reason"] != "because" {
		t.Errorf("the override is shown as %v", shown)
	}
	override(s, http.StatusOK, "check", "generic", false, "")
	check("COMPLETE false <nil> false")
	s.attestGeneric("t", "check", true, `,"description":"reported"`)
	check("COMPLETE true <nil> false")
	override(s, http.StatusOK, "check", "generic", false, "")
	reported := lookup(t, s.listAttestations(s.trailPath("t") + "/check")[1], "attestation_id")
	check(fmt.Sprint("COMPLETE false ", reported, " false"))
	override(s, http.StatusOK, "any", "custom:scan", true, "")
	override(s, http.StatusOK, "tests", "junit", true, `,"target_artifacts":["app"]`)
	s.reportArtifact("build", "t", "app", attestedFingerprint, firstCommit)
	override(s, http.StatusOK, "risk", "system:decision", true, `,"artifact_fingerprint":"`+attestedFingerprint+`"`)
	app := lookup(t, s.getTrail("build", "t"), "compliance_status", "artifacts_statuses", "app")
	if got := column(t, lookup(t, app, "attestations_statuses"), "status"); got != "COMPLETE COMPLETE" || lookup(t, app, "status") != "NON-COMPLIANT" {
		t.Errorf("the artifact is %v", app)
	}
	override(s, http.StatusOK, "check", "generic", true, "")
	if got := lookup(t, s.getTrail("build", "t"), "compliance_state"); got != "COMPLIANT" {
		t.Errorf("with all missing attestations overridden, the trail is %v", got)
	}
}

func TestLatestAttestationCountsWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true})
	s.attestGeneric("t", "check", true, "")
	s.clock.advance(-10 * time.Minute)
	s.attestGeneric("t", "check", false, "")
	trail := s.getTrail("build", "t")
	if lookup(t, trail, "compliance_state") != "NON-COMPLIANT" {
		t.Errorf("the trail is %v", lookup(t, trail, "compliance_state"))
	}
	if got := column(t, s.listAttestations(s.trailPath("t")+"/check"), "is_compliant"); got != "false true" {
		t.Errorf("newest first, the verdicts are %s", got)
	}
	if last := s.lastEvent("build", "t"); lookup(t, last, "is_compliant") != false || lookup(t, last, "timestamp") != lookup(t, trail, "last_modified_at") {
		t.Errorf("the last event is %v", last)
	}
}

func TestDecisionMayNameAnArtifactOfAnotherFlow(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.reportArtifact("elsewhere", "t1", "app", attestedFingerprint, firstCommit)
	decision := `{"attestation_name":"risk","type_name":"decision","control":"C-1","artifact_fingerprint":"` + attestedFingerprint + `","attestation_data":{"is_compliant":true}}`
	s.postAttestation(http.StatusCreated, "t", "system", decision)
	if got := s.listAttestations("/attestations/" + s.org + "/build/artifact/" + attestedFingerprint + "/risk"); len(got) != 1 || lookup(t, got[0], "control") != "C-1" {
		t.Errorf("read %v", got)
	}
	s.postAttestation(http.StatusNotFound, "t", "generic", `{"attestation_name":"x","is_compliant":true,"artifact_fingerprint":"`+attestedFingerprint+`"}`)
	s.postAttestation(http.StatusNotFound, "t", "system", strings.ReplaceAll(decision, "7509e5", "000000"))
}

func TestAttestationByNameBindsToTheArtifactOfItsCommit(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	target := func(description, commit string) string {
		return fmt.Sprintf(`,"target_artifacts":["app"],"description":%q,"git_commit_info":{"sha1":%q}`, description, commit)
	}
	s.attestGeneric("t", "check", true, target("before", firstCommit))
	s.attestGeneric("t", "check", true, target("other", secondCommit))
	s.reportArtifact("build", "t", "app", attestedFingerprint, firstCommit)
	s.attestGeneric("t", "check", true, target("after", firstCommit))
	s.attestGeneric("t", "check", true, `,"target_artifacts":["app"],"description":"uncommitted"`)
	s.attestGeneric("t", "check", true, `,"target_artifacts":["lib"],"description":"lib"`)
	s.attestGeneric("t", "check", true, `,"artifact_fingerprint":"`+attestedFingerprint+`","description":"digest"`)
	s.attestGeneric("t", "check", true, `,"description":"trail"`)
	for _, fingerprint := range []string{attestedFingerprint, attestedFingerprint[:5]} {
		t.Run(fmt.Sprint(len(fingerprint), " digits"), func(t *testing.T) {
			s := s.in(t)
			list := s.listAttestations("/attestations/" + s.org + "/build/artifact/" + fingerprint + "/check")
			if got := column(t, list, "description"); got != "digest uncommitted after before" {
				t.Errorf("%s has %s", fingerprint, got)
			}
		})
	}
	if got := column(t, s.listAttestations(s.trailPath("t")+"/check"), "description"); got != "trail digest lib uncommitted after other before" {
		t.Errorf("the trail has %s", got)
	}
	events := lookup(t, s.read("/trails/"+s.org+"/build/t"), "events")
	if got := column(t, events, "type"); !strings.Contains(got, "trail_attestation_for_artifact_reported") || !strings.Contains(got, "artifact_attestation_reported") {
		t.Errorf("events are %s", got)
	}
}

func TestUnknownAttestationsAreAnEmptyList(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.attestGeneric("t", "check", true, "")
	for _, path := range []string{"/trail/t/nosuch", "/artifact/" + attestedFingerprint + "/check", "/artifact/00000/check"} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			if got := s.want(http.StatusOK, http.MethodGet, "/attestations/"+s.org+"/build"+path, nil); string(got.body) != "[]" {
				t.Errorf("%s", got.body)
			}
		})
	}
	wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, s.trailPath("absent")+"/check", nil),
		"Trail with name 'absent' does not exist for Organization '"+s.org+"' and Flow 'build'")
	noFlow := "Flow named 'nosuch' does not exist for organization '" + s.org + "'"
	for _, path := range []string{"", "/trail/t/check", "/artifact/" + attestedFingerprint + "/check", "/trail/t/attestation/x/evidence"} {
		path = "/attestations/" + s.org + "/nosuch" + path
		t.Run(s.caseName(path), func(t *testing.T) {
			wantMessage(t, s.in(t).want(http.StatusNotFound, http.MethodGet, path, nil), noFlow)
		})
	}
	_, errors := s.want(http.StatusBadRequest, http.MethodGet, "/attestations/"+s.org+"/build/artifact/abc/check", nil).problem(t)
	if errors["path.fingerprint"] != "String should match pattern '^[a-f0-9]{5,64}$' [input: abc]" {
		t.Errorf("refused with %q", errors)
	}
	if got := s.want(http.StatusOK, http.MethodGet, "/attestations/"+s.org+"?attestation_id=unknown", nil); !strings.Contains(string(got.body), `"data":[]`) {
		t.Errorf("an unknown id gives %s", got.body)
	}
}

func TestRedactedAuthorOfACommitIsShownAsSent(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.attestGeneric("t", "absent", true, `,"git_commit_info":{"sha1":"`+firstCommit+`","timestamp":1750923680}`)
	s.attestGeneric("t", "empty", true, `,"git_commit_info":{"sha1":"`+firstCommit+`","author":"","message":"","branch":"","timestamp":1750923680}`)
	s.attestGeneric("t", "marked", true, `,"git_commit_info":{"sha1":"`+firstCommit+`","author":"**REDACTED**","message":"m","branch":"b","timestamp":1,"more":1}`)
	for name, author := range map[string]string{"absent": "", "empty": "", "marked": "**REDACTED**"} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			commit := lookup(t, s.onlyAttestation("t", name), "git_commit_info")
			clientReads(t, "attestation.git_commit_info", commit)
			if lookup(t, commit, "author") != author {
				t.Errorf("the author is %v", lookup(t, commit, "author"))
			}
		})
	}
	events := lookup(t, s.read("/trails/"+s.org+"/build/t"), "events").([]any)
	for _, event := range events[1:3] {
		if got := lookup(t, event, "git_commit_info", "author"); got != nil {
			t.Errorf("an event has the author %v", got)
		}
	}
}

func TestAttestationsShowTheCurrentNameOfTheirFlow(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.attestGeneric("t", "check", true, "")
	id := lookup(t, s.onlyAttestation("t", "check"), "attestation_id").(string)
	s.want(http.StatusOK, http.MethodPut, "/flows/"+s.org+"/build/rename", []byte(`{"new_name":"built"}`))
	shown := lookup(t, s.read("/attestations/"+s.org+"?attestation_id="+id), "data", 0)
	if lookup(t, shown, "flow_name") != "built" || !strings.Contains(lookup(t, shown, "html_url").(string), "/flows/built/") {
		t.Errorf("after the rename: %v", shown)
	}
	s.want(http.StatusOK, http.MethodPut, "/flows/"+s.org+"/built/archive", []byte("null"))
	s.want(http.StatusNotFound, http.MethodGet, "/attestations/"+s.org+"/built/trail/t/check", nil)
	shown = lookup(t, s.read("/attestations/"+s.org+"?attestation_id="+id), "data", 0)
	if !strings.HasPrefix(lookup(t, shown, "flow_name").(string), "built-archived-at-") {
		t.Errorf("after archiving: %v", lookup(t, shown, "flow_name"))
	}
}

func TestAttestationsStayWithinTheirOrganization(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.attestGeneric("t", "check", true, "")
	id := lookup(t, s.onlyAttestation("t", "check"), "attestation_id").(string)
	// The other organization has a flow and a trail of the same names.
	s.wantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.public+"/build/trail/t/generic", `{"attestation_name":"other","is_compliant":true}`)
	if got := lookup(t, s.read("/attestations/"+s.public+"?attestation_id="+id), "data").([]any); len(got) != 0 {
		t.Errorf("another organization reads %v", got)
	}
	if got := s.listAttestations("/attestations/" + s.public + "/build/trail/t/check"); len(got) != 0 {
		t.Errorf("another organization reads %v", got)
	}
	s.want(http.StatusNotFound, http.MethodGet, "/attestations/"+s.public+"/build/trail/t/attestation/"+id+"/evidence", nil)
	if got := column(t, lookup(t, s.read("/attestations/"+s.org), "data"), "attestation_name"); got != "check" {
		t.Errorf("the first organization lists %s", got)
	}
}
