package governance_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
)

// controlBody is a control in an answer.
type controlBody struct {
	Identifier          string
	Name                string
	Version             int
	CreatedBy           string  `json:"created_by"`
	CreatedAt           float64 `json:"created_at"`
	Description         *string
	Links, Tags         map[string]string
	Archived            bool
	PoliciesReferencing []string `json:"policies_referencing"`
}

func getControl(s *apitest.Service, identifier string) controlBody {
	s.T.Helper()
	var found controlBody
	s.Want(http.StatusOK, http.MethodGet, s.ControlsPath()+"/"+identifier, nil).Decode(s.T, &found)
	return found
}

// changeControl sends a request that changes a control and returns the control in its answer.
func changeControl(s *apitest.Service, method, path, body string) controlBody {
	s.T.Helper()
	var changed controlBody
	s.Want(http.StatusOK, method, s.ControlsPath()+path, []byte(body)).Decode(s.T, &changed)
	return changed
}

// listControls returns the identifiers of the controls on a page.
func listControls(s *apitest.Service, query string) string {
	s.T.Helper()
	list := s.Read(s.ControlsPath() + query)
	apitest.ClientReads(s.T, "controls", list)
	for _, control := range apitest.Lookup(s.T, list, "controls").([]any) {
		apitest.ClientReads(s.T, "control", control)
	}
	return apitest.Column(s.T, apitest.Lookup(s.T, list, "controls"), "identifier")
}

func TestControlIsCreatedAndRead(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, sent := range []string{
		`{"identifier":"C-1","name":"Review"}`,
		`{"identifier":"C-2","name":"Review","description":null,"links":null}`,
		`{"identifier":"a.b_c~D-9","name":" ","description":"","links":{"docs v1.2":"https://example.com/<x>&y"}}`,
		`{"identifier":"` + strings.Repeat("i", 256) + `","name":"über \u0026","description":"two\nlines","links":{}}`,
	} {
		t.Run(sent[:30], func(t *testing.T) {
			s := s.In(t)
			got := s.Want(http.StatusCreated, http.MethodPost, s.ControlsPath(), []byte(sent))
			var created, requested controlBody
			got.Decode(t, &created)
			apitest.Answer{Body: []byte(sent)}.Decode(t, &requested)
			read := getControl(s, requested.Identifier)
			for _, shown := range []controlBody{created, read} {
				if shown.Identifier != requested.Identifier || shown.Name != requested.Name || shown.Version != 1 || shown.CreatedBy != "administrator" || shown.Archived ||
					apitest.AsJSON(shown.Description) != apitest.AsJSON(requested.Description) || shown.Links == nil || !maps.Equal(shown.Links, requested.Links) ||
					shown.Tags == nil || shown.PoliciesReferencing == nil || shown.CreatedAt != created.CreatedAt {
					t.Errorf("shown %+v", shown)
				}
			}
			apitest.ClientReads(t, "control", s.Read(s.ControlsPath()+"/"+requested.Identifier))
		})
	}
}

