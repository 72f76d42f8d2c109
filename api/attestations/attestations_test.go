package attestations_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
)

// wantInvalid sends an attestation that must be refused with an error at a field.
func wantInvalid(s *apitest.Service, kind, data, field, text string) {
	s.T.Helper()
	apitest.WantFault(s.T, s.PostAttestation(http.StatusBadRequest, "t", kind, data), field, text)
}

func TestEachTypeOfAttestationIsJudgedByItsOwnRule(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	suite := `{"name":"s","failures":%d,"errors":%d,"skipped":1,"total":5,"duration":2.5}`
	snyk := `"snyk_results":{"tool":{"name":"SnykCode","version":"1"},"results":[{"low_count":%d,"medium_count":0,"high_count":0}]}`
	issue := `{"issue_id":"ML-1","issue_url":"https://j.example.com/ML-1","issue_exists":%t}`
	sonar := `"sonar_results":{"analysedAt":"1724052982","revision":"x","project":{"key":"k","url":"https://s.example.com"}%s}`
	gate := `,"qualityGate":{"status":%q,"conditions":[]}`
	type testCase struct {
		kind, members, shown string
		compliant            bool
	}
	apitest.Each(s, map[string]testCase{
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
	}, func(s *apitest.Service, name string, c testCase) {
		got := s.PostAttestation(http.StatusCreated, "t", c.kind, `{"attestation_name":"`+name+`",`+c.members+`}`)
		apitest.Equal(s.T, got.Text(s.T), "OK", got.Body)
		shown := s.OnlyAttestation("t", name)
		apitest.WantMembers(s.T, shown, map[string]any{"is_compliant": c.compliant, "attestation_type": c.shown})
	})
}

func TestCustomAttestationIsJudgedByItsType(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.WantForm(http.StatusCreated, http.MethodPost, "/custom-attestation-types/"+s.Org,
		`{"name":"coverage","evaluator":{"content_type":"jq","rules":[".line >= 80"]}}`,
		apitest.Part{Field: "type_schema", Filename: "s.json", ContentType: "application/octet-stream",
			Content: []byte(`{"type":"object","required":["line"],"properties":{"line":{"type":"number"}}}`)})
	data := `{"attestation_name":%q,"type_name":"coverage","attestation_data":%s}`
	s.PostAttestation(http.StatusCreated, "t", "custom", fmt.Sprintf(data, "good", `{"line":80}`))
	s.PostAttestation(http.StatusCreated, "t", "custom", fmt.Sprintf(data, "text", `"{\"line\":81}"`))
	s.PostAttestation(http.StatusCreated, "t", "custom", fmt.Sprintf(data, "bad", `{"line":79.9}`))
	for name, compliant := range map[string]bool{"good": true, "text": true, "bad": false} {
		t.Run(name, func(t *testing.T) {
			s := s.In(t)
			shown := s.OnlyAttestation("t", name)
			if apitest.Lookup(t, shown, "is_compliant") != compliant || apitest.Lookup(t, shown, "attestation_type") != "custom:coverage" || apitest.Lookup(t, shown, "type_version") != 1.0 {
				t.Errorf("%s is %s", name, fmt.Sprint(shown))
			}
			if apitest.Lookup(t, shown, "attestation_data", "line") == nil {
				t.Errorf("%s lacks its data: %v", name, shown)
			}
		})
	}
	_, errors := s.PostAttestation(http.StatusBadRequest, "t", "custom", fmt.Sprintf(data, "misfit", `{"line":"many"}`)).Problem(t)
	if errors["attestation_data/line"] == "" {
		t.Errorf("a payload that does not fit is refused with %q", errors)
	}
	apitest.Equal(t, len(s.ListAttestations(s.TrailPath("t")+"/misfit")), 0, "a refused attestation is stored")
	s.WantForm(http.StatusCreated, http.MethodPost, "/custom-attestation-types/"+s.Org,
		`{"name":"coverage","evaluator":{"content_type":"jq","rules":[".line >= 90"]}}`)
	s.PostAttestation(http.StatusCreated, "t", "custom", fmt.Sprintf(data, "later", `{"line":85}`))
	apitest.WantMembers(t, s.OnlyAttestation("t", "later"), map[string]any{"is_compliant": false, "type_version": 2.0})
	s.PostAttestation(http.StatusCreated, "t", "custom", fmt.Sprintf(data, "unchecked", `{"line":null}`)) // the next version has no schema
	apitest.WantMember(t, s.OnlyAttestation("t", "good"), "is_compliant", true)
	s.Want(http.StatusOK, http.MethodPut, "/custom-attestation-types/"+s.Org+"/coverage/archive", []byte("null"))
	s.PostAttestation(http.StatusBadRequest, "t", "custom", fmt.Sprintf(data, "archived", `{"line":99}`))
	apitest.WantMessage(t, s.PostAttestation(http.StatusNotFound, "t", "custom", `{"attestation_name":"x","type_name":"nosuch","attestation_data":{}}`),
		"Custom attestation type 'nosuch' does not exist for org '"+s.Org+"'")
}

