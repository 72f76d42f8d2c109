package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

func (s *service) getTrail(flow, name string) any {
	s.t.Helper()
	return s.read("/trails/" + s.org + "/" + flow + "/" + name)
}

// lastEvent returns the newest event of a trail.
func (s *service) lastEvent(flow, name string) any {
	s.t.Helper()
	events := lookup(s.t, s.getTrail(flow, name), "events").([]any)
	return events[len(events)-1]
}

func TestTrailOfAnUnknownFlowIsNotFound(t *testing.T) {
	t.Parallel()
	s := share(t)
	message, _ := s.wantForm(http.StatusNotFound, http.MethodPut, "/trails/"+s.org+"/nowhere", `{"name":"t"}`).problem(t)
	if want := "Flow named 'nowhere' does not exist for organization '" + s.org + "'"; message != want {
		t.Errorf("got %q, want %q", message, want)
	}
	s.createFlow("here")
	message, _ = s.want(http.StatusNotFound, http.MethodGet, "/trails/"+s.org+"/here/t", nil).problem(t)
	if want := "Trail with name 't' does not exist for Organization '" + s.org + "' and Flow 'here'"; message != want {
		t.Errorf("got %q, want %q", message, want)
	}
}

func TestRepeatedBeginChangesOnlyWhatIsSent(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("ci")
	path := "/trails/" + s.org + "/ci"
	s.wantForm(http.StatusCreated, http.MethodPut, path, `{"name":"t","description":"first","user_data":{"a":[1]},"origin_url":"https://ci.example.com/1",
		"git_commit_info":`+commitInfo+`,"external_urls":{"docs":{"href":"https://docs.example.com"}}}`)
	s.wantForm(http.StatusOK, http.MethodPut, path, `{"name":"t"}`)
	s.wantForm(http.StatusOK, http.MethodPut, path, `{"name":"t","description":"first"}`)
	if events := lookup(t, s.getTrail("ci", "t"), "events").([]any); len(events) != 1 {
		t.Errorf("a begin that changes nothing left %d events", len(events))
	}
	s.wantForm(http.StatusOK, http.MethodPut, path, `{"name":"t","description":"","origin_url":null}`)
	got := s.getTrail("ci", "t")
	clientReadsTrail(t, got)
	if lookup(t, got, "description") != "" || lookup(t, got, "origin_url") != "https://ci.example.com/1" ||
		lookup(t, got, "user_data", "a", 0) != 1.0 || lookup(t, got, "external_urls", "docs", "href") != "https://docs.example.com" ||
		lookup(t, got, "git_commit_info", "sha1") != pipelineCommit || lookup(t, got, "created_by") != "administrator" {
		t.Errorf("got %s", asJSON(got))
	}
	event := s.lastEvent("ci", "t")
	if lookup(t, event, "type") != "trail_updated" || lookup(t, event, "changes", 0) != "description" || lookup(t, event, "trail_data_json", "user_data") != `{"a":[1]}` {
		t.Errorf("event %s", asJSON(event))
	}
}

func TestTrailKeepsItsTemplateUntilItIsBegunWithAnother(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("ci", yamlFile("version: 1\ntrail:\n  attestations:\n    - name: one\n      type: generic\n"))
	path := "/trails/" + s.org + "/ci"
	s.wantForm(http.StatusCreated, http.MethodPut, path, `{"name":"t"}`)
	s.wantForm(http.StatusOK, http.MethodPut, "/flows/"+s.org+"/template_file", `{"name":"ci","description":"x"}`, yamlFile("version: 1\n"))
	if got := s.getTrail("ci", "t"); lookup(t, got, "compliance_state") != "INCOMPLETE" {
		t.Errorf("the flow's new template reached an old trail: %s", asJSON(got))
	}
	own := "version: 1\ntrail:\n  artifacts:\n    - name: app\n      attestations:\n        - name: two\n          type: '*'\n"
	s.wantForm(http.StatusOK, http.MethodPut, path, `{"name":"t"}`, yamlFile(own))
	got := s.getTrail("ci", "t")
	if lookup(t, got, "template", "content") != own || lookup(t, got, "compliance_status", "artifacts_statuses", "app", "status") != "MISSING" ||
		len(lookup(t, got, "compliance_status", "attestations_statuses").([]any)) != 0 {
		t.Errorf("got %s", asJSON(got))
	}
	if event := s.lastEvent("ci", "t"); lookup(t, event, "changes", 0) != "template" {
		t.Errorf("event %s", asJSON(event))
	}
	message, errors := s.wantForm(http.StatusBadRequest, http.MethodPut, path, `{"name":"t"}`, yamlFile("version: 2\ntrail: {nonsense: 1}\n")).problem(t)
	if !strings.HasPrefix(message, "2 validation errors for Template\n") || len(errors) > 0 {
		t.Errorf("got %q %q", message, errors)
	}
	tooLarge := s.wantForm(http.StatusRequestEntityTooLarge, http.MethodPut, path, `{"name":"t"}`, yamlFile("#"+strings.Repeat("x", 1<<20)))
	wantMessage(t, tooLarge, "template_file exceeds the limit of 1 MiB")
}