func TestControlHasAVersionPerChange(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("C-1")
	for _, step := range []struct {
		name, method, path, body string
		version                  int
		shown                    string // name, description, number of links, archived
	}{
		{"nothing", "PUT", "/C-1", `{}`, 1, `name of C-1 null 0 false`},
		{"nulls", "PUT", "/C-1", `{"name":null,"links":null}`, 1, `name of C-1 null 0 false`},
		{"the same name", "PUT", "/C-1", `{"name":"name of C-1"}`, 1, `name of C-1 null 0 false`},
		{"a name", "PUT", "/C-1", `{"name":"n"}`, 2, `n null 0 false`},
		{"a description", "PUT", "/C-1", `{"description":"d"}`, 3, `n "d" 0 false`},
		{"links", "PUT", "/C-1", `{"links":{"a":"https://a.example.com","b":"https://b.example.com"}}`, 4, `n "d" 2 false`},
		{"links replace all", "PUT", "/C-1", `{"links":{"a":"https://a.example.com"},"description":"d"}`, 5, `n "d" 1 false`},
		{"an empty description", "PUT", "/C-1", `{"description":""}`, 6, `n "" 1 false`},
		{"no description", "PUT", "/C-1", `{"description":null}`, 7, `n null 1 false`},
		{"archive", "POST", "/C-1/archive", `null`, 8, `n null 1 true`},
		{"archive again", "POST", "/C-1/archive", ``, 8, `n null 1 true`},
		{"change an archived control", "PUT", "/C-1", `{"name":"m"}`, 9, `m null 1 true`},
		{"unarchive", "POST", "/C-1/unarchive", `null`, 10, `m null 1 false`},
		{"unarchive again", "POST", "/C-1/unarchive", `null`, 10, `m null 1 false`},
	} {
		t.Run(step.name, func(t *testing.T) {
			s := s.In(t)
			answered := changeControl(s, step.method, step.path, step.body)
			for _, got := range []controlBody{answered, getControl(s, "C-1")} {
				shown := fmt.Sprint(got.Name, " ", apitest.AsJSON(got.Description), " ", len(got.Links), " ", got.Archived)
				apitest.Equal(t, got.Version, step.version)
				apitest.Equal(t, shown, step.shown)
			}
		})
	}
	apitest.Each(s, map[string]string{
		"?per_page=100&sort_direction=asc": "Created Edited Edited Edited Edited Edited Edited Archived Edited Unarchived",
		"?per_page=3":                      "Unarchived Edited Archived",
		"?per_page=3&page=4":               "Created",
		"?per_page=3&page=5":               "",
	}, func(s *apitest.Service, query, want string) {
		list := s.Read(s.ControlsPath() + "/C-1/versions" + query)
		if statuses := apitest.Column(s.T, apitest.Lookup(s.T, list, "versions"), "status"); statuses != want ||
			apitest.Lookup(s.T, list, "total_count") != 10.0 {
			s.T.Errorf("%s of %v", statuses, apitest.Lookup(s.T, list, "total_count"))
		}
	})
	version := s.Read(s.ControlsPath() + "/C-1/versions/6")
	if got := apitest.AsJSON(version); !strings.Contains(got, `"description":"","links":{"a":"https://a.example.com"},"name":"n","status":"Edited","timestamp":`) || apitest.Lookup(t, version, "created_by") != "administrator" || apitest.Lookup(t, version, "version") != 6.0 {
		t.Errorf("version 6 is %s", got)
	}
	for _, number := range []string{"11", "0", "-1"} {
		s.WantError(http.StatusNotFound, "Version "+number+" does not exist for control 'C-1'", http.MethodGet, s.ControlsPath()+"/C-1/versions/"+number, "")
	}
	s.Want(http.StatusBadRequest, http.MethodGet, s.ControlsPath()+"/C-1/versions/first", nil)
}

func TestIdentifiersOfControlsAreNeverReused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("C-1")
	wantConflict := func() {
		s.WantError(http.StatusConflict, "A control with identifier 'C-1' already exists in organization '"+s.Org+"'",
			http.MethodPost, s.ControlsPath(), `{"identifier":"C-1","name":"other"}`)
	}
	wantConflict()
	changeControl(s, http.MethodPost, "/C-1/archive", "null")
	wantConflict()
	if found := getControl(s, "C-1"); found.Name != "name of C-1" || !found.Archived || found.Version != 2 {
		t.Errorf("the control is %+v", found)
	}
	s.CreateControl("c-1")
}

func TestControlNamedTagsIsShadowedByTheTagChoices(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("tags")
	if changed := changeControl(s, http.MethodPut, "/tags", `{"name":"n"}`); changed.Version != 2 || listControls(s, "") != "tags" {
		t.Errorf("the control is %+v", changed)
	}
	apitest.Equal(t, apitest.AsJSON(s.Read(s.ControlsPath()+"/tags")), `{"tag_choices":[]}`, "the address answers")
}