func TestAttestationIsReadBackAsItWasSent(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportArtifact("build", "t", "app", apitest.AttestedFingerprint, apitest.FirstCommit)
	s.PostAttestation(http.StatusCreated, "t", "snyk", `{"attestation_name":"scan","artifact_fingerprint":"`+apitest.AttestedFingerprint+`",
		"origin_url":"https://ci.example.com/7","description":"nightly","annotations":{"ticket_1":"A <b> & c"},
		"external_urls":{"report":{"href":"https://x.example.com","fingerprint":"`+apitest.AttestedFingerprint+`"}},
		"user_data":["any",{"thing":1.50}],"repo_info":`+apitest.RepoInfo+`,
		"git_commit_info":{"sha1":"`+apitest.FirstCommit+`","message":"m","author":"a","branch":"main","timestamp":1750923680,"url":"https://git.example.com"},
		"snyk_results":{"schema_version":1,"tool":{"name":"Snyk Container","version":"1.1296.2"},"results":[
			{"low_count":0,"medium_count":0,"high_count":1,"high":[{"id":"CVE","message":"m","locations":[{"uri":"f","lines":"1"}],"extra":1}]}]}}`,
		apitest.Attachment("evidence.tgz", "evidence"))
	shown := s.OnlyAttestation("t", "scan")
	for path, want := range map[string]any{
		"schema_version": 2.0, "attestation_type": "snyk", "is_compliant": false, "reported_by": "administrator",
		"flow_name": "build", "trail_name": "t", "artifact_fingerprint": apitest.AttestedFingerprint, "description": "nightly",
		"origin_url": "https://ci.example.com/7", "has_audit_package": true, "annotations/ticket_1": "A <b> & c",
		"external_urls/report/href": "https://x.example.com", "git_commit_info/branch": "main", "git_commit_info/timestamp": 1750923680.0,
		"processed_snyk_results/tool/name": "Snyk Container", "user_data/0": "any", "user_data/1/thing": 1.5,
		"evidence_archive_fingerprint": apitest.DigestOf("evidence"),
	} {
		var steps []any
		for _, step := range strings.Split(path, "/") {
			if len(step) == 1 {
				steps = append(steps, int(step[0]-'0'))
				continue
			}
			steps = append(steps, step)
		}
		apitest.Equal(t, apitest.Lookup(t, shown, steps...), want, path)
	}
	id := apitest.Lookup(t, shown, "attestation_id").(string)
	if got, want := apitest.Lookup(t, shown, "html_url"), s.URL+"/"+s.Org+"/flows/build/trails/t?attestation_id="+id; got != want {
		t.Errorf("html_url is %v, want %s", got, want)
	}
	if repos := apitest.Lookup(t, s.Read("/trails/"+s.Org+"/build/t"), "repo_ids").([]any); len(repos) != 1 {
		t.Errorf("the trail's repositories are %v", repos)
	}
	counts := apitest.Lookup(t, shown, "processed_snyk_results", "results", 0).(map[string]any)
	if len(counts) != 3 || counts["high_count"] != 1.0 {
		t.Errorf("counts are %v", counts)
	}
	if path := apitest.Lookup(t, shown, "evidence_archive_path").(string); !strings.HasSuffix(path, "/artifact_attestation/"+id+"/evidence.tgz") {
		t.Errorf("the path of the evidence is %s", path)
	}
	for _, other := range []string{"junit_results", "jira_results", "attestation_data", "control", "reason", "type_version"} {
		if _, there := shown.(map[string]any)[other]; there {
			t.Errorf("%s is not of this type", other)
		}
	}
	self := strings.TrimPrefix(apitest.Lookup(t, shown, "_links", "self", "href").(string), s.URL+"/api/v2")
	if got := s.ListAttestations(self); len(got) != 1 || apitest.Lookup(t, got[0], "attestation_id") != id {
		t.Errorf("%s leads to %v", self, got)
	}
	file := strings.TrimPrefix(apitest.Lookup(t, shown, "_links", "evidence", "href").(string), s.URL+"/api/v2")
	if got := s.Want(http.StatusOK, http.MethodGet, file, nil); string(got.Body) != "evidence" {
		t.Errorf("%s leads to %s", file, got.Body)
	}
}

