package pipelines_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"attestry/api/apitest"
	"attestry/evidence/template"
)

func flowNames(flows []apitest.FlowBody) string {
	var names []string
	for _, flow := range flows {
		names = append(names, flow.Name)
	}
	return strings.Join(names, " ")
}

func TestFlowIsReadAsItWasPut(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	got := s.WantForm(http.StatusCreated, http.MethodPut, s.FlowsPath()+"/template_file",
		`{"name":"Web.ci_1~","description":"the web","visibility":"public","later":1}`, apitest.YAMLFile(apitest.UnusualTemplate))
	apitest.Equal(t, got.Text(t), "OK", got.Body)
	flow := s.GetFlow("Web.ci_1~")
	want := apitest.FlowBody{ID: flow.ID, Name: "Web.ci_1~", Description: "the web", Visibility: "public", Org: s.Org, Template: apitest.UnusualTemplate}
	if flow.ID == "" || flow.Tags == nil || fmt.Sprint(flow) != fmt.Sprint(want) {
		t.Errorf("got %+v", flow)
	}
}

func TestPutOfFlowResetsOmittedFields(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.WantForm(http.StatusCreated, http.MethodPut, s.FlowsPath()+"/template_file",
		`{"name":"web","description":"first","visibility":"public"}`, apitest.YAMLFile(apitest.UnusualTemplate))
	s.Want(http.StatusOK, http.MethodPatch, "/tags/"+s.Org+"/flow/web", []byte(`{"set_tags":{"kind":"build"}}`))
	before := s.GetFlow("web")
	s.WantForm(http.StatusOK, http.MethodPut, s.FlowsPath()+"/template_file", `{"name":"web","description":""}`)
	after := s.GetFlow("web")
	if after.ID != before.ID || after.Description != "" || after.Visibility != "private" {
		t.Errorf("got %+v", after)
	}
	apitest.Equal(t, after.Tags["kind"], "build", "the tags are gone")
}

func TestPutOfFlowWithoutATemplateKeepsTheTemplate(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	path, data := s.FlowsPath()+"/template_file", `{"name":"web","description":"d"}`
	put := func(status int, want string, files ...apitest.Part) {
		t.Helper()
		s.WantForm(status, http.MethodPut, path, data, files...)
		apitest.Equal(t, s.GetFlow("web").Template, want, "the template")
	}
	put(http.StatusCreated, "version: 1\n")
	put(http.StatusOK, apitest.UnusualTemplate, apitest.YAMLFile(apitest.UnusualTemplate))
	put(http.StatusOK, apitest.UnusualTemplate)
	put(http.StatusOK, apitest.UnusualTemplate, apitest.Part{Field: "template_file"})
	put(http.StatusOK, "version: 1", apitest.YAMLFile("version: 1"))
	s.Want(http.StatusOK, http.MethodPut, s.FlowsPath()+"/web/archive", nil)
	put(http.StatusCreated, "version: 1\n")
}

func TestLegacyTemplateBecomesOneArtifact(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	body := `{"name":"old","description":"d","visibility":"private","template":["unit","artifact"],"repo_url":"https://git.example/old"}`
	if got := s.Want(http.StatusCreated, http.MethodPut, s.FlowsPath(), []byte(body)); got.Text(t) != "OK" {
		t.Errorf("answered %s", got.Body)
	}
	flow := s.GetFlow("old")
	parsed, err := template.Parse([]byte(flow.Template))
	want := []template.Artifact{{Name: "artifact", Attestations: []template.Attestation{{Name: "unit", Type: "*"}}}}
	if err != nil || !slices.EqualFunc(parsed.Trail.Artifacts, want, func(a, b template.Artifact) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		t.Errorf("the template is %s, %v", flow.Template, err)
	}
	if flow.RepoURL == nil || *flow.RepoURL != "https://git.example/old" {
		t.Errorf("repo_url is %v", flow.RepoURL)
	}
	s.Want(http.StatusOK, http.MethodPut, s.FlowsPath(), []byte(`{"name":"old","description":"d"}`))
	if flow := s.GetFlow("old"); flow.RepoURL != nil || flow.Template != template.Empty {
		t.Errorf("omitted fields were not reset: %+v", flow)
	}
}

func TestBadFlowsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for template, c := range map[string]struct{ at, text string }{
		`["artifact",""]`: {"template[1]", "Attestation names must not be empty [input: ]"},
		`["a b"]`:         {"template[0]", ""},
	} {
		got := s.Do(http.MethodPut, "/api/v2"+s.FlowsPath(), apitest.MemberKey, []byte(`{"name":"x","description":"","template":`+template+`}`))
		message, errors := got.Problem(t)
		text, found := errors[c.at]
		if got.Status != http.StatusBadRequest || message != "Input payload validation failed" || !found || c.text != "" && text != c.text {
			t.Errorf("%s: %d %q %q", template, got.Status, message, errors)
		}
	}
	apitest.Equal(t, len(s.ListFlows("")), 0, "something was stored")
}

func TestBadTemplateIsRefusedAndKeepsTheFlow(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	path, data := s.FlowsPath()+"/template_file", `{"name":"web","description":"second"}`
	s.CreateFlow("web", apitest.YAMLFile(apitest.UnusualTemplate))
	apitest.Each(s, map[string]struct{ content, text string }{
		"other version":  {"version: 2\nextra: 1\n", "2 validation errors for Template\nversion (line 1)\n  Input should be 1"},
		"no YAML":        {"version: [\n", "1 validation errors for Template\n(line 2)\n  Invalid YAML: "},
		"empty":          {"", "1 validation errors for Template\n"},
		"million levels": {strings.Repeat("[", 1e6), "1 validation errors for Template\n(line 1)\n"},
	}, func(s *apitest.Service, _ string, c struct{ content, text string }) {
		got := s.WantForm(http.StatusBadRequest, http.MethodPut, path, data, apitest.YAMLFile(c.content))
		message, errors := got.Problem(s.T)
		if message != "Input payload validation failed" || len(errors) != 1 ||
			!strings.HasPrefix(errors["template_file"], c.text) {
			s.T.Errorf("%q %q", message, errors)
		}
	})
	for size, want := range map[int]string{
		template.MaxSize + 1: "template_file exceeds the limit of 1 MiB", 10 << 20: "template_file exceeds the limit of 1 MiB",
		10<<20 + 1: "File size exceeds 10MB limit",
	} {
		t.Run(fmt.Sprint(size, " bytes"), func(t *testing.T) {
			s := s.In(t)
			apitest.WantMessage(t, s.WantForm(http.StatusRequestEntityTooLarge, http.MethodPut, path, data, apitest.YAMLFile("#"+strings.Repeat("x", size-1))), want)
		})
	}
	if flow := s.GetFlow("web"); flow.Template != apitest.UnusualTemplate || flow.Description != "of a test" {
		t.Errorf("got %+v", flow)
	}
	marked := "\uFEFFversion: 1\r\n"
	s.WantForm(http.StatusOK, http.MethodPut, path, data, apitest.YAMLFile(marked))
	apitest.Equal(t, s.GetFlow("web").Template, marked, "a template with a byte order mark is not given back as it was")
	large := "version: 1\n#" + strings.Repeat("x", template.MaxSize-13) + "\n"
	s.WantForm(http.StatusOK, http.MethodPut, path, data, apitest.YAMLFile(large))
	apitest.Equal(t, s.GetFlow("web").Template, large, "a large template is not given back as it was")
}

func TestFormTakesOneTemplateAtMost(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	const data = `{"name":"web","description":""}`
	s.WantForm(http.StatusCreated, http.MethodPut, s.FlowsPath()+"/template_file", data, apitest.Part{Field: "template_file"})
	apitest.Equal(t, s.GetFlow("web").Template, "version: 1\n", "a form without a file")
	for _, path := range []string{s.FlowsPath() + "/template_file", "/trails/" + s.Org + "/web"} {
		t.Run(s.CaseName(path), func(t *testing.T) {
			s := s.In(t)
			got := s.WantForm(http.StatusBadRequest, http.MethodPut, path, data, apitest.YAMLFile("version: 1"), apitest.YAMLFile("version: 1 # again"))
			apitest.WantFault(t, got, "template_file", "Input should be a single file [input: template.yml]")
		})
	}
}

func TestUnknownFlowsAreNotFound(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, c := range []struct{ method, path, body string }{
		{http.MethodGet, "/none", ""},
		{http.MethodPut, "/none/archive", "null"},
		{http.MethodPut, "/none/rename", `{"new_name":"x"}`},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			s.In(t).WantError(http.StatusNotFound, "Flow named 'none' does not exist for organization '"+s.Org+"'", c.method, s.FlowsPath()+c.path, c.body)
		})
	}
}

