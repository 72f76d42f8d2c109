package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"attestry/evidence/template"
)

type flowBody struct {
	ID               string            `json:"id"`
	Name             string            `json:"name"`
	Description      string            `json:"description"`
	Visibility       string            `json:"visibility"`
	Org              string            `json:"org"`
	Template         string            `json:"template"`
	RepoURL          *string           `json:"repo_url"`
	Tags             map[string]string `json:"tags"`
	LatestActivityAt *float64          `json:"latest_activity_at"`
	LatestState      *string           `json:"latest_state"`
}

func (s *service) flowsPath() string { return "/flows/" + s.org }

func (s *service) createFlow(name string, files ...part) {
	s.t.Helper()
	s.wantForm(http.StatusCreated, http.MethodPut, s.flowsPath()+"/template_file",
		`{"name":"`+name+`","description":"of a test"}`, files...)
}

func (s *service) getFlow(name string) flowBody {
	s.t.Helper()
	var body flowBody
	s.want(http.StatusOK, http.MethodGet, s.flowsPath()+"/"+name, nil).decode(s.t, &body)
	return body
}

func (s *service) listFlows(query string) []flowBody {
	s.t.Helper()
	var bodies []flowBody
	s.want(http.StatusOK, http.MethodGet, s.flowsPath()+query, nil).decode(s.t, &bodies)
	return bodies
}

func flowNames(flows []flowBody) string {
	var names []string
	for _, flow := range flows {
		names = append(names, flow.Name)
	}
	return strings.Join(names, " ")
}

const unusualTemplate = "# kept: byte for byte\r\nversion: 1\ntrail:\n  attestations:\n    - {name: \"a\", type: '*'} # ü\n\n\n"

func TestFlowIsReadAsItWasPut(t *testing.T) {
	t.Parallel()
	s := share(t)
	got := s.wantForm(http.StatusCreated, http.MethodPut, s.flowsPath()+"/template_file",
		`{"name":"Web.ci_1~","description":"the web","visibility":"public","later":1}`, yamlFile(unusualTemplate))
	if got.text(t) != "OK" {
		t.Errorf("answered %s", got.body)
	}
	flow := s.getFlow("Web.ci_1~")
	want := flowBody{ID: flow.ID, Name: "Web.ci_1~", Description: "the web", Visibility: "public", Org: s.org, Template: unusualTemplate}
	if flow.ID == "" || flow.Tags == nil || fmt.Sprint(flow) != fmt.Sprint(want) {
		t.Errorf("got %+v", flow)
	}
}

func TestPutOfFlowResetsOmittedFields(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.wantForm(http.StatusCreated, http.MethodPut, s.flowsPath()+"/template_file",
		`{"name":"web","description":"first","visibility":"public"}`, yamlFile(unusualTemplate))
	s.want(http.StatusOK, http.MethodPatch, "/tags/"+s.org+"/flow/web", []byte(`{"set_tags":{"kind":"build"}}`))
	before := s.getFlow("web")
	s.wantForm(http.StatusOK, http.MethodPut, s.flowsPath()+"/template_file", `{"name":"web","description":""}`)
	after := s.getFlow("web")
	if after.ID != before.ID || after.Description != "" || after.Visibility != "private" {
		t.Errorf("got %+v", after)
	}
	if after.Tags["kind"] != "build" {
		t.Error("the tags are gone")
	}
}

func TestPutOfFlowWithoutATemplateKeepsTheTemplate(t *testing.T) {
	t.Parallel()
	s := share(t)
	path, data := s.flowsPath()+"/template_file", `{"name":"web","description":"d"}`
	put := func(status int, want string, files ...part) {
		t.Helper()
		s.wantForm(status, http.MethodPut, path, data, files...)
		if flow := s.getFlow("web"); flow.Template != want {
			t.Errorf("the template is %q, want %q", flow.Template, want)
		}
	}
	put(http.StatusCreated, "version: 1\n")
	put(http.StatusOK, unusualTemplate, yamlFile(unusualTemplate))
	put(http.StatusOK, unusualTemplate)
	put(http.StatusOK, unusualTemplate, part{field: "template_file"})
	put(http.StatusOK, "version: 1", yamlFile("version: 1"))
	s.want(http.StatusOK, http.MethodPut, s.flowsPath()+"/web/archive", nil)
	put(http.StatusCreated, "version: 1\n")
}