func TestMembersOfATypeAreShownAtTopLevel(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	apitest.Each(s, map[string]struct{ members, path, want string }{
		"junit":        {`"junit_results":[{"name":"s","failures":0,"errors":0,"skipped":0,"total":"5","duration":2.5}]`, "junit_results", `[{"duration":2.5,"errors":0,"failures":0,"name":"s","skipped":0,"total":5}]`},
		"jira":         {`"jira_results":[{"issue_id":"I","issue_url":"u","issue_exists":true,"issue_fields":{"summary":"x"}}]`, "jira_results", `[{"issue_exists":true,"issue_fields":{"summary":"x"},"issue_id":"I","issue_url":"u"}]`},
		"sonar":        {`"sonar_results":{"analysedAt":"1","revision":"r","project":{"key":"k","url":"u"},"branch":{"name":"main","type":"BRANCH"}}`, "sonar_results", `{"analysedAt":"1","branch":{"name":"main","type":"BRANCH"},"project":{"key":"k","url":"u"},"revision":"r"}`},
		"pull_request": {`"git_provider":"gitlab","pull_requests":[{"url":"u","state":"s","merge_commit":"","approvers":["me"]}]`, "pull_requests", `[{"approvers":["me"],"merge_commit":"","state":"s","url":"u"}]`},
		"system":       {`"type_name":"decision","control":"C-1","unknown":1,"attestation_data":{"is_compliant":true,"why":"ok"}`, "attestation_data", `{"is_compliant":true,"why":"ok"}`},
	}, func(s *apitest.Service, kind string, c struct{ members, path, want string }) {
		s.PostAttestation(http.StatusCreated, "t", kind, `{"attestation_name":"`+kind+`",`+c.members+`}`)
		member := s.OnlyAttestation("t", kind).(map[string]any)
		apitest.Equal(s.T, apitest.AsJSON(member[c.path]), c.want, kind)
		if kind == "system" && (member["control"] != "C-1" || member["control_version"] != nil) {
			s.T.Errorf("the decision's control is %v", member["control"])
		}
		if kind == "pull_request" && member["git_provider"] != "gitlab" {
			s.T.Errorf("the provider is %v", member["git_provider"])
		}
	})
}

func TestBadAttestationsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	generic := `{"attestation_name":"x","is_compliant":true,%s}`
	apitest.Each(s, map[string]struct{ kind, data, field, text string }{
		"unknown member":                {"generic", fmt.Sprintf(generic, `"colour":1`), "colour", "Extra inputs are not permitted [input: 1]"},
		"user_data empty":               {"generic", fmt.Sprintf(generic, `"user_data":""`), "user_data.dict[any,any]", "Input should be a valid dictionary [input: ]"},
		"infinite number in a decision": {"system", `{"attestation_name":"x","type_name":"decision","attestation_data":"{\"is_compliant\":true,\"cost\":1e999}"}`, "attestation_data/cost", "Input should hold numbers of moderate size only: number out of range"},
		"pull request without a commit": {"pull_request",
			`{"attestation_name":"x","git_provider":"github","pull_requests":[{"url":"u","state":"s"}]}`,
			"pull_requests[0].FoundPullRequestV1.merge_commit", "Field required [input: None]"},
		"decision without verdict": {"system", `{"attestation_name":"x","type_name":"decision","attestation_data":{}}`,
			"attestation_data.is_compliant", "Field required [input: None]"},
	}, func(s *apitest.Service, _ string, c struct{ kind, data, field, text string }) {
		wantInvalid(s, c.kind, c.data, c.field, c.text)
	})
	s.Want(http.StatusNotFound, http.MethodGet, "/trails/"+s.Org+"/build/t", nil)
}

func TestBadNamesInThePathCreateNothing(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	apitest.Each(s, map[string]string{
		"/-flow/trail/t":         "path.flow_name",
		"/flow/trail/a%20b":      "path.trail_name",
		"/flow/trail/a%2Fb":      "path.trail_name",
		"/flow%0A/trail/t":       "path.flow_name",
		"/flow/trail/t%E2%80%AE": "path.trail_name",
	}, func(s *apitest.Service, path, field string) {
		message, errors := s.WantForm(http.StatusBadRequest, http.MethodPost, "/attestations/"+s.Org+path+"/generic",
			`{"attestation_name":"x","is_compliant":true}`).Problem(s.T)
		if message != "Input payload validation failed" ||
			!strings.HasPrefix(errors[field], "String should match pattern '^[a-zA-Z0-9][a-zA-Z0-9") {
			s.T.Errorf("%q %q", message, errors)
		}
	})
	if flows := s.Read("/flows/" + s.Org).([]any); len(flows) != 0 {
		t.Errorf("created %v", flows)
	}
}

