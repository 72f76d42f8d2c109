package server

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"attestry/links"
	"attestry/process/buildinfo"
)

func TestTheDocumentIsServedWithoutAKey(t *testing.T) {
	s := start(t, testRoutes())
	at := s.send(t, "GET", links.Prefix+"/openapi.json", "", "")
	root := s.send(t, "GET", "/openapi.json", "stranger", "")
	if at.status != 200 || root.status != 200 || at.body != root.body {
		t.Fatalf("statuses %d and %d", at.status, root.status)
	}
	var document struct {
		OpenAPI string
		Info    struct {
			Title, Version string
			Build          string `json:"x-version"`
			Commit         string `json:"x-commit"`
		}
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct {
			OperationID string
			Deprecated  bool
			Security    []map[string][]string
			Parameters  []struct{ Name, In string }
			RequestBody *struct {
				Required bool
				Content  map[string]struct{ Schema map[string]any }
			}
			Responses map[string]any
		}
		Components struct {
			Schemas         map[string]any
			SecuritySchemes map[string]struct{ Type, Scheme string }
		}
	}
	if err := json.Unmarshal([]byte(at.body), &document); err != nil {
		t.Fatal(err)
	}
	build := buildinfo.Read()
	if document.OpenAPI != "3.1.0" || document.Info.Title != "Attestry" || document.Info.Version != "2.0" ||
		document.Info.Build != build.Version || document.Info.Commit != build.Commit ||
		document.Servers[0].URL != "https://attestry.example.com/api/v2" {
		t.Errorf("head: %s %v %v", document.OpenAPI, document.Info, document.Servers)
	}
	if got := document.Components.SecuritySchemes; got["bearer"].Scheme != "bearer" || got["basic"].Scheme != "basic" {
		t.Errorf("security schemes %v", got)
	}
	for _, route := range testRoutes() {
		op, ok := document.Paths[route.Path][strings.ToLower(route.Method)]
		if !ok || op.OperationID != route.OperationID || op.Deprecated != route.Deprecated {
			t.Errorf("%s %s is documented as %v", route.Method, route.Path, op)
		}
		if _, ok := op.Responses["422"]; ok {
			t.Errorf("%s documents 422", route.OperationID)
		}
		if (len(op.Security) == 0) != route.Public {
			t.Errorf("%s: security %v", route.OperationID, op.Security)
		}
	}
	put := document.Paths["/things/{org}"]["put"]
	if ref := put.RequestBody.Content["application/json"].Schema["$ref"]; ref != "#/components/schemas/Thing" || !put.RequestBody.Required {
		t.Errorf("body of put_thing: %v", put.RequestBody)
	}
	if put.Responses["200"] == nil || put.Responses["201"] == nil || put.Responses["400"] == nil || len(put.Security) != 2 {
		t.Errorf("put_thing: answers %v, security %v", put.Responses, put.Security)
	}
	if report := document.Paths["/things/{org}/{name}/report"]["put"].RequestBody; report == nil {
		t.Error("the body of a report is not documented")
	}
}

func TestFormsAreComponentsNamedForTheirOperation(t *testing.T) {
	s := startForm(t)
	var document struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(s.send(t, "GET", links.Prefix+"/openapi.json", "", "").body), &document); err != nil {
		t.Fatal(err)
	}
	if got := document.Paths["/forms/{org}"]["post"].RequestBody.Content["multipart/form-data"].Schema["$ref"]; got != "#/components/schemas/Body_post_form" {
		t.Errorf("the form is %v", got)
	}
	form := document.Components.Schemas["Body_post_form"]
	if form.Properties["data_json"]["$ref"] != "#/components/schemas/Thing" || form.Properties["attachment_file"]["type"] != "string" || !slices.Equal(form.Required, []string{"data_json"}) {
		t.Errorf("the component is %v", form)
	}
}

func TestPartialDownloadsDocumentStatus416(t *testing.T) {
	serve := Handle(func(context.Context, *struct{}) (*StreamOutput, error) { return nil, nil })
	s := start(t, []Route{
		{Method: "GET", Path: "/part", OperationID: "get_part", Tag: "T", Summary: "S", Statuses: []int{200, 206}, Serve: serve},
		{Method: "GET", Path: "/whole", OperationID: "get_whole", Tag: "T", Summary: "S", Serve: serve},
	})
	var document struct {
		Paths map[string]map[string]struct{ Responses map[string]any }
	}
	if err := json.Unmarshal([]byte(s.send(t, "GET", links.Prefix+"/openapi.json", "", "").body), &document); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/part": true, "/whole": false} {
		if _, got := document.Paths[path]["get"].Responses["416"]; got != want {
			t.Errorf("%s documents 416: %t", path, got)
		}
	}
}

func TestTheDocumentationLoadsFilesOfThisHostOnly(t *testing.T) {
	s := start(t, testRoutes())
	page := s.send(t, "GET", docsPath, "", "")
	if page.status != 200 || page.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %s", page.status, page.header.Get("Content-Type"))
	}
	if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'; script-src 'self' 'sha256-") {
		t.Errorf("policy %q", policy)
	}
	if !strings.Contains(page.body, `"`+documentPath+`"`) {
		t.Error("the page does not name the document")
	}
	references := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page.body, -1)
	if len(references) < 4 {
		t.Errorf("the page loads %v", references)
	}
	for _, reference := range references {
		if !strings.HasPrefix(reference[1], docsPath+"/") {
			t.Errorf("the page refers to %s", reference[1])
			continue
		}
		plain := s.send(t, "GET", reference[1], "", "", "Accept-Encoding", "identity")
		if plain.status != 200 || plain.body == "" || plain.header.Get("Content-Encoding") != "" ||
			plain.header.Get("Content-Security-Policy") != "default-src 'none'" {
			t.Errorf("%s answers %d, %d bytes, %v", reference[1], plain.status, len(plain.body), plain.header)
		}
		if unpacked := s.send(t, "GET", reference[1], "", ""); unpacked.body != plain.body {
			t.Errorf("%s is another file when it comes compressed", reference[1])
		}
	}
	s.send(t, "GET", docsPath+"/oauth2-redirect.html", "", "").expect(t, 404, pathUnknownMessage)
}

func TestTheRootAndOtherAddressesRedirectToTheDocumentation(t *testing.T) {
	s := start(t, testRoutes())
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, path := range []string{"/", "/api/v2/doc", "/api/v2/doc/"} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, accept := range []string{"text/html", "application/json", ""} {
				request, err := http.NewRequest(method, s.url+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Accept", accept)
				got, err := client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				got.Body.Close()
				if got.StatusCode != 302 || got.Header.Get("Location") != "/api/v2/docs" {
					t.Errorf("%s %s accepting %q: %d to %q", method, path, accept, got.StatusCode, got.Header.Get("Location"))
				}
			}
		}
	}
	s.send(t, "POST", "/", "", "").expect(t, 405, "Method Not Allowed")
}
