package pipelines_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"attestry/api/apitest"
)

func TestTrailOfAnUnknownFlowIsNotFound(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	apitest.WantMessage(t, s.WantForm(http.StatusNotFound, http.MethodPut, "/trails/"+s.Org+"/nowhere", `{"name":"t"}`),
		"Flow named 'nowhere' does not exist for organization '"+s.Org+"'")
	s.WantError(http.StatusNotFound, "Flow named 'nowhere' does not exist for organization '"+s.Org+"'",
		http.MethodGet, "/trails/"+s.Org+"/nowhere/t", "")
	s.CreateFlow("here")
	s.WantError(http.StatusNotFound, "Trail with name 't' does not exist for Organization '"+s.Org+"' and Flow 'here'",
		http.MethodGet, "/trails/"+s.Org+"/here/t", "")
}

func TestTrailsStayWithinTheirOrganization(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("ci")
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/ci", `{"name":"t"}`)
	s.WantForm(http.StatusCreated, http.MethodPut, "/flows/"+s.Public+"/template_file", `{"name":"ci","description":""}`)
	s.WantError(http.StatusNotFound, "Trail with name 't' does not exist for Organization '"+s.Public+"' and Flow 'ci'",
		http.MethodGet, "/trails/"+s.Public+"/ci/t", "")
	apitest.Equal(t, len(s.Read("/trails/"+s.Public+"/ci").([]any)), 0, "trails of another organization's flow")
}

func TestRepeatedBeginChangesOnlyWhatIsSent(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("ci")
	path := "/trails/" + s.Org + "/ci"
	s.WantForm(http.StatusCreated, http.MethodPut, path, `{"name":"t","description":"first","user_data":{"a":[1]},"origin_url":"https://ci.example.com/1",
		"git_commit_info":`+apitest.CommitInfo+`,"external_urls":{"docs":{"href":"https://docs.example.com"}}}`)
	s.WantForm(http.StatusOK, http.MethodPut, path, `{"name":"t"}`)
	s.WantForm(http.StatusOK, http.MethodPut, path, `{"name":"t","description":"first"}`)
	if events := apitest.Lookup(t, s.GetTrail("ci", "t"), "events").([]any); len(events) != 1 {
		t.Errorf("a begin that changes nothing left %d events", len(events))
	}
	s.WantForm(http.StatusOK, http.MethodPut, path, `{"name":"t","description":"","origin_url":null}`)
	got := s.GetTrail("ci", "t")
	clientReadsTrail(t, got)
	if apitest.Lookup(t, got, "description") != "" || apitest.Lookup(t, got, "origin_url") != "https://ci.example.com/1" ||
		apitest.Lookup(t, got, "user_data", "a", 0) != 1.0 || apitest.Lookup(t, got, "external_urls", "docs", "href") != "https://docs.example.com" ||
		apitest.Lookup(t, got, "git_commit_info", "sha1") != apitest.PipelineCommit || apitest.Lookup(t, got, "created_by") != "administrator" {
		t.Errorf("got %s", apitest.AsJSON(got))
	}
	event := s.LastEvent("ci", "t")
	if apitest.Lookup(t, event, "type") != "trail_updated" || apitest.Lookup(t, event, "changes", 0) != "description" || apitest.Lookup(t, event, "trail_data_json", "user_data") != `{"a":[1]}` {
		t.Errorf("event %s", apitest.AsJSON(event))
	}
}

func TestTrailKeepsItsTemplateUntilItIsBegunWithAnother(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("ci", apitest.YAMLFile("version: 1\ntrail:\n  attestations:\n    - name: one\n      type: generic\n"))
	path := "/trails/" + s.Org + "/ci"
	s.WantForm(http.StatusCreated, http.MethodPut, path, `{"name":"t"}`)
	s.WantForm(http.StatusOK, http.MethodPut, "/flows/"+s.Org+"/template_file", `{"name":"ci","description":"x"}`, apitest.YAMLFile("version: 1\n"))
	apitest.WantMember(t, s.GetTrail("ci", "t"), "compliance_state", "INCOMPLETE")
	own := "version: 1\ntrail:\n  artifacts:\n    - name: app\n      attestations:\n        - name: two\n          type: '*'\n"
	s.WantForm(http.StatusOK, http.MethodPut, path, `{"name":"t"}`, apitest.YAMLFile(own))
	got := s.GetTrail("ci", "t")
	if apitest.Lookup(t, got, "template", "content") != own || apitest.Lookup(t, got, "compliance_status", "artifacts_statuses", "app", "status") != "MISSING" ||
		len(apitest.Lookup(t, got, "compliance_status", "attestations_statuses").([]any)) != 0 {
		t.Errorf("got %s", apitest.AsJSON(got))
	}
	apitest.WantMember(t, s.LastEvent("ci", "t"), "changes.0", "template")
	message, errors := s.WantForm(http.StatusBadRequest, http.MethodPut, path, `{"name":"t"}`, apitest.YAMLFile("version: 2\ntrail: {nonsense: 1}\n")).Problem(t)
	if !strings.HasPrefix(message, "2 validation errors for Template\n") || len(errors) > 0 {
		t.Errorf("got %q %q", message, errors)
	}
	tooLarge := s.WantForm(http.StatusRequestEntityTooLarge, http.MethodPut, path, `{"name":"t"}`, apitest.YAMLFile("#"+strings.Repeat("x", 1<<20)))
	apitest.WantMessage(t, tooLarge, "template_file exceeds the limit of 1 MiB")
}