func TestAttestationCreatesItsFlowAndTrail(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.AttestGeneric("new", "check", true, "")
	apitest.WantMembers(t, s.Read("/trails/"+s.Org+"/build/new"), map[string]any{
		"compliance_state": "COMPLIANT", "events.0.type": "trail_reported", "events.1.type": "trail_attestation_reported",
		"compliance_status.attestations_statuses.0.unexpected": true,
	})
	apitest.Equal(t, s.GetFlow("build").Template, "version: 1\n")
	apitest.WantMessage(t, s.PostAttestation(http.StatusNotFound, "absent", "generic", `{"attestation_name":"x","is_compliant":true,"artifact_fingerprint":"`+apitest.AttestedFingerprint+`"}`),
		`Artifact with fingerprint `+apitest.AttestedFingerprint+` does not exist in trail "absent" of flow "build" belonging to organization "`+s.Org+`"`)
	s.Want(http.StatusNotFound, http.MethodGet, "/trails/"+s.Org+"/build/absent", nil)
}

func TestRepeatedAttestationAddsARecord(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.AttestGeneric("t", "check", false, `,"description":"first"`)
	s.AttestGeneric("t", "check", true, `,"description":"second"`)
	list := s.ListAttestations(s.TrailPath("t") + "/check")
	apitest.Equal(t, apitest.Column(t, list, "description"), "second first", "listed")
	if got := apitest.Lookup(t, s.Read("/trails/"+s.Org+"/build/t"), "compliance_state"); got != "COMPLIANT" {
		t.Errorf("the trail is %v", got)
	}
	first := apitest.Lookup(t, list[1], "attestation_id").(string)
	if got := apitest.Lookup(t, s.Read("/attestations/"+s.Org+"?attestation_id="+first), "data", 0, "description"); got != "first" {
		t.Errorf("by its id the first is %v", got)
	}
}

func TestOverrideReplacesTheVerdictAndNamesTheOriginal(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	override := func(s *apitest.Service, status int, body string) apitest.Answer {
		s.T.Helper()
		return s.Want(status, http.MethodPost, s.TrailPath("t")+"/override", []byte(body))
	}
	body := `{"attestation_name":"check","reason":"because","new_compliance_status":%t,"original_attestation_type":%q}`
	unknown := override(s, http.StatusBadRequest, fmt.Sprintf(body, true, "generic"))
	apitest.WantMessage(t, unknown, "Attestation named 'check' of type 'generic' does not exist in trail 't' of flow 'build' belonging to organization '"+s.Org+"'")
	s.Want(http.StatusNotFound, http.MethodGet, "/trails/"+s.Org+"/build/t", nil)
	s.AttestGeneric("t", "check", false, "")
	original := apitest.Lookup(t, s.OnlyAttestation("t", "check"), "attestation_id")
	override(s, http.StatusBadRequest, fmt.Sprintf(body, true, "junit"))
	override(s, http.StatusBadRequest, fmt.Sprintf(body, true, "custom:x"))
	apitest.Equal(t, override(s, http.StatusOK, fmt.Sprintf(body, true, "generic")).Text(t), "OK", "answered")
	override(s, http.StatusOK, strings.Replace(fmt.Sprintf(body, false, "generic"), "{", `{"git_commit_info":{"sha1":"`+apitest.FirstCommit+`"},`, 1))
	list := s.ListAttestations(s.TrailPath("t") + "/check")
	apitest.Equal(t, apitest.Column(t, list, "is_compliant"), "false true false", "the verdicts")
	for _, one := range list[:2] {
		if apitest.Lookup(t, one, "overridden_attestation_id") != original || apitest.Lookup(t, one, "reason") != "because" || apitest.Lookup(t, one, "original_attestation_type") != "generic" || apitest.Lookup(t, one, "attestation_type") != "generic" {
			t.Errorf("the override is %v", one)
		}
	}
	status := apitest.Lookup(t, s.Read("/trails/"+s.Org+"/build/t"), "compliance_status", "attestations_statuses", 0)
	apitest.WantMembers(t, status, map[string]any{"is_compliant": false, "overridden_attestation_id": original})
	apitest.Each(s, map[string]struct{ member, text string }{
		"annotations":             {`"annotations":""`, "Input should be a valid dictionary [input: ]"},
		"git_commit_info":         {`"git_commit_info":""`, "Input should be a valid dictionary or object to extract fields from [input: ]"},
		"origin_url":              {`"origin_url":""`, "Input should be a valid URL, input is empty [input: ]"},
		"user_data.dict[any,any]": {`"user_data":""`, "Input should be a valid dictionary [input: ]"},
		"artifact_fingerprint":    {`"artifact_fingerprint":""`, "String should match pattern '^[a-f0-9]{64}$' [input: ]"},
		"external_urls":           {`"external_urls":""`, "Input should be a valid dictionary [input: ]"},
	}, func(s *apitest.Service, field string, c struct{ member, text string }) {
		_, errors := override(s, http.StatusBadRequest,
			strings.Replace(fmt.Sprintf(body, true, "generic"), "{", "{"+c.member+",", 1)).Problem(s.T)
		apitest.Equal(s.T, errors[field], c.text, errors)
	})
	override(s, http.StatusBadRequest, fmt.Sprintf(body, true, "nosuch"))
}