func TestLegacyTemplateBecomesOneArtifact(t *testing.T) {
	t.Parallel()
	s := share(t)
	body := `{"name":"old","description":"d","visibility":"private","template":["unit","artifact"],"repo_url":"https://git.example/old"}`
	if got := s.want(http.StatusCreated, http.MethodPut, s.flowsPath(), []byte(body)); got.text(t) != "OK" {
		t.Errorf("answered %s", got.body)
	}
	flow := s.getFlow("old")
	parsed, err := template.Parse([]byte(flow.Template))
	want := []template.Artifact{{Name: "artifact", Attestations: []template.Attestation{{Name: "unit", Type: "*"}}}}
	if err != nil || !slices.EqualFunc(parsed.Trail.Artifacts, want, func(a, b template.Artifact) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		t.Errorf("the template is %s, %v", flow.Template, err)
	}
	if flow.RepoURL == nil || *flow.RepoURL != "https://git.example/old" {
		t.Errorf("repo_url is %v", flow.RepoURL)
	}
	s.want(http.StatusOK, http.MethodPut, s.flowsPath(), []byte(`{"name":"old","description":"d"}`))
	if flow := s.getFlow("old"); flow.RepoURL != nil || flow.Template != template.Empty {
		t.Errorf("omitted fields were not reset: %+v", flow)
	}
}

func TestBadFlowsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	for template, c := range map[string]struct{ at, text string }{
		`["artifact",""]`: {"template[1]", "Attestation names must not be empty [input: ]"},
		`["a b"]`:         {"template[0]", ""},
	} {
		got := s.do(http.MethodPut, "/api/v2"+s.flowsPath(), memberKey, []byte(`{"name":"x","description":"","template":`+template+`}`))
		message, errors := got.problem(t)
		text, found := errors[c.at]
		if got.status != http.StatusBadRequest || message != "Input payload validation failed" || !found || c.text != "" && text != c.text {
			t.Errorf("%s: %d %q %q", template, got.status, message, errors)
		}
	}
	if flows := s.listFlows(""); len(flows) != 0 {
		t.Errorf("something was stored: %+v", flows)
	}
}

func TestBadTemplateIsRefusedAndKeepsTheFlow(t *testing.T) {
	t.Parallel()
	s := share(t)
	path, data := s.flowsPath()+"/template_file", `{"name":"web","description":"second"}`
	s.createFlow("web", yamlFile(unusualTemplate))
	for name, c := range map[string]struct{ content, text string }{
		"other version":  {"version: 2\nextra: 1\n", "2 validation errors for Template\nversion (line 1)\n  Input should be 1"},
		"no YAML":        {"version: [\n", "1 validation errors for Template\n(line 2)\n  Invalid YAML: "},
		"empty":          {"", "1 validation errors for Template\n"},
		"million levels": {strings.Repeat("[", 1e6), "1 validation errors for Template\n(line 1)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			got := s.wantForm(http.StatusBadRequest, http.MethodPut, path, data, yamlFile(c.content))
			message, errors := got.problem(t)
			if message != "Input payload validation failed" || len(errors) != 1 || !strings.HasPrefix(errors["template_file"], c.text) {
				t.Errorf("%q %q", message, errors)
			}
		})
	}
	for size, want := range map[int]string{
		template.MaxSize + 1: "template_file exceeds the limit of 1 MiB", 10 << 20: "template_file exceeds the limit of 1 MiB",
		10<<20 + 1: "File size exceeds 10MB limit",
	} {
		t.Run(fmt.Sprint(size, " bytes"), func(t *testing.T) {
			s := s.in(t)
			wantMessage(t, s.wantForm(http.StatusRequestEntityTooLarge, http.MethodPut, path, data, yamlFile("#"+strings.Repeat("x", size-1))), want)
		})
	}
	if flow := s.getFlow("web"); flow.Template != unusualTemplate || flow.Description != "of a test" {
		t.Errorf("got %+v", flow)
	}
	marked := "\uFEFFversion: 1\r\n"
	s.wantForm(http.StatusOK, http.MethodPut, path, data, yamlFile(marked))
	if s.getFlow("web").Template != marked {
		t.Error("a template with a byte order mark is not given back as it was")
	}
	large := "version: 1\n#" + strings.Repeat("x", template.MaxSize-13) + "\n"
	s.wantForm(http.StatusOK, http.MethodPut, path, data, yamlFile(large))
	if s.getFlow("web").Template != large {
		t.Error("a large template is not given back as it was")
	}
}