func TestUnknownControlsAreNotFound(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("C-1")
	for identifier, path := range map[string]string{"none": "/none", "a/b": "/a%2Fb", "C-1/1": "/C-1%2F1", "a b": "/a%20b", "%": "/%25", "c-1": "/c-1"} {
		t.Run(s.CaseName(path), func(t *testing.T) {
			s := s.In(t)
			for _, operation := range []string{
				"GET ", "PUT ", "POST /archive", "POST /unarchive", "GET /coverage", "GET /versions", "GET /versions/1", "GET /decisions", "GET /decisions/x",
			} {
				method, rest, _ := strings.Cut(operation, " ")
				s.WantError(http.StatusNotFound, "Control '"+identifier+"' does not exist in organization '"+s.Org+"'", method, s.ControlsPath()+path+rest, `{"name":"n"}`)
			}
		})
	}
}

func TestControlsAreListed(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	apitest.Equal(t, listControls(s, ""), "", "listed")
	for _, identifier := range []string{"C-3", "C-1", "D-2", "OLD"} {
		s.CreateControl(identifier)
	}
	changeControl(s, http.MethodPut, "/D-2", `{"name":"Vier Augen"}`)
	changeControl(s, http.MethodPost, "/OLD/archive", "null")
	for identifier, tags := range map[string]string{"C-1": `{"team":"web","framework":"finos:sdlc"}`, "C-3": `{"team":"shop"}`, "D-2": `{"team":""}`, "OLD": `{"team":"web"}`} {
		s.Want(http.StatusOK, http.MethodPatch, s.TagsPath()+"/control/"+identifier, []byte(`{"set_tags":`+tags+`}`))
	}
	// Controls are sorted by name, not by identifier.
	apitest.Each(s, map[string]string{
		"": "D-2 C-1 C-3", "?sort_direction=desc": "C-3 C-1 D-2", "?archived=true": "OLD", "?archived=false": "D-2 C-1 C-3",
		"?search=c-": "C-1 C-3", "?search=AUGEN": "D-2", "?search=": "D-2 C-1 C-3", "?search=none": "", "?search=name%20of": "C-1 C-3",
		"?tag=team": "D-2 C-1 C-3", "?tag=team:web": "C-1", "?tag=team:": "D-2", "?tag=framework:finos:sdlc": "C-1", "?tag=web": "", "?tag=": "",
		"?tag=team:web&tag=team:shop": "C-1 C-3", "?tag=&tag=framework": "C-1", "?tag=team:web&archived=true": "OLD", "?search=c-3&tag=team:web": "",
		"?per_page=2": "D-2 C-1", "?per_page=2&page=2": "C-3", "?per_page=2&page=3": "", "?per_page=2&page=9223372036854775807": "",
	}, func(s *apitest.Service, query, want string) {
		apitest.Equal(s.T, listControls(s, query), want, "listed")
	})
	page := s.Read(s.ControlsPath() + "?per_page=2&page=2&tag=team")
	apitest.WantMembers(t, page, map[string]any{"total_count": 3.0, "total_pages": 2.0, "page": 2.0, "per_page": 2.0})
	self := apitest.Lookup(t, page, "_links", "self", "href").(string)
	if first := apitest.Lookup(t, page, "_links", "prev", "href").(string); !strings.Contains(self, "tag=team") || !strings.Contains(first, "page=1") || apitest.Lookup(t, page, "_links", "next") != nil {
		t.Errorf("the links are %s", apitest.AsJSON(apitest.Lookup(t, page, "_links")))
	}
	choices := s.Read(s.ControlsPath() + "/tags")
	if got := apitest.AsJSON(choices); got != `{"tag_choices":[{"key":"framework","value":"finos:sdlc"},{"key":"team","value":""},{"key":"team","value":"shop"},{"key":"team","value":"web"}]}` {
		t.Errorf("the choices are %s", got)
	}
}