// See docs/semantics.md 6.2 and 6.4.
func TestOlderArtifactsCanBeOverridden(t *testing.T) {
	t.Parallel()
	byName := `,"target_artifacts":["app"]`
	byCommit := func(commit string) string { return byName + `,"git_commit_info":{"sha1":"` + commit + `"}` }
	byFingerprint := `,"artifact_fingerprint":"` + apitest.AttestedFingerprint + `"`
	for name, c := range map[string]struct {
		attested, override string
		otherName          bool // whether the artifact is also reported under another name
		status             int
		state              string // of the artifact under the other name, or its only one
	}{
		"by the name of its commit":                 {byCommit(apitest.FirstCommit), byCommit(apitest.FirstCommit), false, http.StatusOK, "COMPLIANT"},
		"by the name of its commit, of all commits": {byName, byCommit(apitest.FirstCommit), false, http.StatusOK, "COMPLIANT"},
		"by the name of another commit":             {byCommit(apitest.FirstCommit), byCommit(apitest.SecondCommit), false, http.StatusBadRequest, "NON-COMPLIANT"},
		"by the name of an unknown commit":          {byCommit(apitest.FirstCommit), byCommit(apitest.PipelineCommit), false, http.StatusBadRequest, "NON-COMPLIANT"},
		"by its fingerprint":                        {byFingerprint, byFingerprint, false, http.StatusOK, "COMPLIANT"},
		"by its fingerprint, with another name":     {byFingerprint, byFingerprint, true, http.StatusOK, "COMPLIANT"},
		"by its fingerprint, of one by its name":    {byName, byFingerprint, true, http.StatusOK, "COMPLIANT"},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.Share(t)
			s.ReportArtifact("build", "t", "app", apitest.AttestedFingerprint, apitest.FirstCommit)
			s.AttestGeneric("t", "check", false, c.attested)
			if c.otherName {
				s.ReportArtifact("build", "t", "lib", apitest.AttestedFingerprint, apitest.FirstCommit)
			}
			s.ReportArtifact("build", "t", "app", strings.Repeat("ab", 32), apitest.SecondCommit)
			s.Want(c.status, http.MethodPost, s.TrailPath("t")+"/override", []byte(
				`{"attestation_name":"check","original_attestation_type":"generic","new_compliance_status":true,"reason":"because"`+c.override+`}`))
			if got := apitest.Lookup(t, s.Read("/artifacts/"+s.Org+"/build/fingerprint/"+apitest.AttestedFingerprint), "state"); got != c.state {
				t.Errorf("the artifact is %v", got)
			}
		})
	}
}