func TestArtifactWithoutTrailJoinsTheTrailOfItsCommit(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/legacy", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"app","git_commit":%q,"build_url":"https://b","commit_url":"https://c","repo_url":"https://r","is_compliant":false,
		"commits_list":[{"sha1":%q,"message":"m","author":"a","timestamp":1,"branch":"main","parents":[]}]}`, apitest.CLIFingerprint, apitest.PipelineCommit, apitest.PipelineCommit))
	got := s.GetTrail("legacy", apitest.PipelineCommit)
	if apitest.Lookup(t, got, "compliance_status", "artifacts_statuses", "artifact", "artifact_fingerprint") != apitest.CLIFingerprint {
		t.Errorf("got %s", apitest.AsJSON(got))
	}
}

func TestTemplatesOfArtifactsAreIgnored(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	good := `"fingerprint":"` + apitest.CLIFingerprint + `","filename":"app","build_url":"b","commit_url":"c"`
	apitest.EachOf(s, []string{`"artifact"`, `["artifact","tests"]`, "null"}, func(s *apitest.Service, template string) {
		s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/ci", []byte("{"+good+`,"template":`+template+"}"))
	})
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/ci", []byte("{"+good+`,"trail_name":"t","Template_Reference_Name":"not a name"}`))
	if apitest.Lookup(t, s.GetTrail("ci", "t"), "compliance_status", "artifacts_statuses", "artifact") == nil {
		t.Error("the trail has no artifact")
	}
}

func TestConcurrentBeginsMakeOneTrail(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("ci")
	var mu sync.Mutex
	statuses := map[int]int{}
	var clients sync.WaitGroup
	gate := make(chan struct{}, 64)
	for range apitest.ConcurrentClients() {
		clients.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			got := s.Form(http.MethodPut, "/trails/"+s.Org+"/ci", apitest.MemberKey, "data_json", `{"name":"t","description":"same"}`)
			mu.Lock()
			defer mu.Unlock()
			statuses[got.Status]++
		})
	}
	clients.Wait()
	if statuses[http.StatusCreated] != 1 || statuses[http.StatusCreated]+statuses[http.StatusOK]+statuses[http.StatusConflict] != apitest.ConcurrentClients() {
		t.Errorf("statuses %v", statuses)
	}
	if events := apitest.Lookup(t, s.GetTrail("ci", "t"), "events").([]any); len(events) != 1 {
		t.Errorf("%d events", len(events))
	}
	if total := apitest.Lookup(t, s.Read("/trails/"+s.Org), "pagination", "total"); total != 1.0 {
		t.Errorf("total is %v", total)
	}
}

func TestTrailsAreListedNewestFirstWithTheirTotals(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateFlow("one")
	s.CreateFlow("two")
	s.Want(http.StatusOK, http.MethodPatch, "/tags/"+s.Org+"/flow/two", []byte(`{"set_tags":{"team":"b=c"}}`))
	for i := range 5 {
		s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/one", fmt.Sprintf(`{"name":"one-%d"}`, i))
	}
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/two", `{"name":"two-0"}`)
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/one", apitest.ArtifactReport("one-3", "app", apitest.CLIFingerprint, apitest.PipelineCommit))
	apitest.Each(s, map[string][]string{
		"":                                       {"two-0", "one-4", "one-3", "one-2", "one-1", "one-0"},
		"?per_page=2&page=2":                     {"one-3", "one-2"},
		"?per_page=2&page=9":                     {},
		"?flow=one&per_page=3":                   {"one-4", "one-3", "one-2"},
		"?flow_tag=team=b=c":                     {"two-0"},
		"?flow_tag=team=other":                   {},
		"?flow_tag=":                             {},
		"?fingerprint=":                          {},
		"?fingerprint=" + apitest.CLIFingerprint: {"one-3"},
		"?flow=two&fingerprint=" + apitest.CLIFingerprint: {},
		"?search=E-1":                  {"one-1"},
		"?search=-0&per_page=1&page=2": {"one-0"},
		"?search=-0&flow=two":          {"two-0"},
		"?search=":                     {"two-0", "one-4", "one-3", "one-2", "one-1", "one-0"},
		"?search=none%22%3E":           {},
		"?search=E-3&fingerprint=" + apitest.CLIFingerprint: {"one-3"},
		"?search=E-1&fingerprint=" + apitest.CLIFingerprint: {},
	}, func(s *apitest.Service, query string, want []string) {
		list := s.Read("/trails/" + s.Org + query)
		apitest.ClientReads(s.T, "pagination", apitest.Lookup(s.T, list, "pagination"))
		apitest.EqualList(s.T, namesOf(s.T, apitest.Lookup(s.T, list, "data")), want, query)
	})
	if total := apitest.Lookup(t, s.Read("/trails/"+s.Org+"?flow=one&per_page=2"), "pagination", "total"); total != 5.0 {
		t.Errorf("total of a flow is %v", total)
	}
	apitest.EqualList(t, namesOf(t, apitest.Lookup(t, s.Read("/trails/"+s.Org+"/one?page=2&per_page=4"), "data")),
		[]string{"one-0"})
	apitest.Equal(t, len(namesOf(t, s.Read("/trails/"+s.Org+"/one"))), 5, "bare list of a flow")
	apitest.Each(s, map[string]string{"empty flow": "", "unknown flow": "none"}, func(s *apitest.Service, _, flow string) {
		message, _ := s.Want(http.StatusNotFound, http.MethodGet, "/trails/"+s.Org+"?flow="+flow, nil).Problem(s.T)
		if want := "Flow named '" + flow + "' does not exist for organization '" + s.Org + "'"; message != want {
			s.T.Errorf("got %q, want %q", message, want)
		}
	})
}

func TestListsDoNotRepeatLongTemplates(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	long := "version: 1\n# " + strings.Repeat("x", 65<<10) + "\n"
	s.CreateFlow("ci", apitest.YAMLFile(long))
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/ci", `{"name":"t"}`)
	apitest.WantMember(t, s.GetTrail("ci", "t"), "template.content", long)
	for _, path := range []string{"/trails/" + s.Org, "/trails/" + s.Org + "/ci?page=1"} {
		t.Run(s.CaseName(path), func(t *testing.T) {
			s := s.In(t)
			if content := apitest.Lookup(t, s.Read(path), "data", 0, "template", "content"); content != nil {
				t.Errorf("%s repeats %d bytes", path, len(content.(string)))
			}
		})
	}
}

func namesOf(t *testing.T, list any) []string {
	t.Helper()
	names := []string{}
	for _, item := range list.([]any) {
		names = append(names, apitest.Lookup(t, item, "name").(string))
	}
	return names
}

func TestArtifactThatIsAttestedByNameAndNotReportedKeepsItsTrailIncomplete(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	want := func(state, artifact string) {
		t.Helper()
		trail := s.GetTrail("build", "t")
		if apitest.Lookup(t, trail, "compliance_state") != state || apitest.Lookup(t, trail, "is_compliant") != (state == "COMPLIANT") ||
			apitest.Lookup(t, trail, "compliance_status", "artifacts_statuses", "app", "status") != artifact {
			t.Errorf("got %s, want %s and %s", apitest.AsJSON(apitest.Lookup(t, trail, "compliance_status")), state, artifact)
		}
	}
	s.AttestGeneric("t", "scan", true, `,"target_artifacts":["app"]`)
	want("INCOMPLETE", "MISSING")
	s.AttestGeneric("t", "other", false, `,"target_artifacts":["app"]`)
	want("NON-COMPLIANT", "MISSING")
	s.AttestGeneric("t", "other", true, `,"target_artifacts":["app"]`)
	s.ReportArtifact("build", "t", "app", apitest.AttestedFingerprint, apitest.FirstCommit)
	want("COMPLIANT", "COMPLIANT")
}

func TestOverrideByNamesNeedsAnAttestationOfEachArtifact(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	attest := "/attestations/" + s.Org + "/ci/trail/t"
	s.WantForm(http.StatusCreated, http.MethodPost, attest+"/generic", `{"attestation_name":"check","is_compliant":false,"target_artifacts":["web"]}`)
	override := func(status int, targets string) {
		t.Helper()
		s.Want(status, http.MethodPost, attest+"/override", []byte(`{"attestation_name":"check","target_artifacts":`+targets+
			`,"reason":"r","new_compliance_status":true,"original_attestation_type":"generic"}`))
	}
	override(http.StatusBadRequest, `["nope","web"]`)
	override(http.StatusBadRequest, `["web","nope"]`)
	override(http.StatusOK, `["web"]`)
	status := apitest.Lookup(t, s.GetTrail("ci", "t"), "compliance_status", "artifacts_statuses")
	if len(status.(map[string]any)) != 1 || apitest.Lookup(t, status, "web", "attestations_statuses", 0, "is_compliant") != true {
		t.Errorf("got %s", apitest.AsJSON(status))
	}
}
