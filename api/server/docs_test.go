package server

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTheDocumentIsServedWithoutAKey(t *testing.T) {
	s := start(t, testRoutes())
	at := s.send(t, "GET", prefix+"/openapi.json", "", "")
	root := s.send(t, "GET", "/openapi.json", "stranger", "")
	if at.status != 200 || root.status != 200 || at.body != root.body {
		t.Fatalf("statuses %d and %d", at.status, root.status)
	}
	var document struct {
		OpenAPI string
		Info    struct{ Title, Version string }
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
	if document.OpenAPI != "3.1.0" || document.Info.Title != "Attestry" || document.Info.Version != "2.0" ||
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
	if err := json.Unmarshal([]byte(s.send(t, "GET", prefix+"/openapi.json", "", "").body), &document); err != nil {
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

func TestPartialDownloadsAreDocumentedWithTheirRefusal(t *testing.T) {
	serve := handle(func(context.Context, *struct{}) (*streamOutput, error) { return nil, nil })
	s := start(t, []Route{
		{Method: "GET", Path: "/part", OperationID: "get_part", Tag: "T", Summary: "S", Statuses: []int{200, 206}, Serve: serve},
		{Method: "GET", Path: "/whole", OperationID: "get_whole", Tag: "T", Summary: "S", Serve: serve},
	})
	var document struct {
		Paths map[string]map[string]struct{ Responses map[string]any }
	}
	if err := json.Unmarshal([]byte(s.send(t, "GET", prefix+"/openapi.json", "", "").body), &document); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/part": true, "/whole": false} {
		if _, got := document.Paths[path]["get"].Responses["416"]; got != want {
			t.Errorf("%s documents 416: %t", path, got)
		}
	}
}

func TestTheReadingPageNeedsNothingFromElsewhere(t *testing.T) {
	spiteful := testRoutes()
	spiteful[0].Summary = `<script>alert("x")</script>`
	s := start(t, spiteful)
	got := s.send(t, "GET", prefix+"/docs", "", "")
	if got.status != 200 || got.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %s", got.status, got.header.Get("Content-Type"))
	}
	if strings.Contains(got.body, "<script") {
		t.Error("a summary reached the page unescaped")
	}
	if found := regexp.MustCompile(`(src|href)="(https?:)?//[^"]*"`).FindString(got.body); found != "" {
		t.Errorf("the page refers to %s", found)
	}
	for _, route := range testRoutes() {
		if !strings.Contains(got.body, route.Path) {
			t.Errorf("the page lacks %s", route.Path)
		}
	}
	if !strings.Contains(got.body, "ThingReport") || !strings.Contains(got.body, "per_page") {
		t.Error("the page lacks schemas or parameters")
	}
}