func TestMissingAttestationCanBeOverridden(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("build", apitest.YAMLFile(`version: 1
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
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/build", `{"name":"t"}`)
	override := func(s *apitest.Service, status int, name, kind string, compliant bool, more string) apitest.Answer {
		s.T.Helper()
		got := s.Do(http.MethodPost, "/api/v2"+s.TrailPath("t")+"/override", apitest.AdminKey, fmt.Appendf(nil,
			`{"attestation_name":%q,"original_attestation_type":%q,"new_compliance_status":%t,"reason":"because"%s}`, name, kind, compliant, more))
		apitest.Equal(s.T, got.Status, status, name, kind, got.Body)
		return got
	}
	apitest.Each(s, map[string]struct{ name, kind, more string }{
		"unknown name":                      {"chek", "generic", ""},
		"type that is not required":         {"check", "junit", ""},
		"artifact attestation of the trail": {"tests", "junit", ""},
		"trail attestation of an artifact":  {"check", "generic", `,"target_artifacts":["app"]`},
		"unknown artifact":                  {"tests", "junit", `,"target_artifacts":["lib"]`},
		"known and unknown artifact":        {"tests", "junit", `,"target_artifacts":["app","lib"]`},
	}, func(s *apitest.Service, name string, c struct{ name, kind, more string }) {
		apitest.WantMessage(s.T, override(s, http.StatusBadRequest, c.name, c.kind, true, c.more),
			"Attestation named '"+c.name+"' of type '"+c.kind+
				"' does not exist in trail 't' of flow 'build' belonging to organization '"+s.Org+"'")
	})
	check := func(want string) {
		t.Helper()
		status := apitest.Lookup(t, s.GetTrail("build", "t"), "compliance_status", "attestations_statuses", 0)
		if got := fmt.Sprint(apitest.Lookup(t, status, "status"), " ", apitest.Lookup(t, status, "is_compliant"), " ", apitest.Lookup(t, status, "overridden_attestation_id"), " ", apitest.Lookup(t, status, "unexpected")); got != want {
			t.Errorf("check is %s, want %s", got, want)
		}
	}
	apitest.Equal(t, override(s, http.StatusOK, "check", "generic", true, "").Text(t), "OK", "answered")
	check("COMPLETE true <nil> false")
	shown := s.OnlyAttestation("t", "check").(map[string]any)
	if original, there := shown["overridden_attestation_id"]; !there || original != nil || shown["reason"] != "because" {
		t.Errorf("the override is shown as %v", shown)
	}
	override(s, http.StatusOK, "check", "generic", false, "")
	check("COMPLETE false <nil> false")
	s.AttestGeneric("t", "check", true, `,"description":"reported"`)
	check("COMPLETE true <nil> false")
	override(s, http.StatusOK, "check", "generic", false, "")
	reported := apitest.Lookup(t, s.ListAttestations(s.TrailPath("t") + "/check")[1], "attestation_id")
	check(fmt.Sprint("COMPLETE false ", reported, " false"))
	override(s, http.StatusOK, "any", "custom:scan", true, "")
	override(s, http.StatusOK, "tests", "junit", true, `,"target_artifacts":["app"]`)
	s.ReportArtifact("build", "t", "app", apitest.AttestedFingerprint, apitest.FirstCommit)
	override(s, http.StatusOK, "risk", "system:decision", true, `,"artifact_fingerprint":"`+apitest.AttestedFingerprint+`"`)
	app := apitest.Lookup(t, s.GetTrail("build", "t"), "compliance_status", "artifacts_statuses", "app")
	if got := apitest.Column(t, apitest.Lookup(t, app, "attestations_statuses"), "status"); got != "COMPLETE COMPLETE" || apitest.Lookup(t, app, "status") != "NON-COMPLIANT" {
		t.Errorf("the artifact is %v", app)
	}
	override(s, http.StatusOK, "check", "generic", true, "")
	if got := apitest.Lookup(t, s.GetTrail("build", "t"), "compliance_state"); got != "COMPLIANT" {
		t.Errorf("with all missing attestations overridden, the trail is %v", got)
	}
}

func TestLatestAttestationCountsWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true})
	s.AttestGeneric("t", "check", true, "")
	s.Clock.Advance(-10 * time.Minute)
	s.AttestGeneric("t", "check", false, "")
	trail := s.GetTrail("build", "t")
	apitest.WantMember(t, trail, "compliance_state", "NON-COMPLIANT")
	apitest.Equal(t, apitest.Column(t, s.ListAttestations(s.TrailPath("t")+"/check"), "is_compliant"),
		"false true", "newest first, the verdicts")
	if last := s.LastEvent("build", "t"); apitest.Lookup(t, last, "is_compliant") != false || apitest.Lookup(t, last, "timestamp") != apitest.Lookup(t, trail, "last_modified_at") {
		t.Errorf("the last event is %v", last)
	}
}

func TestDecisionMayNameAnArtifactOfAnotherFlow(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportArtifact("elsewhere", "t1", "app", apitest.AttestedFingerprint, apitest.FirstCommit)
	decision := `{"attestation_name":"risk","type_name":"decision","control":"C-1","artifact_fingerprint":"` + apitest.AttestedFingerprint + `","attestation_data":{"is_compliant":true}}`
	s.PostAttestation(http.StatusCreated, "t", "system", decision)
	got := s.ListAttestations("/attestations/" + s.Org + "/build/artifact/" + apitest.AttestedFingerprint + "/risk")
	if len(got) != 1 || apitest.Lookup(t, got[0], "control") != "C-1" {
		t.Fatalf("read %v", got)
	}
	page := string(webclient.SignedIn(s, apitest.AdminKey).Open("/" + s.Org + "/flows/build/trails/t?attestation_id=" + apitest.Lookup(t, got[0], "attestation_id").(string)).Body)
	if search := `href="/` + s.Org + "/search?q=" + apitest.AttestedFingerprint; strings.Count(page, search) != 2 || strings.Contains(page, "flows/build/artifacts/") {
		t.Errorf("its page does not lead to the artifact by a search: %s", page)
	}
	s.PostAttestation(http.StatusNotFound, "t", "generic", `{"attestation_name":"x","is_compliant":true,"artifact_fingerprint":"`+apitest.AttestedFingerprint+`"}`)
	s.PostAttestation(http.StatusNotFound, "t", "system", strings.ReplaceAll(decision, "7509e5", "000000"))
}

func TestAttestationByNameBindsToTheArtifactOfItsCommit(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	target := func(description, commit string) string {
		return fmt.Sprintf(`,"target_artifacts":["app"],"description":%q,"git_commit_info":{"sha1":%q}`, description, commit)
	}
	s.AttestGeneric("t", "check", true, target("before", apitest.FirstCommit))
	s.AttestGeneric("t", "check", true, target("other", apitest.SecondCommit))
	s.ReportArtifact("build", "t", "app", apitest.AttestedFingerprint, apitest.FirstCommit)
	s.AttestGeneric("t", "check", true, target("after", apitest.FirstCommit))
	s.AttestGeneric("t", "check", true, `,"target_artifacts":["app"],"description":"uncommitted"`)
	s.AttestGeneric("t", "check", true, `,"target_artifacts":["lib"],"description":"lib"`)
	s.AttestGeneric("t", "check", true, `,"artifact_fingerprint":"`+apitest.AttestedFingerprint+`","description":"digest"`)
	s.AttestGeneric("t", "check", true, `,"description":"trail"`)
	for _, fingerprint := range []string{apitest.AttestedFingerprint, apitest.AttestedFingerprint[:5]} {
		t.Run(fmt.Sprint(len(fingerprint), " digits"), func(t *testing.T) {
			s := s.In(t)
			list := s.ListAttestations("/attestations/" + s.Org + "/build/artifact/" + fingerprint + "/check")
			apitest.Equal(t, apitest.Column(t, list, "description"), "digest uncommitted after before", fingerprint)
		})
	}
	apitest.Equal(t, apitest.Column(t, s.ListAttestations(s.TrailPath("t")+"/check"), "description"),
		"trail digest lib uncommitted after other before", "the trail has")
	events := apitest.Lookup(t, s.Read("/trails/"+s.Org+"/build/t"), "events")
	if got := apitest.Column(t, events, "type"); !strings.Contains(got, "trail_attestation_for_artifact_reported") || !strings.Contains(got, "artifact_attestation_reported") {
		t.Errorf("events are %s", got)
	}
}

func TestUnknownAttestationsAreAnEmptyList(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.AttestGeneric("t", "check", true, "")
	for _, path := range []string{"/trail/t/nosuch", "/artifact/" + apitest.AttestedFingerprint + "/check", "/artifact/00000/check"} {
		t.Run(s.CaseName(path), func(t *testing.T) {
			s := s.In(t)
			if got := s.Want(http.StatusOK, http.MethodGet, "/attestations/"+s.Org+"/build"+path, nil); string(got.Body) != "[]" {
				t.Errorf("%s", got.Body)
			}
		})
	}
	apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, s.TrailPath("absent")+"/check", nil),
		"Trail with name 'absent' does not exist for Organization '"+s.Org+"' and Flow 'build'")
	noFlow := "Flow named 'nosuch' does not exist for organization '" + s.Org + "'"
	for _, path := range []string{"", "/trail/t/check", "/artifact/" + apitest.AttestedFingerprint + "/check", "/trail/t/attestation/x/evidence"} {
		path = "/attestations/" + s.Org + "/nosuch" + path
		t.Run(s.CaseName(path), func(t *testing.T) {
			apitest.WantMessage(t, s.In(t).Want(http.StatusNotFound, http.MethodGet, path, nil), noFlow)
		})
	}
	_, errors := s.Want(http.StatusBadRequest, http.MethodGet, "/attestations/"+s.Org+"/build/artifact/abc/check", nil).Problem(t)
	apitest.Equal(t, errors["path.fingerprint"], "String should match pattern '^[a-f0-9]{5,64}$' [input: abc]", errors)
	if got := s.Want(http.StatusOK, http.MethodGet, "/attestations/"+s.Org+"?attestation_id=unknown", nil); !strings.Contains(string(got.Body), `"data":[]`) {
		t.Errorf("an unknown id gives %s", got.Body)
	}
}