func TestMemberNamesOfFlowsAreExact(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.wantForm(http.StatusCreated, http.MethodPut, s.flowsPath()+"/template_file", `{"name":"web","description":"d","Visibility":"evil","Description":5}`)
	if flow := s.getFlow("web"); flow.Visibility != "private" || flow.Description != "d" {
		t.Errorf("got %+v", flow)
	}
}

func TestFormTakesOneTemplateAtMost(t *testing.T) {
	t.Parallel()
	s := share(t)
	const data = `{"name":"web","description":""}`
	s.wantForm(http.StatusCreated, http.MethodPut, s.flowsPath()+"/template_file", data, part{field: "template_file"})
	if flow := s.getFlow("web"); flow.Template != "version: 1\n" {
		t.Errorf("a form without a file: %+v", flow)
	}
	for _, path := range []string{s.flowsPath() + "/template_file", "/trails/" + s.org + "/web"} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			got := s.wantForm(http.StatusBadRequest, http.MethodPut, path, data, yamlFile("version: 1"), yamlFile("version: 1 # again"))
			if _, errors := got.problem(t); errors["template_file"] != "Input should be a single file [input: template.yml]" {
				t.Errorf("%s", got.body)
			}
		})
	}
}

func TestUnknownFlowsAreNotFound(t *testing.T) {
	t.Parallel()
	s := share(t)
	for _, c := range []struct{ method, path, body string }{
		{http.MethodGet, "/none", ""},
		{http.MethodPut, "/none/archive", "null"},
		{http.MethodPut, "/none/rename", `{"new_name":"x"}`},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			s.in(t).wantError(http.StatusNotFound, "Flow named 'none' does not exist for organization '"+s.org+"'", c.method, s.flowsPath()+c.path, c.body)
		})
	}
}

func TestFlowsAreListedByNameBareOrInPages(t *testing.T) {
	t.Parallel()
	s := share(t)
	for _, name := range []string{"delta", "Alpha", "charlie-ci", "bravo"} {
		s.createFlow(name)
	}
	s.want(http.StatusOK, http.MethodPatch, "/tags/"+s.org+"/flow/bravo", []byte(`{"set_tags":{"team":"x"}}`))
	for query, want := range map[string]string{
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
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			if got := flowNames(s.listFlows(query)); got != want {
				t.Errorf("listed %s", got)
			}
		})
	}
	for query, want := range map[string]string{
		"?page=1&per_page=3":    "Alpha bravo charlie-ci 4 1 3 2",
		"?per_page=3&page=2":    "delta 4 2 3 2",
		"?page=9&per_page=3":    " 4 9 3 2",
		"?per_page=100&tag=no":  " 0 1 100 0",
		"?page=1":               "Alpha bravo charlie-ci delta 4 1 20 1",
		"?per_page=1&tag=team ": " 0 1 1 0",
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			var page struct {
				Data       []flowBody
				Pagination struct {
					Total, Page int
					PerPage     int `json:"per_page"`
					PageCount   int `json:"page_count"`
				}
			}
			s.want(http.StatusOK, http.MethodGet, s.flowsPath()+strings.ReplaceAll(query, " ", "%20"), nil).decode(t, &page)
			p := page.Pagination
			if got := fmt.Sprintf("%s %d %d %d %d", flowNames(page.Data), p.Total, p.Page, p.PerPage, p.PageCount); page.Data == nil || got != want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestFlowsAreSorted(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	for _, name := range []string{"bravo", "idle", "alpha", "charlie", "zero"} {
		s.createFlow(name)
	}
	for _, flow := range []string{"charlie", "alpha", "bravo", "alpha"} {
		s.wantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.org+"/"+flow+"/trail/t/generic", `{"attestation_name":"a","is_compliant":true}`)
	}
	for query, want := range map[string]string{
		"?sort=name":                                "alpha bravo charlie idle zero",
		"?sort_direction=desc":                      "zero idle charlie bravo alpha",
		"?sort=latest_activity":                     "idle zero charlie bravo alpha",
		"?sort=latest_activity&sort_direction=desc": "alpha bravo charlie zero idle",
		"?sort=latest_activity&sort_direction=desc&search_by_name=o": "bravo zero",
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			if got := flowNames(s.listFlows(query)); got != want {
				t.Errorf("listed %s", got)
			}
		})
	}
	var page struct{ Data []flowBody }
	s.want(http.StatusOK, http.MethodGet, s.flowsPath()+"?sort=latest_activity&sort_direction=desc&per_page=2&page=2", nil).decode(t, &page)
	if got := flowNames(page.Data); got != "charlie zero" {
		t.Errorf("the second page is %s", got)
	}
}

func TestBadFiltersOfFlowsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.wantError(http.StatusBadRequest, "Empty string is not allowed for flow names.", http.MethodGet, s.flowsPath()+"?search_by_name=", "")
}

func TestListOfFlowsShowsTheStateOfTheLatestTrail(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("idle")
	s.createFlow("web", yamlFile("version: 1\ntrail: {attestations: [{name: a, type: '*'}]}\n"))
	s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/web", `{"name":"t1"}`)
	flows := s.listFlows("")
	if len(flows) != 2 || flows[0].LatestActivityAt != nil || flows[0].LatestState != nil {
		t.Fatalf("listed %+v", flows)
	}
	if web := flows[1]; web.LatestActivityAt == nil || *web.LatestActivityAt <= 0 || web.LatestState == nil || *web.LatestState != "INCOMPLETE" {
		t.Errorf("listed %+v", web)
	}
}

func TestFormerNameOfAFlowWorksUntilItIsReused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("one")
	id := s.getFlow("one").ID
	s.want(http.StatusOK, http.MethodPut, s.flowsPath()+"/one/rename", []byte(`{"new_name":"two"}`))
	if flow := s.getFlow("one"); flow.ID != id || flow.Name != "two" {
		t.Errorf("the former name leads to %+v", flow)
	}
	s.want(http.StatusOK, http.MethodPut, s.flowsPath()+"/one/rename", []byte(`{"new_name":"two"}`))
	s.createFlow("one")
	if one, two := s.getFlow("one"), s.getFlow("two"); one.ID == id || two.ID != id {
		t.Errorf("got %+v and %+v", one, two)
	}
	if got := flowNames(s.listFlows("")); got != "one two" {
		t.Errorf("listed %s", got)
	}
}

func TestFlowIsRenamedBackAndForth(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createFlow("one")
	id := s.getFlow("one").ID
	for _, step := range []string{"one two", "two one", "one one", "two three", "one two", "three one"} {
		t.Run(step, func(t *testing.T) {
			s := s.in(t)
			from, to, _ := strings.Cut(step, " ")
			s.want(http.StatusOK, http.MethodPut, s.flowsPath()+"/"+from+"/rename", []byte(`{"new_name":"`+to+`"}`))
			if flow := s.getFlow(to); flow.ID != id || flow.Name != to {
				t.Errorf("got %+v", flow)
			}
			if got := flowNames(s.listFlows("")); got != to {
				t.Errorf("listed %s", got)
			}
		})
	}
}

func TestBadNewNamesOfFlowsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("one")
	s.createFlow("two")
	got := s.want(http.StatusBadRequest, http.MethodPut, s.flowsPath()+"/one/rename", []byte(`{"new_name":"two"}`))
	if _, errors := got.problem(t); errors["new_name"] != "A flow with this name already exists [input: two]" {
		t.Errorf("%q", errors)
	}
	s.want(http.StatusBadRequest, http.MethodPut, s.flowsPath()+"/one/rename", []byte("null"))
	if got := flowNames(s.listFlows("")); got != "one two" {
		t.Errorf("listed %s", got)
	}
}