func TestFlowsAreListedByNameBareOrInPages(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, name := range []string{"delta", "Alpha", "charlie-ci", "bravo"} {
		s.CreateFlow(name)
	}
	s.Want(http.StatusOK, http.MethodPatch, "/tags/"+s.Org+"/flow/bravo", []byte(`{"set_tags":{"team":"x"}}`))
	apitest.Each(s, map[string]string{
		"":                                       "Alpha bravo charlie-ci delta",
		"?search_by_name=a":                      "Alpha bravo charlie-ci delta",
		"?search_by_name=A":                      "Alpha",
		"?search_by_name=A&case_sensitive=false": "Alpha bravo charlie-ci delta",
		"?search_by_name=E-C":                    "",
		"?search_by_name=E-C&case_sensitive=no":  "charlie-ci",
		"?tag=team":                              "bravo",
		"?tag=team:x&tag=other":                  "bravo",
		"?tag=team:y":                            "",
		"?tag=":                                  "",
		"?space_id=":                             "Alpha bravo charlie-ci delta",
		"?space_id=93d8505f-bce5-4c7c-a2c8-f9823": "",
	}, func(s *apitest.Service, query, want string) {
		apitest.Equal(s.T, flowNames(s.ListFlows(query)), want, "listed")
	})
	apitest.Each(s, map[string]string{
		"?page=1&per_page=3":    "Alpha bravo charlie-ci 4 1 3 2",
		"?per_page=3&page=2":    "delta 4 2 3 2",
		"?page=9&per_page=3":    " 4 9 3 2",
		"?per_page=100&tag=no":  " 0 1 100 0",
		"?page=1":               "Alpha bravo charlie-ci delta 4 1 20 1",
		"?per_page=1&tag=team ": " 0 1 1 0",
	}, func(s *apitest.Service, query, want string) {
		var page struct {
			Data       []apitest.FlowBody
			Pagination struct {
				Total, Page int
				PerPage     int `json:"per_page"`
				PageCount   int `json:"page_count"`
			}
		}
		s.Want(http.StatusOK, http.MethodGet, s.FlowsPath()+strings.ReplaceAll(query, " ", "%20"), nil).Decode(s.T, &page)
		p := page.Pagination
		got := fmt.Sprintf("%s %d %d %d %d", flowNames(page.Data), p.Total, p.Page, p.PerPage, p.PageCount)
		if page.Data == nil || got != want {
			s.T.Errorf("%q", got)
		}
	})
}

func TestFlowsAreSorted(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	for _, name := range []string{"bravo", "idle", "alpha", "charlie", "zero"} {
		s.CreateFlow(name)
	}
	for _, flow := range []string{"charlie", "alpha", "bravo", "alpha"} {
		s.WantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.Org+"/"+flow+"/trail/t/generic", `{"attestation_name":"a","is_compliant":true}`)
	}
	apitest.Each(s, map[string]string{
		"?sort=name":                                "alpha bravo charlie idle zero",
		"?sort_direction=desc":                      "zero idle charlie bravo alpha",
		"?sort=latest_activity":                     "idle zero charlie bravo alpha",
		"?sort=latest_activity&sort_direction=desc": "alpha bravo charlie zero idle",
		"?sort=latest_activity&sort_direction=desc&search_by_name=o": "bravo zero",
	}, func(s *apitest.Service, query, want string) {
		apitest.Equal(s.T, flowNames(s.ListFlows(query)), want, "listed")
	})
	var page struct{ Data []apitest.FlowBody }
	s.Want(http.StatusOK, http.MethodGet, s.FlowsPath()+"?sort=latest_activity&sort_direction=desc&per_page=2&page=2", nil).Decode(t, &page)
	apitest.Equal(t, flowNames(page.Data), "charlie zero", "the second page")
}

func TestBadFiltersOfFlowsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.WantError(http.StatusBadRequest, "Empty string is not allowed for flow names.", http.MethodGet, s.FlowsPath()+"?search_by_name=", "")
}