func TestRedactedAuthorOfACommitIsShownAsSent(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.AttestGeneric("t", "absent", true, `,"git_commit_info":{"sha1":"`+apitest.FirstCommit+`","timestamp":1750923680}`)
	s.AttestGeneric("t", "empty", true, `,"git_commit_info":{"sha1":"`+apitest.FirstCommit+`","author":"","message":"","branch":"","timestamp":1750923680}`)
	s.AttestGeneric("t", "marked", true, `,"git_commit_info":{"sha1":"`+apitest.FirstCommit+`","author":"**REDACTED**","message":"m","branch":"b","timestamp":1,"more":1}`)
	for name, author := range map[string]string{"absent": "", "empty": "", "marked": "**REDACTED**"} {
		t.Run(name, func(t *testing.T) {
			s := s.In(t)
			commit := apitest.Lookup(t, s.OnlyAttestation("t", name), "git_commit_info")
			apitest.ClientReads(t, "attestation.git_commit_info", commit)
			apitest.WantMember(t, commit, "author", author)
		})
	}
	events := apitest.Lookup(t, s.Read("/trails/"+s.Org+"/build/t"), "events").([]any)
	for _, event := range events[1:3] {
		apitest.Equal(t, apitest.Lookup(t, event, "git_commit_info", "author"), nil, "an event has the author")
	}
}