func TestTagsOfControlsMakeNoVersion(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("C-1")
	apitest.Equal(t, apitest.AsJSON(s.Read(s.ControlsPath()+"/tags")), `{"tag_choices":[]}`, "the choices")
	apitest.EachOf(s, []string{"control", "controls"}, func(s *apitest.Service, kind string) {
		got := s.Do(http.MethodPatch, "/api/v2"+s.TagsPath()+"/"+kind+"/C-1", apitest.MemberKey,
			[]byte(`{"set_tags":{"a":"1"},"remove_tags":["b"]}`))
		apitest.Equal(s.T, got.Status, http.StatusOK)
		apitest.Equal(s.T, got.Text(s.T), "OK")
		if found := getControl(s, "C-1"); found.Version != 1 || !maps.Equal(found.Tags, map[string]string{"a": "1"}) {
			s.T.Errorf("the control is %+v", found)
		}
	})
	s.WantError(http.StatusForbidden, apitest.BetaOffMessage, http.MethodPatch, "/tags/"+s.Public+"/control/C-1", `{}`)
	s.WantError(http.StatusNotFound, `"Control 'C-2' does not exist in organization '`+s.Org+`'"`, http.MethodPatch, s.TagsPath()+"/control/C-2", `{"remove_tags":null}`)
}

func TestPoliciesThatReferenceAControlAreListed(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("C-1")
	rule := func(control string) apitest.Part {
		return apitest.PolicyFile(apitest.PolicyHead + "artifacts: {attestations: [{type: decision, for_control: " + control + "}]}\n")
	}
	s.PutPolicy(http.StatusCreated, `{"name":"prod"}`, rule("C-1"))
	s.PutPolicy(http.StatusCreated, `{"name":"all"}`, rule("C-1"))
	s.PutPolicy(http.StatusCreated, `{"name":"former"}`, rule("C-1"))
	s.PutPolicy(http.StatusOK, `{"name":"former"}`, apitest.PolicyFile(apitest.PolicyHead))
	apitest.EqualList(t, getControl(s, "C-1").PoliciesReferencing, []string{"all", "prod"})
	archived := changeControl(s, http.MethodPost, "/C-1/archive", "null")
	apitest.Equal(t, len(archived.PoliciesReferencing), 2)
	apitest.Equal(t, len(getPolicy(s, "prod").Versions), 1)
	s.PutPolicy(http.StatusBadRequest, `{"name":"former"}`, rule("C-1"))
	s.PutPolicy(http.StatusOK, `{"name":"prod","description":"still works"}`)
}

func TestCoverageListsActivePhysicalEnvironments(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("C-1")
	coverage := func(query string) any { return s.Read(s.ControlsPath() + "/C-1/coverage" + query) }
	if empty := coverage(""); apitest.Lookup(t, empty, "total") != 0.0 || apitest.Lookup(t, empty, "coverage_percent") != 0.0 || len(apitest.Lookup(t, empty, "environments").([]any)) != 0 {
		t.Errorf("without environments: %s", apitest.AsJSON(empty))
	}
	for _, name := range []string{"staging", "prod", "prod-old"} {
		s.CreateEnvironment(name, evidence.K8S)
	}
	s.ArchiveEnvironment("prod-old")
	s.CreateLogical("all", "prod")
	for query, want := range map[string]string{"": "prod staging", "?search=PRO": "prod", "?covered=false": "prod staging", "?covered=true": "", "?per_page=1&page=2": "staging"} {
		t.Run(s.CaseName(query), func(t *testing.T) {
			found := coverage(query)
			if names := apitest.Column(t, apitest.Lookup(t, found, "environments"), "name"); names != want || apitest.Lookup(t, found, "total") != 2.0 || apitest.Lookup(t, found, "covered") != 0.0 {
				t.Errorf("%s", apitest.AsJSON(found))
			}
		})
	}
	apitest.Equal(t, apitest.AsJSON(apitest.Lookup(t, coverage(""), "environments", 0)),
		`{"covered":false,"name":"prod","policies":[],"type":"K8S"}`, "the first environment")
}