func TestListOfFlowsShowsTheStateOfTheLatestTrail(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("idle")
	s.CreateFlow("web", apitest.YAMLFile("version: 1\ntrail: {attestations: [{name: a, type: '*'}]}\n"))
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/web", `{"name":"t1"}`)
	flows := s.ListFlows("")
	if len(flows) != 2 || flows[0].LatestActivityAt != nil || flows[0].LatestState != nil {
		t.Fatalf("listed %+v", flows)
	}
	if web := flows[1]; web.LatestActivityAt == nil || *web.LatestActivityAt <= 0 || web.LatestState == nil || *web.LatestState != "INCOMPLETE" {
		t.Errorf("listed %+v", web)
	}
}

func TestFormerNameOfAFlowWorksUntilItIsReused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("one")
	id := s.GetFlow("one").ID
	s.Want(http.StatusOK, http.MethodPut, s.FlowsPath()+"/one/rename", []byte(`{"new_name":"two"}`))
	if flow := s.GetFlow("one"); flow.ID != id || flow.Name != "two" {
		t.Errorf("the former name leads to %+v", flow)
	}
	s.Want(http.StatusOK, http.MethodPut, s.FlowsPath()+"/one/rename", []byte(`{"new_name":"two"}`))
	s.CreateFlow("one")
	if one, two := s.GetFlow("one"), s.GetFlow("two"); one.ID == id || two.ID != id {
		t.Errorf("got %+v and %+v", one, two)
	}
	apitest.Equal(t, flowNames(s.ListFlows("")), "one two", "listed")
}

func TestFlowIsRenamedBackAndForth(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateFlow("one")
	id := s.GetFlow("one").ID
	for _, step := range []string{"one two", "two one", "one one", "two three", "one two", "three one"} {
		t.Run(step, func(t *testing.T) {
			s := s.In(t)
			from, to, _ := strings.Cut(step, " ")
			s.Want(http.StatusOK, http.MethodPut, s.FlowsPath()+"/"+from+"/rename", []byte(`{"new_name":"`+to+`"}`))
			if flow := s.GetFlow(to); flow.ID != id || flow.Name != to {
				t.Errorf("got %+v", flow)
			}
			apitest.Equal(t, flowNames(s.ListFlows("")), to, "listed")
		})
	}
}

func TestBadNewNamesOfFlowsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("one")
	s.CreateFlow("two")
	got := s.Want(http.StatusBadRequest, http.MethodPut, s.FlowsPath()+"/one/rename", []byte(`{"new_name":"two"}`))
	apitest.WantFault(t, got, "new_name", "A flow with this name already exists [input: two]")
	s.Want(http.StatusBadRequest, http.MethodPut, s.FlowsPath()+"/one/rename", []byte("null"))
	apitest.Equal(t, flowNames(s.ListFlows("")), "one two", "listed")
}

func TestNamesOfAnArchivedFlowCanBeReused(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateFlow("one")
	s.Want(http.StatusOK, http.MethodPut, s.FlowsPath()+"/one/rename", []byte(`{"new_name":"two"}`))
	id := s.GetFlow("two").ID
	if got := s.Want(http.StatusOK, http.MethodPut, s.FlowsPath()+"/two/archive", []byte("null")); got.Text(t) != "OK" {
		t.Errorf("answered %s", got.Body)
	}
	apitest.EachOf(s, []string{"one", "two"}, func(s *apitest.Service, name string) {
		s.Want(http.StatusNotFound, http.MethodGet, s.FlowsPath()+"/"+name, nil)
		s.Want(http.StatusNotFound, http.MethodPut, s.FlowsPath()+"/"+name+"/archive", nil)
	})
	apitest.Equal(t, len(s.ListFlows("")), 0, "listed")
	kept, err := s.Process.Store.Flows.Get(t.Context(), id)
	if err != nil || !kept.Archived || !strings.HasPrefix(kept.Name, "two-archived-at-") {
		t.Errorf("kept %+v, %v", kept, err)
	}
	s.CreateFlow("two")
	s.CreateFlow("one")
	if s.GetFlow("two").ID == id || s.GetFlow("one").ID == id {
		t.Error("the archived flow came back")
	}
}

func TestConcurrentCreationsOfAFlowMakeOne(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	statuses := map[int]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for range apitest.ConcurrentClients() {
		group.Go(func() {
			got := s.Form(http.MethodPut, s.FlowsPath()+"/template_file", apitest.MemberKey, "data_json", `{"name":"web","description":"d"}`)
			mu.Lock()
			defer mu.Unlock()
			statuses[got.Status]++
		})
	}
	group.Wait()
	if statuses[http.StatusCreated] != 1 || statuses[http.StatusOK]+statuses[http.StatusConflict] != apitest.ConcurrentClients()-1 {
		t.Errorf("answered %v", statuses)
	}
	apitest.Equal(t, flowNames(s.ListFlows("")), "web", "listed")
}