func TestAttestationsShowTheCurrentNameOfTheirFlow(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.AttestGeneric("t", "check", true, "")
	id := apitest.Lookup(t, s.OnlyAttestation("t", "check"), "attestation_id").(string)
	s.Want(http.StatusOK, http.MethodPut, "/flows/"+s.Org+"/build/rename", []byte(`{"new_name":"built"}`))
	shown := apitest.Lookup(t, s.Read("/attestations/"+s.Org+"?attestation_id="+id), "data", 0)
	if apitest.Lookup(t, shown, "flow_name") != "built" || !strings.Contains(apitest.Lookup(t, shown, "html_url").(string), "/flows/built/") {
		t.Errorf("after the rename: %v", shown)
	}
	s.Want(http.StatusOK, http.MethodPut, "/flows/"+s.Org+"/built/archive", []byte("null"))
	s.Want(http.StatusNotFound, http.MethodGet, "/attestations/"+s.Org+"/built/trail/t/check", nil)
	shown = apitest.Lookup(t, s.Read("/attestations/"+s.Org+"?attestation_id="+id), "data", 0)
	if !strings.HasPrefix(apitest.Lookup(t, shown, "flow_name").(string), "built-archived-at-") {
		t.Errorf("after archiving: %v", apitest.Lookup(t, shown, "flow_name"))
	}
}

func TestAttestationsStayWithinTheirOrganization(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.AttestGeneric("t", "check", true, "")
	id := apitest.Lookup(t, s.OnlyAttestation("t", "check"), "attestation_id").(string)
	// The other organization has a flow and a trail of the same names.
	s.WantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.Public+"/build/trail/t/generic", `{"attestation_name":"other","is_compliant":true}`)
	if got := apitest.Lookup(t, s.Read("/attestations/"+s.Public+"?attestation_id="+id), "data").([]any); len(got) != 0 {
		t.Errorf("another organization reads %v", got)
	}
	apitest.Equal(t, len(s.ListAttestations("/attestations/"+s.Public+"/build/trail/t/check")),
		0, "another organization reads")
	s.Want(http.StatusNotFound, http.MethodGet, "/attestations/"+s.Public+"/build/trail/t/attestation/"+id+"/evidence", nil)
	apitest.Equal(t, apitest.Column(t, apitest.Lookup(t, s.Read("/attestations/"+s.Org), "data"), "attestation_name"),
		"check", "the first organization lists")
}