func TestAttestationBeginsANewTrailAndFlow(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.wantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.org+"/fresh/trail/begun/generic",
		`{"attestation_name":"check","is_compliant":true}`)
	got := s.getTrail("fresh", "begun")
	clientReadsTrail(t, got)
	if lookup(t, got, "compliance_state") != "COMPLIANT" || lookup(t, got, "events", 0, "type") != "trail_reported" ||
		lookup(t, got, "compliance_status", "attestations_statuses", 0, "unexpected") != true {
		t.Errorf("got %s", asJSON(got))
	}
	if content := lookup(t, s.read("/flows/"+s.org+"/fresh"), "template"); !strings.HasPrefix(content.(string), "version: 1") {
		t.Errorf("the flow's template is %q", content)
	}
	for _, path := range []string{"/bad%20flow/trail/t", "/flow/trail/bad%20trail"} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s.in(t).wantForm(http.StatusBadRequest, http.MethodPost, "/attestations/"+s.org+path+"/generic", `{"attestation_name":"check","is_compliant":true}`)
		})
	}
}

func TestArtifactWithoutTrailJoinsTheTrailOfItsCommit(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/legacy", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"app","git_commit":%q,"build_url":"https://b","commit_url":"https://c","repo_url":"https://r","is_compliant":false,
		"commits_list":[{"sha1":%q,"message":"m","author":"a","timestamp":1,"branch":"main","parents":[]}]}`, cliFingerprint, pipelineCommit, pipelineCommit))
	got := s.getTrail("legacy", pipelineCommit)
	if lookup(t, got, "compliance_status", "artifacts_statuses", "artifact", "artifact_fingerprint") != cliFingerprint {
		t.Errorf("got %s", asJSON(got))
	}
}

func TestTemplatesOfArtifactsAreIgnored(t *testing.T) {
	t.Parallel()
	s := share(t)
	good := `"fingerprint":"` + cliFingerprint + `","filename":"app","build_url":"b","commit_url":"c"`
	for _, template := range []string{`"artifact"`, `["artifact","tests"]`, "null"} {
		t.Run(template, func(t *testing.T) {
			s.in(t).want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/ci", []byte("{"+good+`,"template":`+template+"}"))
		})
	}
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/ci", []byte("{"+good+`,"trail_name":"t","Template_Reference_Name":"not a name"}`))
	if lookup(t, s.getTrail("ci", "t"), "compliance_status", "artifacts_statuses", "artifact") == nil {
		t.Error("the trail has no artifact")
	}
}

func TestConcurrentBeginsMakeOneTrail(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("ci")
	var mu sync.Mutex
	statuses := map[int]int{}
	var clients sync.WaitGroup
	gate := make(chan struct{}, 64)
	for range concurrentClients() {
		clients.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			got := s.form(http.MethodPut, "/trails/"+s.org+"/ci", memberKey, "data_json", `{"name":"t","description":"same"}`)
			mu.Lock()
			defer mu.Unlock()
			statuses[got.status]++
		})
	}
	clients.Wait()
	if statuses[http.StatusCreated] != 1 || statuses[http.StatusCreated]+statuses[http.StatusOK]+statuses[http.StatusConflict] != concurrentClients() {
		t.Errorf("statuses %v", statuses)
	}
	if events := lookup(t, s.getTrail("ci", "t"), "events").([]any); len(events) != 1 {
		t.Errorf("%d events", len(events))
	}
	if total := lookup(t, s.read("/trails/"+s.org), "pagination", "total"); total != 1.0 {
		t.Errorf("total is %v", total)
	}
}

func TestTrailsAreListedNewestFirstWithTheirTotals(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createFlow("one")
	s.createFlow("two")
	s.want(http.StatusOK, http.MethodPatch, "/tags/"+s.org+"/flow/two", []byte(`{"set_tags":{"team":"b=c"}}`))
	for i := range 5 {
		s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/one", fmt.Sprintf(`{"name":"one-%d"}`, i))
	}
	s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/two", `{"name":"two-0"}`)
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/one", artifactReport("one-3", "app", cliFingerprint, pipelineCommit))
	for query, want := range map[string][]string{
		"":                               {"two-0", "one-4", "one-3", "one-2", "one-1", "one-0"},
		"?per_page=2&page=2":             {"one-3", "one-2"},
		"?per_page=2&page=9":             {},
		"?flow=one&per_page=3":           {"one-4", "one-3", "one-2"},
		"?flow_tag=team=b=c":             {"two-0"},
		"?flow_tag=team=other":           {},
		"?flow_tag=":                     {},
		"?fingerprint=":                  {},
		"?fingerprint=" + cliFingerprint: {"one-3"},
		"?flow=two&fingerprint=" + cliFingerprint: {},
		"?search=E-1":                               {"one-1"},
		"?search=-0&per_page=1&page=2":              {"one-0"},
		"?search=-0&flow=two":                       {"two-0"},
		"?search=":                                  {"two-0", "one-4", "one-3", "one-2", "one-1", "one-0"},
		"?search=none%22%3E":                        {},
		"?search=E-3&fingerprint=" + cliFingerprint: {"one-3"},
		"?search=E-1&fingerprint=" + cliFingerprint: {},
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			list := s.read("/trails/" + s.org + query)
			clientReads(t, "pagination", lookup(t, list, "pagination"))
			if got := namesOf(t, lookup(t, list, "data")); !slices.Equal(got, want) {
				t.Errorf("%q: got %q, want %q", query, got, want)
			}
		})
	}
	if total := lookup(t, s.read("/trails/"+s.org+"?flow=one&per_page=2"), "pagination", "total"); total != 5.0 {
		t.Errorf("total of a flow is %v", total)
	}
	if got := namesOf(t, lookup(t, s.read("/trails/"+s.org+"/one?page=2&per_page=4"), "data")); !slices.Equal(got, []string{"one-0"}) {
		t.Errorf("second page of a flow: %q", got)
	}
	if got := namesOf(t, s.read("/trails/"+s.org+"/one")); len(got) != 5 {
		t.Errorf("bare list of a flow: %q", got)
	}
	for name, flow := range map[string]string{"empty flow": "", "unknown flow": "none"} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			message, _ := s.want(http.StatusNotFound, http.MethodGet, "/trails/"+s.org+"?flow="+flow, nil).problem(t)
			if want := "Flow named '" + flow + "' does not exist for organization '" + s.org + "'"; message != want {
				t.Errorf("got %q, want %q", message, want)
			}
		})
	}
}

func TestListsDoNotRepeatLongTemplates(t *testing.T) {
	t.Parallel()
	s := share(t)
	long := "version: 1\n# " + strings.Repeat("x", 65<<10) + "\n"
	s.createFlow("ci", yamlFile(long))
	s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/ci", `{"name":"t"}`)
	if lookup(t, s.getTrail("ci", "t"), "template", "content") != long {
		t.Error("the trail does not show its template as it was sent")
	}
	for _, path := range []string{"/trails/" + s.org, "/trails/" + s.org + "/ci?page=1"} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			if content := lookup(t, s.read(path), "data", 0, "template", "content"); content != nil {
				t.Errorf("%s repeats %d bytes", path, len(content.(string)))
			}
		})
	}
}

func namesOf(t *testing.T, list any) []string {
	t.Helper()
	names := []string{}
	for _, item := range list.([]any) {
		names = append(names, lookup(t, item, "name").(string))
	}
	return names
}

func TestTrailsStayWithinTheirOrganization(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("ci")
	s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/ci", `{"name":"t"}`)
	if got := s.do(http.MethodGet, "/api/v2/trails/"+s.public+"/ci/t", adminKey, nil); got.status != http.StatusNotFound {
		t.Errorf("the trail is in another organization: %d", got.status)
	}
}

func TestArtifactThatIsAttestedByNameAndNotReportedKeepsItsTrailIncomplete(t *testing.T) {
	t.Parallel()
	s := share(t)
	want := func(state, artifact string) {
		t.Helper()
		trail := s.getTrail("build", "t")
		if lookup(t, trail, "compliance_state") != state || lookup(t, trail, "is_compliant") != (state == "COMPLIANT") ||
			lookup(t, trail, "compliance_status", "artifacts_statuses", "app", "status") != artifact {
			t.Errorf("got %s, want %s and %s", asJSON(lookup(t, trail, "compliance_status")), state, artifact)
		}
	}
	s.attestGeneric("t", "scan", true, `,"target_artifacts":["app"]`)
	want("INCOMPLETE", "MISSING")
	s.attestGeneric("t", "other", false, `,"target_artifacts":["app"]`)
	want("NON-COMPLIANT", "MISSING")
	s.attestGeneric("t", "other", true, `,"target_artifacts":["app"]`)
	s.reportArtifact("build", "t", "app", attestedFingerprint, firstCommit)
	want("COMPLIANT", "COMPLIANT")
}

func TestOverrideByNamesNeedsAnAttestationOfEachArtifact(t *testing.T) {
	t.Parallel()
	s := share(t)
	attest := "/attestations/" + s.org + "/ci/trail/t"
	s.wantForm(http.StatusCreated, http.MethodPost, attest+"/generic", `{"attestation_name":"check","is_compliant":false,"target_artifacts":["web"]}`)
	override := func(status int, targets string) {
		t.Helper()
		s.want(status, http.MethodPost, attest+"/override", []byte(`{"attestation_name":"check","target_artifacts":`+targets+
			`,"reason":"r","new_compliance_status":true,"original_attestation_type":"generic"}`))
	}
	override(http.StatusBadRequest, `["nope","web"]`)
	override(http.StatusBadRequest, `["web","nope"]`)
	override(http.StatusOK, `["web"]`)
	status := lookup(t, s.getTrail("ci", "t"), "compliance_status", "artifacts_statuses")
	if len(status.(map[string]any)) != 1 || lookup(t, status, "web", "attestations_statuses", 0, "is_compliant") != true {
		t.Errorf("got %s", asJSON(status))
	}
}