func TestFlowsOfOrganizationsAreSeparate(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("web", apitest.YAMLFile(apitest.UnusualTemplate))
	s.Want(http.StatusNotFound, http.MethodGet, "/flows/"+s.Public+"/web", nil)
	s.WantForm(http.StatusCreated, http.MethodPut, "/flows/"+s.Public+"/template_file", `{"name":"web","description":"other"}`, apitest.YAMLFile(apitest.UnusualTemplate))
	s.Want(http.StatusOK, http.MethodPut, "/flows/"+s.Public+"/web/archive", nil)
	if flow := s.GetFlow("web"); flow.Description != "of a test" || flow.Org != s.Org {
		t.Errorf("got %+v", flow)
	}
	var others []apitest.FlowBody
	s.Want(http.StatusOK, http.MethodGet, "/flows/"+s.Public, nil).Decode(t, &others)
	apitest.Equal(t, len(others), 0, others)
}

func TestPublishedSchemasAgreeWithTheGrammars(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	apitest.Each(s, map[string]struct{ good, bad []string }{
		"flow-template": {
			good: []string{`{}`, `{"version":1,"trail":null}`, `{"trail":{"attestations":[{"name":"a","type":"custom:x"}],"artifacts":[{"name":"b","attestations":[{"name":"a","type":"*"}]}]}}`},
			bad:  []string{`null`, `{"version":2}`, `{"a":1}`, `{"trail":{"artifacts":[{}]}}`, `{"trail":{"artifacts":[{"name":"a b"}]}}`, `{"trail":{"artifacts":null}}`, `{"trail":{"attestations":[{"name":"a","type":"pull-request"}]}}`, `{"trail":{"attestations":[{"name":"a","type":"junit","x":1}]}}`},
		},
		"environment-policy": {
			good: []string{
				`{"_schema":"https://kosli.com/schemas/policy/environment/v1"}`,
				`{"_schema":"https://x/v1","artifacts":{"provenance":{"required":true,"exceptions":[{"if":"${{ artifact.name == 'x' }}"}]},"trail-compliance":{},"attestations":[{"type":"junit"},{"type":"*","name":"a","if":{"text":"true"}},{"type":"decision","for_control":"C1"},{"type":"junit","for_control":null}]}}`,
			},
			bad: []string{`{}`, `{"_schema":"https://x/v2"}`, `{"_schema":"https://x/v1","a":1}`, `{"_schema":"https://x/v1","artifacts":{"attestations":[{"type":"*"}]}}`, `{"_schema":"https://x/v1","artifacts":{"attestations":[{"type":"*","name":"*"}]}}`, `{"_schema":"https://x/v1","artifacts":{"attestations":[{"type":"junit","for_control":"C1"}]}}`, `{"_schema":"https://x/v1","artifacts":{"attestations":[{"type":"pull-request"}]}}`, `{"_schema":"https://x/v1","artifacts":{"attestations":[{"type":"junit","if":"true"}]}}`, `{"_schema":"https://x/v1","artifacts":{"attestations":[{"type":"junit","exceptions":[]}]}}`},
		},
	}, func(s *apitest.Service, path string, c struct{ good, bad []string }) {
		got := s.Do(http.MethodGet, "/api/v2/schemas/"+path+"/v1", apitest.StrangerKey, nil)
		if got.Status != http.StatusOK {
			s.T.Fatalf("status %d", got.Status)
		}
		schema := compileSchema(s.T, got.Body)
		for _, document := range slices.Concat(c.good, c.bad) {
			parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
			s.Must(err)
			apitest.Equal(s.T, schema.Validate(parsed) == nil, slices.Contains(c.good, document), document)
		}
		apitest.Equal(s.T, s.Do(http.MethodGet, "/api/v2/schemas/"+path+"/v1", "", nil).Status, http.StatusUnauthorized, path)
	})
}

func compileSchema(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(fmt.Sprint(parsed.(map[string]any)["$id"]), "/v1") {
		t.Errorf("the id is %v, of %v", parsed.(map[string]any)["$id"], slices.Sorted(maps.Keys(parsed.(map[string]any))))
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("attestry://schema", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("attestry://schema")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