func TestNamesOfAnArchivedFlowCanBeReused(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createFlow("one")
	s.want(http.StatusOK, http.MethodPut, s.flowsPath()+"/one/rename", []byte(`{"new_name":"two"}`))
	id := s.getFlow("two").ID
	if got := s.want(http.StatusOK, http.MethodPut, s.flowsPath()+"/two/archive", []byte("null")); got.text(t) != "OK" {
		t.Errorf("answered %s", got.body)
	}
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.want(http.StatusNotFound, http.MethodGet, s.flowsPath()+"/"+name, nil)
			s.want(http.StatusNotFound, http.MethodPut, s.flowsPath()+"/"+name+"/archive", nil)
		})
	}
	if flows := s.listFlows(""); len(flows) != 0 {
		t.Errorf("listed %+v", flows)
	}
	kept, err := s.Process.Store.Flows.Get(t.Context(), id)
	if err != nil || !kept.Archived || !strings.HasPrefix(kept.Name, "two-archived-at-") {
		t.Errorf("kept %+v, %v", kept, err)
	}
	s.createFlow("two")
	s.createFlow("one")
	if s.getFlow("two").ID == id || s.getFlow("one").ID == id {
		t.Error("the archived flow came back")
	}
}

func TestConcurrentCreationsOfAFlowMakeOne(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	statuses := map[int]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for range concurrentClients() {
		group.Go(func() {
			got := s.form(http.MethodPut, s.flowsPath()+"/template_file", memberKey, "data_json", `{"name":"web","description":"d"}`)
			mu.Lock()
			defer mu.Unlock()
			statuses[got.status]++
		})
	}
	group.Wait()
	if statuses[http.StatusCreated] != 1 || statuses[http.StatusOK]+statuses[http.StatusConflict] != concurrentClients()-1 {
		t.Errorf("answered %v", statuses)
	}
	if got := flowNames(s.listFlows("")); got != "web" {
		t.Errorf("listed %s", got)
	}
}

func TestFlowsOfOrganizationsAreSeparate(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("web", yamlFile(unusualTemplate))
	s.want(http.StatusNotFound, http.MethodGet, "/flows/"+s.public+"/web", nil)
	s.wantForm(http.StatusCreated, http.MethodPut, "/flows/"+s.public+"/template_file", `{"name":"web","description":"other"}`, yamlFile(unusualTemplate))
	s.want(http.StatusOK, http.MethodPut, "/flows/"+s.public+"/web/archive", nil)
	if flow := s.getFlow("web"); flow.Description != "of a test" || flow.Org != s.org {
		t.Errorf("got %+v", flow)
	}
	var others []flowBody
	s.want(http.StatusOK, http.MethodGet, "/flows/"+s.public, nil).decode(t, &others)
	if len(others) != 0 {
		t.Errorf("listed %+v", others)
	}
}

func TestPublishedSchemasAgreeWithTheGrammars(t *testing.T) {
	t.Parallel()
	s := share(t)
	for path, c := range map[string]struct{ good, bad []string }{
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
	} {
		t.Run(path, func(t *testing.T) {
			s := s.in(t)
			got := s.do(http.MethodGet, "/api/v2/schemas/"+path+"/v1", strangerKey, nil)
			if got.status != http.StatusOK {
				t.Fatalf("status %d", got.status)
			}
			schema := compileSchema(t, got.body)
			for _, document := range slices.Concat(c.good, c.bad) {
				parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
				s.must(err)
				if err := schema.Validate(parsed); (err == nil) != slices.Contains(c.good, document) {
					t.Errorf("%s: %v", document, err)
				}
			}
			if got := s.do(http.MethodGet, "/api/v2/schemas/"+path+"/v1", "", nil); got.status != http.StatusUnauthorized {
				t.Errorf("%s without a key: status %d", path, got.status)
			}
		})
	}
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
